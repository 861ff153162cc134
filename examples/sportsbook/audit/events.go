package audit

import (
	"encoding/json"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// telling is one thing that the world is told of a command.
type telling struct {
	bet.Reference
	became receipt.Kind
}

// key is the key of the event that tells it, and of the receipt that it tells
// of. The audit has its own idea of it.
func (t telling) key(tenant string) receipt.Key {
	switch t.became {
	case acceptance.Pending:
		return acceptance.ReferralKey(tenant, t.Wallet, t.ID)
	case settle.Settled, settle.Voided:
		return acceptance.ClosingKey(tenant, t.Wallet, t.ID)
	default:
		return acceptance.PlacingKey(tenant, t.Wallet, t.ID)
	}
}

// tellingOf returns what a receipt of the house is to be told as, if the world
// is told of it.
func tellingOf(tenant string, stored *receipt.Receipt) (of telling, announced bool) {
	switch stored.Outcome {
	case acceptance.Accepted, acceptance.Rejected, acceptance.Requoted, acceptance.Pending, settle.Settled, settle.Voided:
		of = telling{bet.Reference{Wallet: stored.Key.Scope, ID: stored.Key.ID}, stored.Outcome}
		return of, stored.Key.Tenant == tenant
	default:
		return telling{}, false
	}
}

// unreadable is what became of a command by an event that does not say.
const unreadable receipt.Kind = "in an event that cannot be read, or is under another key than its own"

// read returns what an event tells. It has its own idea of the form.
func read(tenant string, e *event.Event) telling {
	var said struct {
		bet.Reference
		Became receipt.Kind `json:"became"`
	}
	broken := json.Unmarshal(e.Data, &said)
	if of := (telling{said.Reference, said.Became}); broken == nil && e.Key == of.key(tenant) {
		return of
	}
	return telling{bet.Reference{Wallet: e.Key.Scope, ID: e.Key.ID}, unreadable}
}

// tellings collects the events that anything knows of: the outbox, its dead
// letters, and the projection, whose journal has those that have left it. One
// that was delivered and not yet taken out is in two places, and one event.
func tellings(facts *Facts) map[telling]map[string]bool {
	told := make(map[telling]map[string]bool)
	add := func(of telling, eventID string) {
		if told[of] == nil {
			told[of] = make(map[string]bool)
		}
		told[of][eventID] = true
	}
	for _, events := range [][]event.Event{facts.Events, facts.DeadLetters} {
		for i := range events {
			add(read(facts.Tenant, &events[i]), events[i].ID)
		}
	}
	if facts.Projection != nil {
		for _, entry := range facts.Projection.Journal {
			add(telling{entry.Reference, entry.Became}, entry.EventID)
		}
	}
	return told
}

// judgeEvents checks that each decision and each closing has an event, and one
// alone, and that nothing else has.
func (r *Report) judgeEvents(b books) {
	for of := range b.wanted {
		switch count := len(b.told[of]); count {
		case 0:
			r.lost("there is no event that %v is %s", of.Reference, of.became)
		case 1:
		default:
			r.doubled("there are %d events that %v is %s", count, of.Reference, of.became)
		}
	}
	for of, events := range b.told {
		r.Events += len(events)
		if _, found := b.wanted[of]; !found {
			r.doubled("there are %d events that %v is %s, and no receipt", len(events), of.Reference, of.became)
		}
	}
}
