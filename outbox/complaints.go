package outbox

import (
	"errors"
	"log/slog"
)

// complaints are what there is to log about the attempts of one call: one line
// for the alarms and one for the failures, since what goes wrong with a call
// mostly goes wrong with all of it. What claims something and proves nothing is
// an alarm.
type complaints struct {
	alarms, failures complaint
}

// complaint is the first one of a kind.
type complaint struct {
	attempt *attempt
	err     error
	count   int
}

func (c *complaints) add(a *attempt, err error) {
	kind := &c.failures
	if errors.Is(err, errUnproven) || errors.Is(err, errSender) {
		kind = &c.alarms
	}
	if kind.count == 0 {
		kind.attempt, kind.err = a, err
	}
	kind.count++
}

func (c *complaints) log(logger *slog.Logger) {
	if c.alarms.count > 0 {
		logger.Error("outbox: alarm: an answer proves nothing; the record stays", c.alarms.args()...)
	}
	if c.failures.count > 0 {
		logger.Warn("outbox: a delivery failed; the record stays", c.failures.args()...)
	}
}

func (c *complaint) args() []any {
	return []any{
		"record", c.attempt.record.ID, "key", c.attempt.record.Event.Key, "attempts", c.attempt.number, "records", c.count, "error", c.err,
	}
}
