package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/desk"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// everyVoid is how often a bet is voided by a trader, and how often a market.
const everyVoid = 12

// askAgain sends every command once more, as its client's notes have it, until
// each has a final answer. A trader has the last word on those that are pending
// still.
func (d *drill) askAgain(ctx context.Context) error {
	commands, err := d.sentCommands()
	if err != nil {
		return err
	}
	return eachOf(ctx, workers, commands, func(ctx context.Context, command acceptance.Command) error {
		told, err := d.ask(ctx, command, punter.AnyAPI)
		if err != nil {
			return err
		}
		if read, _ := told.Decision(); read.Verdict != acceptance.Pending {
			return nil
		}
		if err := d.resolve(ctx, command, acceptance.Decline); err != nil {
			return err
		}
		_, err = d.ask(ctx, command, punter.AnyAPI)
		return err
	})
}

// sentCommands returns the commands that clients have sent, each as it was sent
// first.
func (d *drill) sentCommands() ([]acceptance.Command, error) {
	notes, err := punter.ReadNotes(d.directory.notes())
	if err != nil {
		return nil, err
	}
	var commands []acceptance.Command
	seen := make(map[bet.Reference]bool)
	for _, note := range notes {
		if note.Sent == nil || seen[note.Reference] {
			continue
		}
		seen[note.Reference] = true
		command, err := note.Command(tenant)
		if err != nil {
			return nil, err
		}
		commands = append(commands, command)
	}
	return commands, nil
}

// closeBets voids some bets on a trader's word, and then posts the result of
// every market until no bet is left open.
func (d *drill) closeBets(ctx context.Context) error {
	if err := d.voidSome(ctx); err != nil {
		return err
	}
	found, err := d.desk.Markets(ctx)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(d.options.seed, 0xe4d)) //nolint:gosec // a plan is to repeat
	var open []string
	winners := make(map[string]string)
	for _, m := range found {
		if m.Status == acceptance.MarketClosed {
			continue
		}
		open = append(open, m.ID)
		winners[m.ID] = selections()[random.IntN(3)]
		if random.IntN(everyVoid) == 0 {
			winners[m.ID] = "" // the market does not count
		}
	}
	// A bet on two markets waits for the later result, whose request settles it.
	return eachOf(ctx, workers, open, func(ctx context.Context, marketID string) error {
		for {
			closed, err := d.desk.Result(ctx, resultOf(marketID, winners[marketID]))
			if err != nil || closed.Unfinished == 0 {
				return err
			}
		}
	})
}

// voidSome voids accepted bets, as a trader would who looks into cases.
func (d *drill) voidSome(ctx context.Context) error {
	notes, err := punter.ReadNotes(d.directory.notes())
	if err != nil {
		return err
	}
	seen := make(map[bet.Reference]bool)
	for _, note := range notes {
		if note.Told == nil || seen[note.Reference] {
			continue
		}
		read, _ := note.Told.Decision()
		if read.Verdict != acceptance.Accepted {
			continue
		}
		seen[note.Reference] = true
		if len(seen)%everyVoid != 0 {
			continue
		}
		if _, err := d.desk.Void(ctx, note.Reference, "case-of-"+note.ID); err != nil && !errors.Is(err, desk.ErrRefused) {
			return err
		}
	}
	return nil
}

// deliverRest waits until the outbox is empty, or has nothing but what waits for
// a person, for as long as it gets emptier. What it then still has, the audit
// says.
func (d *drill) deliverRest(ctx context.Context) error {
	if d.delivery == nil {
		return nil
	}
	for last := math.MaxInt; ; {
		left, done := 0, false
		err := soon(ctx, func() (_ bool, err error) {
			left, done, err = d.undelivered(ctx)
			return done || left < last, err
		})
		if errors.Is(err, faults.ErrNotCaught) {
			d.logStates(ctx)
			return nil
		}
		if err != nil || done {
			return err
		}
		last = left
	}
}

// undelivered counts the events in the outbox, and reports whether no relay can
// do more about them.
func (d *drill) undelivered(ctx context.Context) (left int, done bool, err error) {
	events, err := d.books.Events(ctx)
	if err != nil || len(events) == 0 {
		return 0, true, err
	}
	letters, err := d.delivery.deadLetters(ctx)
	return len(events), err == nil && allHeldBack(events, letters), err
}

// logStates says how far the relays are that have left events in the outbox.
func (d *drill) logStates(ctx context.Context) {
	for _, relay := range d.delivery.relays {
		state, err := d.stateOf(ctx, relay.URL())
		d.logger.WarnContext(ctx, "drill: events are in the outbox still", "relay", relay.Name(), "state", string(state), "error", err)
	}
}

// allHeldBack reports whether a dead letter holds back each of the events.
func allHeldBack(events []event.Event, letters []outbox.DeadLetter) bool {
	held := make(map[string]bool)
	for _, letter := range letters {
		held[letter.Event.OrderingKey] = letter.HoldsBack
	}
	return !slices.ContainsFunc(events, func(e event.Event) bool { return !held[e.OrderingKey] })
}
