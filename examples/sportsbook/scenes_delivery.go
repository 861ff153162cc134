package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// caughtBet bets from the stage's wallet, whose deliveries fall into a trap, and
// returns the delivery of what became of the bet.
func (d *drill) caughtBet(ctx context.Context, trap *faults.Trap, stage, id string) (acceptance.Command, *faults.Delivery, error) {
	command, err := d.bet(ctx, stage, id, "5.00")
	if err != nil {
		return acceptance.Command{}, nil, err
	}
	if _, err := d.ask(ctx, command, punter.AnyAPI); err != nil {
		return acceptance.Command{}, nil, err
	}
	caught, err := trap.Next(ctx)
	return command, caught, err
}

// trapped plays a scene whose deliveries fall into a trap. One that does not see
// in time what it waits for has not been seen, and is played again.
func (d *drill) trapped(stage string, play func(trap *faults.Trap) (bool, error)) (bool, error) {
	trap := d.delivery.proxy.Catch(stage)
	defer trap.Remove()
	seen, err := play(trap)
	return seen, d.patiently(stage, err)
}

// patiently takes what a scene waited for in vain for no failure of the run.
func (d *drill) patiently(stage string, err error) error {
	if errors.Is(err, faults.ErrNotCaught) || errors.Is(err, faults.ErrNoReceipt) {
		d.logger.Warn("drill: a scene was not seen", "stage", stage, "error", err)
		return nil
	}
	return err
}

// again passes on the next delivery that comes, which must be of the same event,
// and gives the relay its receipt. Those that the projection does not answer are
// hung up on.
func (d *drill) again(ctx context.Context, trap *faults.Trap, first *faults.Delivery) (*faults.Delivery, faults.Forwarded, error) {
	for {
		next, err := trap.Next(ctx)
		if err != nil {
			return nil, faults.Forwarded{}, err
		}
		if next.Event.ID != first.Event.ID {
			return nil, faults.Forwarded{}, fmt.Errorf("event %s came before event %s had its proof", next.Event.ID, first.Event.ID)
		}
		got, err := next.Forward(ctx)
		if errors.Is(err, faults.ErrNoReceipt) {
			next.HangUp()
			continue
		}
		if err == nil {
			next.Answer(got)
		}
		return next, got, err
	}
}

// takenOnce reports whether the projection has one entry of a delivery's event,
// by the attempt of that receipt.
func (d *drill) takenOnce(ctx context.Context, command acceptance.Command, got faults.Forwarded) (bool, error) {
	entries, err := d.delivery.view.Entries(ctx, referenceOf(command))
	return err == nil && len(entries) == 1 && entries[0].Attempt == got.Receipt.Attempt, err
}

// lostReceipt swallows a receipt between the projection and the relay.
func (d *drill) lostReceipt(ctx context.Context, stage string) (bool, error) {
	return d.trapped(stage, func(trap *faults.Trap) (bool, error) {
		command, first, err := d.caughtBet(ctx, trap, stage, "bet")
		if err != nil {
			return false, err
		}
		lost, err := first.Forward(ctx)
		if err != nil {
			return false, err
		}
		first.HangUp()
		second, got, err := d.again(ctx, trap, first)
		if err != nil {
			return false, err
		}
		once, err := d.takenOnce(ctx, command, got)
		if err != nil || !once || got.Receipt.Attempt != lost.Receipt.Attempt {
			return false, err
		}
		return true, d.ledger.Observe(faults.LostReceipt, "event %s: %s was not given the receipt of attempt %s; %s sent the event again and got the same one; it was taken once",
			first.Event.ID, first.Relay, lost.Receipt.Attempt, second.Relay)
	})
}

