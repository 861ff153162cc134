package audit

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// judgeProjection compares what a consumer has made of the events with the
// house's tables and receipts. Where there is no consumer, there is nothing to
// compare, and nothing is published.
func (r *Report) judgeProjection(b books, facts *Facts) {
	if facts.Projection == nil {
		return
	}
	r.countPublished(b, facts)
	r.judgeOneReceipt("of the projection", facts.Projection.Receipts)
	r.judgeUndelivered(facts)
	r.judgeTaken(b, facts.Projection)
	lines := by(facts.Projection.Journal, func(e projection.Entry) string { return e.Wallet })
	for _, id := range slices.Sorted(maps.Keys(lines)) {
		r.judgeLine(id, lines[id])
	}
	r.judgeCommits(facts.Tables.Journal, lines)
	r.judgeViews(b, facts.Projection)
	r.judgeLatest(facts.Projection, lines)
}

// countPublished counts what the outbox no longer has, and what the projection
// has a receipt of.
func (r *Report) countPublished(b books, facts *Facts) {
	kept := by(slices.Concat(facts.Events, facts.DeadLetters), func(e event.Event) receipt.Key { return e.Key })
	receipted := by(facts.Projection.Receipts, func(s receipt.Receipt) receipt.Key { return s.Key })
	for _, stored := range b.wanted {
		if len(kept[stored.Key]) == 0 {
			r.Published++
		}
		if len(receipted[stored.Key]) > 0 {
			r.Projected++
		}
	}
}

// judgeUndelivered says what is still on its way when the run is over, and what
// would not arrive.
func (r *Report) judgeUndelivered(facts *Facts) {
	if len(facts.Events) > 0 {
		r.problem("undelivered: %d events are in the outbox still", len(facts.Events))
	}
	for _, e := range facts.DeadLetters {
		r.problem("dead letter: the event of %s was set aside", e.Key)
	}
	for _, id := range facts.Projection.Refused {
		r.problem("refused: the projection takes no events of wallet %s", id)
	}
}

// judgeTaken checks that the projection took each event once, under a receipt of
// its own that the same run wrote, and with the amounts that the house's tables
// have.
func (r *Report) judgeTaken(b books, p *Projection) {
	receipts := make(map[receipt.Key]receipt.Receipt)
	for _, stored := range p.Receipts {
		receipts[stored.Key] = stored
	}
	taken := by(p.Journal, func(e projection.Entry) telling { return telling{e.Reference, e.Became} })
	for of, entries := range taken {
		key := of.key(b.tenant)
		stored, found := receipts[key]
		delete(receipts, key)
		switch {
		case len(entries) > 1:
			r.doubled("the projection took %d times that %v is %s", len(entries), of.Reference, of.became)
		case !found:
			r.doubled("the projection took that %v is %s, and has no receipt of it", of.Reference, of.became)
		case stored.Attempt != entries[0].Attempt:
			r.problem("disagree: the projection's receipt that %v is %s is of another attempt than its entry", of.Reference, of.became)
		case !b.sameAmounts(&entries[0]):
			r.problem("disagree: the projection and the house's tables have other amounts where %v is %s", of.Reference, of.became)
		case !tookEntry(&stored, &entries[0]):
			r.problem("disagree: the projection's receipt that %v is %s does not say what its entry does", of.Reference, of.became)
		case !b.sameFact(of, &stored):
			r.problem("disagree: the projection's receipt that %v is %s has not the fingerprint of what the house decided", of.Reference, of.became)
		}
	}
	for key := range receipts {
		r.lost("the projection has a receipt of %s, and did not take its event", key)
	}
}

// tookEntry reports whether a receipt of the projection says that it took an
// event, and has of it what the entry has.
func tookEntry(stored *receipt.Receipt, entry *projection.Entry) bool {
	var told projection.Entry
	if json.Unmarshal(stored.Value, &told) != nil || stored.Outcome != settle.Settled {
		return false
	}
	return told.Reference == entry.Reference && told.Became == entry.Became && told.EventID == entry.EventID &&
		told.Position == entry.Position && told.Attempt == entry.Attempt &&
		sameAmount(told.Stake, entry.Stake) && sameAmount(told.Payout, entry.Payout)
}

