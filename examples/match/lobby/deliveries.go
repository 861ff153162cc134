package lobby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// What a [Delivery] says.
const (
	Arrived  = "arrived"  // a result has come in
	First    = "settled"  // this delivery settled the match
	Replayed = "replayed" // an earlier one had
	Refused  = "refused"  // it never will be settled
	Failed   = "failed"   // the sender is to try again
)

// Delivery is one line of the log of deliveries, in JSON.
type Delivery struct {
	Key   receipt.Key `json:"key"`
	State string      `json:"state"`
}

// DeliveryLog notes each delivery in a file, one line when it arrives and one
// when its answer is known. A line is written with one call, so a process that
// is killed leaves whole lines. Safe for concurrent use.
type DeliveryLog struct{ file *os.File }

// OpenDeliveryLog opens the file, or makes it, to add to it.
func OpenDeliveryLog(path string) (*DeliveryLog, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lobby: delivery log: %w", err)
	}
	return &DeliveryLog{file}, nil
}

// Close closes the file.
func (d *DeliveryLog) Close() error { return d.file.Close() }

func (d *DeliveryLog) note(key receipt.Key, state string) error {
	line, err := json.Marshal(Delivery{key, state})
	if err == nil {
		_, err = d.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("lobby: delivery log: %w", err)
	}
	return nil
}

// SettleLogged is [Lobby.Settle] with each delivery noted in log.
func (l *Lobby) SettleLogged(log *DeliveryLog) func(context.Context, event.Event) (receipt.Receipt, error) {
	return func(ctx context.Context, e event.Event) (receipt.Receipt, error) {
		if err := log.note(e.Key, Arrived); err != nil {
			return receipt.Receipt{}, err
		}
		done, err := l.settle(ctx, e)
		return done.Receipt, errors.Join(err, log.note(e.Key, stateOf(done, err)))
	}
}

func stateOf(done settle.Result[Settlement], err error) string {
	var conflict *receipt.ConflictError
	switch {
	case errors.Is(err, settle.ErrRefused), errors.As(err, &conflict):
		return Refused
	case err != nil:
		return Failed
	case done.Replayed:
		return Replayed
	default:
		return First
	}
}
