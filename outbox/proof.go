package outbox

import (
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/outbox/event"
)

// verdict is what an answer proves about a record.
type verdict int

const (
	// unproven: the record stays and is sent again.
	unproven verdict = iota
	// delivered: the record may go.
	delivered
	// refused: the record is set aside.
	refused
)

// errUnproven is true for an answer that claims something and proves nothing.
// It is an alarm: somebody between the two sides answers for the other.
var errUnproven = errors.New("outbox: the answer proves nothing about this record")

// judge compares what a destination proved with what was sent (I6). It trusts
// only what the destination itself named.
func judge(e *event.Event, answer *Answer, acceptPublished bool) (verdict, error) {
	if answer.Err != nil {
		return unproven, answer.Err
	}
	ack := &answer.Ack
	switch ack.Kind {
	case AckReceipt:
		return ifNamed(delivered, e, ack)
	case AckRefusal:
		return ifNamed(refused, e, ack)
	case AckPublished:
		if !acceptPublished {
			return unproven, fmt.Errorf("%w: a broker's acknowledgement, which this relay does not accept", errUnproven)
		}
		if ack.EventID != e.ID {
			return unproven, fmt.Errorf("%w: sent event %q, acknowledged event %q", errUnproven, e.ID, ack.EventID)
		}
		return delivered, nil
	case AckRejected:
		if !acceptPublished {
			return unproven, fmt.Errorf("%w: a rejection without a receiver's document, which this relay does not accept", errUnproven)
		}
		if ack.EventID != e.ID {
			return unproven, fmt.Errorf("%w: sent event %q, rejected event %q", errUnproven, e.ID, ack.EventID)
		}
		return refused, nil
	case AckNone:
		return unproven, fmt.Errorf("%w: neither an acknowledgement nor an error", errUnproven)
	default:
		return unproven, fmt.Errorf("%w: unknown kind of acknowledgement %d", errUnproven, ack.Kind)
	}
}

// ifNamed returns claim where an acknowledgement names the event's key and
// fingerprint.
func ifNamed(claim verdict, e *event.Event, ack *Ack) (verdict, error) {
	switch {
	case ack.Key != e.Key:
		return unproven, fmt.Errorf("%w: sent key %s, acknowledged key %s", errUnproven, e.Key, ack.Key)
	case !ack.Fingerprint.Equal(e.Fingerprint):
		return unproven, fmt.Errorf("%w: key %s, sent fingerprint %s, acknowledged fingerprint %s", errUnproven, e.Key, e.Fingerprint, ack.Fingerprint)
	default:
		return claim, nil
	}
}