// sameFact reports whether the projection has fingerprinted what the house's own
// receipt says, legs and odds included, which no entry has. What the house has no
// receipt of is complained of elsewhere.
func (b *books) sameFact(of telling, taken *receipt.Receipt) bool {
	stored, found := b.wanted[of]
	if !found {
		return true
	}
	told := fact.Fact{Reference: of.Reference, Became: of.became}
	switch {
	case closes(of.became):
		told.Closing = new(bet.Closing)
		if json.Unmarshal(stored.Value, told.Closing) != nil {
			return false
		}
	case of.became != acceptance.Pending:
		decided := b.decisions[of.Reference]
		told.Code = decided.Code
		if of.became == acceptance.Accepted {
			told.Placed = decided.Bet
		}
	}
	digest, err := told.FingerprintUnder(taken.Fingerprint.Schema())
	return err == nil && digest.Equal(taken.Fingerprint)
}

// sameAmounts reports whether an entry has the stake and the payout of the
// house's rows, and no others.
func (b *books) sameAmounts(entry *projection.Entry) bool {
	var stake, payout *money.Amount
	if placed := b.bets[entry.Reference]; entry.Became == acceptance.Accepted && len(placed) > 0 {
		stake = &placed[0].Stake
	}
	if closings := b.closings[entry.Reference]; closes(entry.Became) && len(closings) > 0 {
		payout = &closings[0].Payout
	}
	return sameAmount(stake, entry.Stake) && sameAmount(payout, entry.Payout)
}

func sameAmount(a, b *money.Amount) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// closes reports whether something ends a bet.
func closes(became receipt.Kind) bool { return became == settle.Settled || became == settle.Voided }

// judgeLine checks that the events of one wallet came in the order of their
// commits: their positions rise, and of each command the referral comes before
// the decision, and that before the closing.
func (r *Report) judgeLine(id string, line []projection.Entry) {
	var last int64
	reached := make(map[bet.Reference]int)
	for _, entry := range line {
		if entry.Position <= last {
			r.problem("out of order: wallet %s: that %v is %s has position %d, and came after %d",
				id, entry.Reference, entry.Became, entry.Position, last)
		}
		last = max(last, entry.Position)
		stage := stageOf(entry.Became)
		if before := reached[entry.Reference]; stage < before {
			r.problem("out of order: wallet %s: that %v is %s came after what follows it", id, entry.Reference, entry.Became)
		}
		reached[entry.Reference] = max(stage, reached[entry.Reference])
	}
}

// stageOf says how far a command has come.
func stageOf(became receipt.Kind) int {
	switch {
	case became == acceptance.Pending:
		return 0
	case closes(became):
		return 2
	default:
		return 1
	}
}

// judgeCommits checks the order by another witness than the positions: the
// house's journal, each of whose transactions was written under the wallet's
// lock. Bets must have come as placed and closed in the order in which they were.
func (r *Report) judgeCommits(journal []wallet.Transaction, lines map[string][]projection.Entry) {
	became := map[wallet.Movement]receipt.Kind{
		wallet.Stake: acceptance.Accepted, wallet.Settlement: settle.Settled, wallet.Void: settle.Voided,
	}
	committed := make(map[telling]int) // its place in the journal, from 1 on
	for i, moved := range journal {
		committed[telling{bet.Reference{Wallet: moved.Wallet, ID: moved.Bet}, became[moved.Movement]}] = i + 1
	}
	for _, line := range lines {
		last := 0
		for _, entry := range line {
			place := committed[telling{entry.Reference, entry.Became}]
			if place != 0 && place < last {
				r.problem("out of order: that %v is %s came after what was committed behind it", entry.Reference, entry.Became)
			}
			last = max(last, place)
		}
	}
}

// judgeLatest checks that the newest thing which the projection knows of a wallet
// is the newest that it took: an old delivery that came late has not replaced
// it.
func (r *Report) judgeLatest(p *Projection, lines map[string][]projection.Entry) {
	known := make(map[string]projection.Latest)
	for _, shown := range p.Wallets {
		if shown.Latest != nil {
			known[shown.ID] = *shown.Latest
		}
	}
	for id, line := range lines {
		newest := slices.MaxFunc(line, func(a, b projection.Entry) int { return cmp.Compare(a.Position, b.Position) })
		want := projection.Latest{Position: newest.Position, Bet: newest.ID, Became: newest.Became}
		if got := known[id]; got != want {
			r.problem("outdated: the newest of wallet %s is %+v, and the projection says %+v", id, want, got)
		}
		delete(known, id)
	}
	for id := range known {
		r.problem("outdated: the projection knows the newest of wallet %s, and took nothing of it", id)
	}
}
