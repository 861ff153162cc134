package audit

import (
	"encoding/json"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// judgeBet compares one command's receipt with the bet, its hold and its stake.
func (r *Report) judgeBet(b books, command bet.Reference) {
	stored, _ := b.placing(command)
	accepted := stored.Outcome == acceptance.Accepted
	stakes := b.moved(command, wallet.Stake)
	var missing, twice, stray []string
	for _, effect := range []struct {
		name  string
		count int
	}{
		{"bet", len(b.bets[command])},
		{"hold", len(b.holds[command])},
		{"movement of its stake", len(stakes)},
	} {
		switch {
		case accepted && effect.count == 0:
			missing = append(missing, effect.name)
		case !accepted && effect.count > 0:
			stray = append(stray, effect.name)
		}
		if effect.count > 1 {
			twice = append(twice, effect.name)
		}
	}
	if len(missing) > 0 {
		r.lost("command %v was accepted and has no %v", command, missing)
	}
	if len(twice) > 0 {
		r.doubled("command %v has more than one %v", command, twice)
	}
	if len(stray) > 0 {
		r.doubled("command %v has a %v, and no receipt that accepts it", command, stray)
	}
	if accepted && len(missing)+len(twice) == 0 && !b.agrees(command, stored, stakes[0]) {
		r.problem("disagree: the receipt, the bet, the hold and the stake of command %v do not say the same", command)
	}
}

// agrees reports whether receipt, bet, hold and journal tell of one bet, made by
// one attempt.
func (b *books) agrees(command bet.Reference, stored receipt.Receipt, stake wallet.Transaction) bool {
	placed, hold, told := b.bets[command][0], b.holds[command][0], b.decisions[command].Bet
	if told == nil || told.Reference != command || told.Kind != placed.Kind || !told.Stake.Equal(placed.Stake) || !told.Payout.Equal(placed.Payout) {
		return false
	}
	if !slices.EqualFunc(told.Legs, placed.Legs, sameLeg) || !hold.Amount.Equal(placed.Stake) {
		return false
	}
	for _, attempt := range []string{placed.Attempt, hold.Attempt, stake.Attempt, told.Attempt} {
		if attempt != stored.Attempt {
			return false
		}
	}
	return movesBy(stake, wallet.Held, placed.Stake.Decimal())
}

func sameLeg(a, b bet.Leg) bool {
	return a.Market == b.Market && a.Selection == b.Selection && a.Tick == b.Tick && a.Odds.Equal(b.Odds)
}

// moved returns the transactions of one kind that a bet has in the journal.
func (b *books) moved(command bet.Reference, movement wallet.Movement) []wallet.Transaction {
	return slices.DeleteFunc(slices.Clone(b.movements[command]), func(t wallet.Transaction) bool { return t.Movement != movement })
}

// judgeClosing compares how one bet was closed with its receipt. A bet is open,
// settled or voided, and whichever it is shows in the hold, the journal and the
// closing alike.
func (r *Report) judgeClosing(b books, command bet.Reference) {
	stored, closed := b.closing(command)
	settlements, voids := b.moved(command, wallet.Settlement), b.moved(command, wallet.Void)
	ends, closings := b.holdEnds[command], b.closings[command]
	if len(settlements) > 0 && len(voids) > 0 {
		r.doubled("bet %v is both settled and voided", command)
		return
	}
	if count := max(len(settlements)+len(voids), len(ends), len(closings)); count > 1 {
		r.doubled("bet %v was closed %d times", command, count)
		return
	}
	complete := len(settlements)+len(voids) == 1 && len(ends) == 1 && len(closings) == 1
	switch {
	case !closed && len(settlements)+len(voids)+len(ends)+len(closings) > 0:
		r.doubled("bet %v was closed, and there is no receipt of it", command)
	case closed && !complete:
		r.lost("bet %v is closed by its receipt, and not in the books", command)
	case closed && !closingAgrees(stored, closings[0], ends[0], append(settlements, voids...)[0]):
		r.problem("disagree: the receipt, the hold's end, the journal and the closing of bet %v do not say the same", command)
	case closed && len(b.bets[command]) == 1:
		r.judgePayout(b, b.bets[command][0], closings[0])
	case !closed && len(b.bets[command]) > 0:
		r.Open++
		r.problem("open: bet %v is neither settled nor voided", command)
	}
}

// closingAgrees reports whether receipt, closing, hold and journal tell of one
// end, made by one attempt. What the receipt keeps of the closing is what its
// row says.
func closingAgrees(stored receipt.Receipt, closing bet.Closing, end bet.HoldEnd, movement wallet.Transaction) bool {
	settled := movement.Movement == wallet.Settlement
	want := bet.Voided
	if settled {
		want = bet.Settled
	}
	for _, attempt := range []string{closing.Attempt, end.Attempt, movement.Attempt} {
		if attempt != stored.Attempt {
			return false
		}
	}
	var told bet.Closing
	if json.Unmarshal(stored.Value, &told) != nil || !sameClosing(told, closing) {
		return false
	}
	return closing.State == want && end.Consumed == settled && (stored.Outcome == settle.Settled) == settled &&
		movesBy(movement, wallet.Held, end.Amount.Decimal().Neg()) && movesBy(movement, wallet.Available, closing.Payout.Decimal())
}

func sameClosing(a, b bet.Closing) bool {
	return a.Reference == b.Reference && a.State == b.State && a.ResultVersion == b.ResultVersion &&
		a.Payout.Equal(b.Payout) && a.Rounding == b.Rounding && a.Attempt == b.Attempt
}

// judgePayout computes what a closed bet pays: the stake where it was voided, and
// else what the results of its markets make of it.
func (r *Report) judgePayout(b books, placed bet.Bet, closing bet.Closing) {
	want := placed.Stake.Decimal()
	for _, leg := range placed.Legs {
		result := b.results[leg.Market]
		switch {
		case closing.State == bet.Voided, result.Void:
		case result.Winner == leg.Selection:
			want = want.Mul(leg.Odds.Decimal())
		default:
			want = decimal.Zero
		}
	}
	want = want.Round(int32(placed.Stake.Currency().Scale())) //nolint:gosec // at most 18
	if !closing.Payout.Decimal().Equal(want) {
		r.unbalanced("bet %v was paid %v, and should have been paid %v", placed.Reference, closing.Payout, want)
	}
}
