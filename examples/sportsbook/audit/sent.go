package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// judgeSent compares what a client sent with what was decided and placed.
// Whatever got a decision for an answer must be what the decision is on: a
// changed body under the same key had to get a conflict.
func (r *Report) judgeSent(b books, command bet.Reference) {
	final, hasFinal := b.placing(command)
	pending, hasPending := b.referral(command)
	compared, decided := false, false
	for _, answer := range b.answers[command] {
		stored, found, rows := final, hasFinal, b.bets[command]
		if answer.Verdict == acceptance.Pending {
			stored, found, rows = pending, hasPending, nil
		}
		if answer.Verdict == "" || !found { // which is lost, and said to be
			continue
		}
		decided = decided || answer.Verdict != acceptance.Pending
		if answer.Sent == nil {
			continue
		}
		compared = compared || answer.Verdict != acceptance.Pending
		if wrong := unlike(answer.Sent, stored, rows); len(wrong) > 0 {
			r.lost("command %v was sent with another %s than what is kept", command, strings.Join(wrong, ", "))
			return
		}
	}
	if decided && !compared {
		r.problem("unanswered: command %v has a final decision, and no client that sent it was told", command)
	}
}

// unlike returns the fields of a command that its receipt and its bets do not
// have as they were sent, each once. The names are those of the command's JSON.
func unlike(sent *acceptance.Command, stored receipt.Receipt, rows []bet.Bet) []string {
	var wrong []string
	if sum, err := sent.Fingerprint(false); err != nil || sum != stored.Fingerprint {
		wrong = append(wrong, "fingerprint")
	}
	if read, err := readDecision(stored.Value); err == nil { // what cannot be read is lost, and said to be
		wrong = append(wrong, unlikeDecision(sent, read)...)
	}
	for _, placed := range rows {
		wrong = append(wrong, unlikeBet(sent, placed)...)
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

func unlikeDecision(sent *acceptance.Command, read decision) (wrong []string) {
	if read.Consents != sent.Consents {
		wrong = append(wrong, "consents")
	}
	if len(read.Legs) != len(sent.Legs) {
		return append(wrong, "number of legs")
	}
	for i, leg := range sent.Legs {
		decided := read.Legs[i]
		wrong = append(wrong, unlikeTexts(i, []text{
			{"event", leg.Event, decided.Event},
			{"market", leg.Market, decided.Market},
			{"selection", leg.Selection, decided.Selection},
			{"line", leg.Line, decided.Line},
			{"quote_version", leg.QuoteVersion, decided.Requested.Version},
		})...)
		if !leg.Odds.Equal(decided.Requested.Odds) {
			wrong = append(wrong, fmt.Sprintf("legs[%d].odds", i))
		}
	}
	return wrong
}

func unlikeBet(sent *acceptance.Command, placed bet.Bet) (wrong []string) {
	if stake, err := sent.TotalStake(); err != nil || !stake.Equal(placed.Stake) {
		wrong = append(wrong, "stake")
	}
	if placed.Kind != sent.Type.Kind {
		wrong = append(wrong, "type.kind")
	}
	if len(placed.Legs) != len(sent.Legs) {
		return append(wrong, "number of legs")
	}
	for i, leg := range sent.Legs {
		wrong = append(wrong, unlikeTexts(i, []text{
			{"market", leg.Market, placed.Legs[i].Market},
			{"selection", leg.Selection, placed.Legs[i].Selection},
		})...)
		if !takes(sent.OddsChange, leg.Odds.Decimal(), placed.Legs[i].Odds.Decimal()) {
			wrong = append(wrong, fmt.Sprintf("legs[%d].odds", i))
		}
	}
	return wrong
}

// text is one field of a leg, as it was sent and as it is kept.
type text struct{ field, sent, kept string }

func unlikeTexts(leg int, texts []text) (wrong []string) {
	for _, t := range texts {
		if t.sent != t.kept {
			wrong = append(wrong, fmt.Sprintf("legs[%d].%s", leg, t.field))
		}
	}
	return wrong
}

// takes reports whether a player who sent some odds takes those at which the bet
// stands. It has its own idea of the policies.
func takes(change acceptance.OddsChange, sent, stands decimal.Decimal) bool {
	switch change.Policy {
	case acceptance.OddsBetter:
		return stands.GreaterThanOrEqual(sent)
	case acceptance.OddsAny:
		least := sent.Sub(sent.Mul(decimal.New(int64(change.WithinBasisPoints), -4)))
		return stands.GreaterThanOrEqual(least)
	default: // exact, which is also what the empty policy means
		return stands.Equal(sent)
	}
}
