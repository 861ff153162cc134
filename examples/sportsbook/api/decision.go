package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// ReplayedHeader says "true" where a decision is that of an earlier or a rival
// request, and "false" where it is this one's.
const ReplayedHeader = "Idempotent-Replayed"

// Decision is the answer to POST /bets and GET /bets/{id}.
type Decision struct {
	// Reference is the wallet and the command's ID: its Idempotency-Key.
	bet.Reference
	// Verdict is accepted, rejected, requoted or pending.
	Verdict acceptance.Verdict `json:"verdict"`
	// Decision is what was decided, byte for byte as it was committed: the
	// bet, or why there is none, with the legs, rules and evidence.
	Decision json.RawMessage `json:"decision"`
	// Receipt identifies the proof of the decision. Nil: nothing was stored,
	// and the same command may be decided otherwise.
	Receipt *Receipt `json:"receipt"`
	// Successor is the ID of the command that consented to this requote. It is
	// told by GET alone. Empty: there is none yet.
	Successor string `json:"successor,omitempty"`
}

// Receipt identifies a receipt.
type Receipt struct {
	// Attempt is the run whose effects were committed with the receipt. No
	// other run has it.
	Attempt string `json:"attempt"`
	// Fingerprint is that of what was asked for.
	Fingerprint fingerprint.Digest `json:"fingerprint"`
	// RecordedAt is the database's clock in that run.
	RecordedAt time.Time `json:"recorded_at"`
}

func receiptOf(r *receipt.Receipt) *Receipt {
	return &Receipt{Attempt: r.Attempt, Fingerprint: r.Fingerprint, RecordedAt: r.RecordedAt}
}

// decisionOf returns the body of a decision.
func decisionOf(reference bet.Reference, d *house.Decision) (Decision, error) {
	body := Decision{Reference: reference, Verdict: d.Verdict, Decision: d.Receipt.Value, Successor: d.Successor}
	if d.Receipt.Key.IsZero() {
		return body, body.unreceipted(d)
	}
	body.Receipt = receiptOf(&d.Receipt)
	return body, nil
}

// unreceipted fills in a rejection that is not stored.
func (d *Decision) unreceipted(rejection *house.Decision) (err error) {
	d.Decision, err = json.Marshal(struct {
		Verdict acceptance.Verdict `json:"verdict"`
		Code    acceptance.Code    `json:"code"`
		Detail  string             `json:"detail,omitempty"`
	}{rejection.Verdict, rejection.Code, rejection.Detail})
	return err
}

// answerDecision answers with a decision that was asked for by POST.
func answerDecision(reference bet.Reference, d *house.Decision) (answer, error) {
	body, err := decisionOf(reference, d)
	if err != nil {
		return answer{}, err
	}
	reply, err := answerJSON(statusOf(d.Verdict), body)
	if err != nil {
		return answer{}, err
	}
	reply.header.Set(ReplayedHeader, strconv.FormatBool(d.Replayed))
	if reply.status != http.StatusOK {
		reply.header.Set("Location", "/bets/"+url.PathEscape(reference.ID))
	}
	return reply, nil
}

// statusOf looks at nothing but the verdict, so that a replay has the status of
// the first answer.
func statusOf(verdict acceptance.Verdict) int {
	switch verdict {
	case acceptance.Accepted:
		return http.StatusCreated
	case acceptance.Pending:
		return http.StatusAccepted
	default:
		return http.StatusOK
	}
}
