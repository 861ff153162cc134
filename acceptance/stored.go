package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

// stored is a decision as the value of its receipt holds it. The names of its
// members are durable: do not change them.
type stored[Bet any] struct {
	Verdict    Verdict            `json:"verdict"`
	Bet        *Bet               `json:"bet,omitempty"`
	Code       Code               `json:"code,omitempty"`
	Detail     string             `json:"detail,omitempty"`
	Legs       []DecidedLeg       `json:"legs"`
	Rules      []RuleVersion      `json:"rules,omitempty"`
	Evidence   *EvidenceReference `json:"evidence,omitempty"`
	Consents   string             `json:"consents,omitempty"`
	ExpiresAt  time.Time          `json:"expires_at,omitzero"`
	Resolution *Resolution        `json:"resolution,omitempty"`
	// Command is kept with a pending decision, to be placed later.
	Command *Command `json:"command,omitempty"`
}

// storedConsent is the value of a consent's receipt.
type storedConsent struct {
	Successor string `json:"successor"`
}

// consented is the outcome kind of a consent's receipt.
const consented receipt.Kind = "consented"

// encode writes what a receipt stores, and returns it as it is read back, which
// is what a caller gets to see. What cannot be read back, or is too long
// for a receipt, fails before the commit, not after it.
//
// It escapes no more than JSON demands, or a command of many '<' would outgrow
// [receipt.MaxOutcome] six-fold and could not be referred.
func (s *stored[Bet]) encode() (value []byte, readBack *stored[Bet], err error) {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return nil, nil, fmt.Errorf("%w cannot be written: %w", ErrValue, err)
	}
	value = bytes.TrimSuffix(written.Bytes(), []byte("\n"))
	if len(value) > receipt.MaxOutcome {
		return nil, nil, fmt.Errorf("%w must have at most %d bytes as JSON, has %d", ErrValue, receipt.MaxOutcome, len(value))
	}
	readBack = new(stored[Bet])
	if err := json.Unmarshal(value, readBack); err != nil {
		return nil, nil, fmt.Errorf("%w cannot be read back: %w", ErrValue, err)
	}
	return value, readBack, nil
}

func decodeStored[Bet any](r *receipt.Receipt) (*stored[Bet], error) {
	var read stored[Bet]
	if err := json.Unmarshal(r.Value, &read); err != nil {
		return nil, fmt.Errorf("%w of key %s does not fit %T: %w", ErrValue, r.Key, read.Bet, err)
	}
	return &read, nil
}

func decodeConsent(r *receipt.Receipt) (successor string, err error) {
	var read storedConsent
	if err := json.Unmarshal(r.Value, &read); err != nil {
		return "", fmt.Errorf("%w of key %s is no consent: %w", ErrValue, r.Key, err)
	}
	return read.Successor, nil
}

// decision returns what a caller gets to see.
func (s *stored[Bet]) decision() Decision[Bet] {
	d := Decision[Bet]{
		Verdict:    s.Verdict,
		Code:       s.Code,
		Detail:     s.Detail,
		Legs:       s.Legs,
		Rules:      s.Rules,
		Evidence:   s.Evidence,
		Consents:   s.Consents,
		ExpiresAt:  s.ExpiresAt,
		Resolution: s.Resolution,
	}
	if s.Bet != nil {
		d.Bet = *s.Bet
	}
	return d
}

// decisionOf returns the decision that a receipt stores. After an error it has
// the receipt alone.
func decisionOf[Bet any](r *receipt.Receipt, replayed bool) (Decision[Bet], error) {
	read, err := decodeStored[Bet](r)
	if err != nil {
		return Decision[Bet]{Receipt: *r, Replayed: replayed}, err
	}
	d := read.decision()
	d.Receipt, d.Replayed = *r, replayed
	return d, nil
}