// killedRelay kills a relay whose event has been taken, before it knows.
func (d *drill) killedRelay(ctx context.Context, stage string) (bool, error) {
	return d.trapped(stage, func(trap *faults.Trap) (bool, error) {
		command, first, err := d.caughtBet(ctx, trap, stage, "bet")
		if err != nil {
			return false, err
		}
		taken, err := first.Forward(ctx)
		if err != nil {
			return false, err
		}
		relay, err := d.delivery.relay(first.Relay)
		if err != nil {
			return false, err
		}
		signal, err := d.restarts.Kill(ctx, relay, relay.Start, d.logger)
		if err != nil {
			return false, err
		}
		first.HangUp()
		second, got, err := d.again(ctx, trap, first)
		if err != nil {
			return false, err
		}
		once, err := d.takenOnce(ctx, command, got)
		if err != nil || !once || got.Receipt.Attempt != taken.Receipt.Attempt || signal != syscall.SIGKILL {
			return false, err
		}
		return true, d.ledger.Observe(faults.KillRelay, "%s was reaped with signal %d when attempt %s had taken event %s; %s sent it again and got the same receipt; it was taken once",
			first.Relay, int(signal), taken.Receipt.Attempt, first.Event.ID, second.Relay)
	})
}

// stoppedRelay stops a relay while an event of its is on the way, until the other
// has delivered that event and the next one. Then the first delivery arrives, and
// the relay goes on.
func (d *drill) stoppedRelay(ctx context.Context, stage string) (bool, error) {
	return d.trapped(stage, func(trap *faults.Trap) (seen bool, err error) {
		command, first, err := d.caughtBet(ctx, trap, stage, "bet")
		if err != nil {
			return false, err
		}
		relay, err := d.delivery.relay(first.Relay)
		if err != nil {
			return false, err
		}
		if err := relay.Pause(); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, relay.Resume()) }()
		second, got, err := d.again(ctx, trap, first)
		if err != nil {
			return false, err
		}
		newer, err := d.delivered(ctx, trap, stage, "next")
		if err != nil {
			return false, err
		}
		late, err := first.Forward(ctx)
		if err != nil {
			return false, err
		}
		first.HangUp()
		repeated, err := d.goesOn(ctx, relay)
		if err != nil {
			return false, err
		}
		once, err := d.takenOnce(ctx, command, got)
		if err != nil || !once || late.Receipt.Attempt != got.Receipt.Attempt {
			return false, err
		}
		shown, err := d.delivery.view.Wallet(ctx, stage)
		if err != nil || shown.Latest == nil || shown.Latest.Position != newer.Event.Position {
			return false, err
		}
		if second.Relay == first.Relay || newer.Event.ID == first.Event.ID || repeated > deliveriesAtOnce {
			return false, nil
		}
		return true, d.ledger.Observe(faults.StopRelay, "%s was stopped with event %s on its way, at position %d; %s took over and delivered it, and position %d after it; "+
			"then the first delivery arrived, got the same receipt, and is not shown as the newest; awake again, %s repeated %d events, of %d that may have been on their way",
			first.Relay, first.Event.ID, first.Event.Position, second.Relay, newer.Event.Position, first.Relay, repeated, deliveriesAtOnce)
	})
}

// delivered bets from the stage's wallet, and passes on the delivery of what
// became of the bet.
func (d *drill) delivered(ctx context.Context, trap *faults.Trap, stage, id string) (*faults.Delivery, error) {
	_, caught, err := d.caughtBet(ctx, trap, stage, id)
	if err != nil {
		return nil, err
	}
	got, err := caught.Forward(ctx)
	if err != nil {
		return nil, err
	}
	caught.Answer(got)
	return caught, nil
}

// goesOn lets a relay that was stopped go on until it has lanes again, and counts
// what it sent meanwhile that the other had delivered.
func (d *drill) goesOn(ctx context.Context, relay *process.Role) (repeated int, err error) {
	d.delivery.proxy.Watch(relay.Name())
	if err := relay.Resume(); err != nil {
		return 0, err
	}
	err = d.holdsLanes(ctx, relay.URL())
	return len(d.delivery.proxy.Repeated(relay.Name())), err
}

// holdsLanes waits until a relay says that it has lanes under a lease that has not
// ended. One that was stopped takes a new lease first: what it had under the old
// one is over by then.
func (d *drill) holdsLanes(ctx context.Context, url string) error {
	return soon(ctx, func() (bool, error) {
		text, err := d.stateOf(ctx, url)
		if err != nil {
			return false, nil //nolint:nilerr // it is not awake yet
		}
		var state relayState
		err = json.Unmarshal(text, &state)
		return err == nil && state.Lanes > 0 && state.Lease > 0, err
	})
}

