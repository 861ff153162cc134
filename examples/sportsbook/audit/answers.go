package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// decision is what the audit reads of a stored decision. It has its own idea of
// the form, which is durable.
type decision struct {
	Verdict  acceptance.Verdict `json:"verdict"`
	Code     acceptance.Code    `json:"code"`
	Bet      *bet.Bet           `json:"bet"`
	Legs     []decidedLeg       `json:"legs"`
	Consents string             `json:"consents"`
}

type decidedLeg struct {
	Event     string         `json:"event"`
	Market    string         `json:"market"`
	Selection string         `json:"selection"`
	Line      string         `json:"line"`
	Requested requestedQuote `json:"requested"`
}

type requestedQuote struct {
	Version string     `json:"version"`
	Odds    money.Odds `json:"odds"`
}

func readDecision(text []byte) (decision, error) {
	var read decision
	if err := json.Unmarshal(text, &read); err != nil {
		return decision{}, fmt.Errorf("audit: decision: %w", err)
	}
	return read, nil
}

// judgeAnswers compares what the client of one command was told with the
// receipts. Every answer of one kind must be the same, byte for byte, and must
// be the receipt's.
func (r *Report) judgeAnswers(b books, command bet.Reference) {
	final, hasFinal := b.placing(command)
	pending, hasPending := b.referral(command)
	finals, pendings := r.told(b.answers[command])
	r.judgeTold(command, finals, final, hasFinal)
	r.judgeTold(command, pendings, pending, hasPending)
	r.judgeNamed(b.answers[command], final, pending)
	r.judgeReferral(command, hasPending, len(b.referrals[command]))
	if hasFinal {
		read, found := b.decisions[command]
		if !found || read.Verdict != final.Outcome {
			r.lost("command %v: its receipt cannot be read, or does not say what its kind does", command)
		}
	}
	switch {
	case !b.sent[command]:
		r.doubled("command %v took effect and was never sent", command)
	case !hasFinal && b.refused(command):
	case len(finals) == 0:
		r.problem("unanswered: command %v has no final answer", command)
	}
}

// told returns the different decisions that a client was told, final and
// pending, and counts what it was told again.
func (r *Report) told(answers []Answer) (finals, pendings [][]byte) {
	add := func(seen [][]byte, told []byte) [][]byte {
		for _, earlier := range seen {
			if bytes.Equal(earlier, told) {
				r.Replays++
				return seen
			}
		}
		return append(seen, told)
	}
	for _, answer := range answers {
		switch {
		case answer.Conflict:
			r.Conflicts++
		case answer.Refusal != "":
			r.problem("refused: command %v: %s", answer.Reference, answer.Refusal)
		case answer.Verdict == acceptance.Pending:
			pendings = add(pendings, answer.Decision)
		case answer.Verdict != "":
			finals = add(finals, answer.Decision)
		}
	}
	return finals, pendings
}

// judgeTold compares the different decisions of one kind that a client was told
// with the receipt of that kind.
func (r *Report) judgeTold(command bet.Reference, told [][]byte, stored receipt.Receipt, found bool) {
	if len(told) > 1 {
		r.doubled("command %v was answered in %d ways", command, len(told))
	}
	for _, text := range told {
		switch {
		case !found:
			r.lost("command %v was answered, and there is no receipt of it", command)
		case !bytes.Equal(text, stored.Value):
			r.lost("command %v was answered otherwise than its receipt says", command)
		}
	}
}

// judgeNamed compares the receipts that a client was told of with those that
// there are.
func (r *Report) judgeNamed(answers []Answer, final, pending receipt.Receipt) {
	for _, answer := range answers {
		stored := final
		if answer.Verdict == acceptance.Pending {
			stored = pending
		}
		if answer.Verdict == "" || stored.Key.IsZero() { // which is lost, and said to be
			continue
		}
		if answer.Attempt != stored.Attempt || answer.Fingerprint != stored.Fingerprint {
			r.lost("command %v was told of a receipt of attempt %q, and its receipt is another", answer.Reference, answer.Attempt)
			return
		}
	}
}

// judgeReferral compares the receipt of a referral with the trader's desk.
func (r *Report) judgeReferral(command bet.Reference, referred bool, rows int) {
	switch {
	case referred && rows == 0:
		r.lost("command %v was referred, and the desk has 0 of it", command)
	case !referred && rows > 0, rows > 1:
		r.doubled("command %v was referred, and the desk has %d of it", command, rows)
	}
}

// refused reports whether a command that decided nothing was refused as a
// contradiction, as the second of two is that use one consent.
func (b *books) refused(command bet.Reference) bool {
	for _, answer := range b.answers[command] {
		if answer.Conflict {
			return true
		}
	}
	return false
}

// judgeConsents checks that no two commands were decided on one consent.
func (r *Report) judgeConsents(b books) {
	type consent struct{ wallet, requoted string }
	successors := make(map[consent]int)
	for _, command := range b.commands() {
		read := b.decisions[command]
		if read.Consents == "" {
			continue
		}
		used := consent{command.Wallet, read.Consents}
		if successors[used]++; successors[used] == 2 {
			r.doubled("the consent to %q of wallet %s was used twice", used.requoted, used.wallet)
		}
		if _, found := b.receipts[acceptance.ConsentKey(b.tenant, command.Wallet, read.Consents)]; !found {
			r.lost("command %v consents to %q, and there is no receipt of that", command, read.Consents)
		}
	}
}

// judgeSuspensions looks for bets that were accepted on suspended markets.
func (r *Report) judgeSuspensions(b books, suspensions []Suspension) {
	for _, command := range b.commands() {
		stored, _ := b.placing(command)
		read := b.decisions[command]
		if read.Verdict != acceptance.Accepted {
			continue
		}
		for _, leg := range read.Legs {
			for _, s := range suspensions {
				if leg.Market == s.Market && !stored.RecordedAt.Before(s.From) && !stored.RecordedAt.After(s.To) {
					r.Late++
					r.problem("late: command %v was accepted on market %s at %v, while that was suspended", command, leg.Market, stored.RecordedAt)
				}
			}
		}
	}
}
