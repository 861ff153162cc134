package settle_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// secret is what no log may hold: it stands in whatever a callback has at hand.
const secret = "card-4111"

// payload is what a careless hook may panic with.
type payload struct{ Card string }

// TestLogger has one row a message that an operator needs. Each names the key,
// and none holds a payload.
func TestLogger(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("own")
	onReceipt := func(hook func() error) func(*settle.Config[ratingsTx]) {
		return func(c *settle.Config[ratingsTx]) {
			c.OnReceipt = func(context.Context, receipt.Receipt, bool) error { return hook() }
		}
	}
	rows := []struct {
		level, says string
		faults      []receipttest.Fault
		configure   func(*settle.Config[ratingsTx])
		more        func(a *attempt) error
	}{
		{level: "INFO", says: "trying again", faults: []receipttest.Fault{receipttest.RerunCallback}},
		{level: "WARN", says: "the commit had no definite answer", faults: []receipttest.Fault{receipttest.LoseAnswer}},
		{level: "INFO", says: "resolved: committed", faults: []receipttest.Fault{receipttest.LoseAnswer}},
		{level: "INFO", says: "resolved: not committed", faults: []receipttest.Fault{receipttest.UnknownThenNotFound}},
		{level: "INFO", says: "resolved: another attempt committed", faults: []receipttest.Fault{receipttest.UnknownThenRival}},
		{level: "WARN", says: "the outcome is still unknown", faults: []receipttest.Fault{receipttest.LoseAnswer, receipttest.FailBegin}},
		{level: "ERROR", says: "a callback ended the transaction", faults: []receipttest.Fault{receipttest.TransactionEnded}},
		{level: "ERROR", says: "a callback ended the transaction", configure: failRollbacks(receipt.ErrTransactionEnded), more: func(*attempt) error { return errOwn }},
		{level: "WARN", says: "the rollback failed", configure: failRollbacks(errOwn), more: func(*attempt) error { return errOwn }},
		{level: "ERROR", says: "a hook after the commit panicked", more: func(a *attempt) error {
			a.AfterCommit(func(context.Context) { panic(payload{secret}) })
			return nil
		}},
		{level: "ERROR", says: "a hook came after its callback had returned", more: func(a *attempt) error {
			a.AfterCommit(func(context.Context) { a.AfterCommit(func(context.Context) {}) })
			return nil
		}},
		{level: "ERROR", says: "OnReceipt panicked", configure: onReceipt(func() error { panic(payload{secret}) })},
		{level: "WARN", says: "OnReceipt withheld the proof", configure: onReceipt(func() error { return errOwn })},
	}
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				b := newBench(t, func(c *settle.Config[ratingsTx]) {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
					if row.configure != nil {
						row.configure(c)
					}
				}, row.faults...)
				_, err := settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (payload, error) {
					if _, err := b.win(ctx, a); err != nil || row.more == nil {
						return payload{secret}, err
					}
					return payload{secret}, row.more(a)
				})
				if !holdsLine(log.String(), "level="+row.level, row.says, "key.id="+key().ID) {
					t.Errorf("no line of level %s that says %q and names the key:\n%s", row.level, row.says, &log)
				}
				if strings.Contains(log.String(), secret) || err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("a payload in the log, or in the error %v:\n%s", err, &log)
				}
			})
		})
	}
}

// failRollbacks puts a store in place whose rollbacks fail.
func failRollbacks(err error) func(*settle.Config[ratingsTx]) {
	return func(c *settle.Config[ratingsTx]) { c.Store = &watchedStore{Store: c.Store, rollbackErr: err} }
}

// holdsLine reports whether one line of log has each of texts.
func holdsLine(log string, texts ...string) bool {
	for line := range strings.Lines(log) {
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(line, text)
		}
		if !missing {
			return true
		}
	}
	return false
}