// stateOf returns what a relay says of itself, as JSON.
func (d *drill) stateOf(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+statePath, nil)
	if err != nil {
		return nil, err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", statePath, response.Status)
	}
	return io.ReadAll(response.Body)
}

// killedProjection kills the projection with an event in its hands: by turns after
// the commit before the answer, and before the commit.
func (d *drill) killedProjection(ctx context.Context, stage string) (bool, error) {
	place := hold.Answer
	if d.ledger.Count(faults.KillProjection)%2 == 1 {
		place = faults.HoldTransaction
	}
	return d.trapped(stage, func(trap *faults.Trap) (bool, error) {
		command, first, err := d.caughtBet(ctx, trap, stage, "bet")
		if err != nil {
			return false, err
		}
		var signal syscall.Signal
		var killErr error
		unanswered := first.Hold(ctx, place, func() { signal, killErr = d.killProjection(ctx) })
		if killErr != nil {
			return false, killErr
		}
		stored, found, err := d.delivery.consumer.Receipt(ctx, first.Event.Key)
		if err != nil {
			return false, err
		}
		first.HangUp()
		_, got, err := d.again(ctx, trap, first)
		if err != nil {
			return false, err
		}
		once, err := d.takenOnce(ctx, command, got)
		committed := place == hold.Answer
		if err != nil || !once || !unanswered || signal != syscall.SIGKILL || found != committed {
			return false, err
		}
		if committed && got.Receipt.Attempt != stored.Attempt {
			return false, nil
		}
		return true, d.ledger.Observe(faults.KillProjection, "the projection was reaped with signal %d, held at %q; no answer came; receipt of event %s: %v %s; the event came again and was taken once, by attempt %s",
			int(signal), place, first.Event.ID, found, stored.Attempt, got.Receipt.Attempt)
	})
}

// refusal has the projection refuse a wallet's event, which becomes a dead letter
// and holds back the next one of the wallet, and no other's. Then an operator
// mends the cause and requeues it.
func (d *drill) refusal(ctx context.Context, stage string) (seen bool, err error) {
	v := d.delivery
	if err := v.view.Refuse(ctx, stage); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(d.patiently(stage, err), v.mend(ctx, stage)) }()
	first, err := d.placed(ctx, stage, stage, "bet")
	if err != nil {
		return false, err
	}
	letter, err := v.deadLetterOf(ctx, stage)
	if err != nil {
		return false, err
	}
	next, err := d.placed(ctx, stage, stage, "next")
	if err != nil {
		return false, err
	}
	other, err := d.placed(ctx, stage, playerName(0), "other")
	if err != nil {
		return false, err
	}
	if _, err := v.taken(ctx, other); err != nil {
		return false, err
	}
	held, err := v.view.Entries(ctx, next)
	if err != nil || len(held) > 0 || !letter.HoldsBack {
		return false, err
	}
	if err := v.mend(ctx, stage); err != nil {
		return false, err
	}
	one, err := v.taken(ctx, first)
	if err != nil {
		return false, err
	}
	two, err := v.taken(ctx, next)
	if err != nil || one.Position != letter.Event.Position || one.Position >= two.Position {
		return false, err
	}
	return true, d.ledger.Observe(faults.ProjectionRefusal, "event %s was set aside after %d attempts: %s; it held back the next event of wallet %s, while one of wallet %s was taken; requeued, both were taken, at positions %d and %d",
		letter.Event.ID, letter.Attempts, letter.Reason, stage, other.Wallet, one.Position, two.Position)
}

// placed bets on the stage's market from a wallet.
func (d *drill) placed(ctx context.Context, stage, wallet, id string) (bet.Reference, error) {
	command, err := d.fillIn(ctx, slip{id: stage + "-" + id, wallet: wallet, legs: []pick{{stage, "home"}}, stake: euros("5.00")})
	if err != nil {
		return bet.Reference{}, err
	}
	_, err = d.ask(ctx, command, punter.AnyAPI)
	return referenceOf(command), err
}
