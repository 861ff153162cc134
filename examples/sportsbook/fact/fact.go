// Package fact is what the house tells the world: one thing that became of a
// command or of its bet, as the content of an event.
//
// Facts of one wallet are delivered in the order of their commits, since a later
// one builds on earlier ones: a closing says what was paid, and not what was
// staked.
package fact

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// TypePrefix begins the type of each event; what became of the bet follows, as
// in "sportsbook.bet.accepted".
const TypePrefix = "sportsbook.bet."

// Fact is one thing that became of a command or of its bet.
type Fact struct {
	bet.Reference
	// Became is a verdict, [acceptance.Pending] among them, or
	// [settle.Settled] or [settle.Voided].
	Became receipt.Kind `json:"became"`
	// Code says why a command was rejected. Empty: it was not.
	Code acceptance.Code `json:"code,omitzero"`
	// Placed is the bet that was accepted. Nil: none was.
	Placed *bet.Bet `json:"placed,omitempty"`
	// Closing is how the bet was closed. Nil: it was not.
	Closing *bet.Closing `json:"closing,omitempty"`
}

// Key returns the idempotency key of the fact, which is that of the receipt that
// it tells of.
//
// Each fact has one of its own. That a command was referred is another fact than
// how it was then decided: under one key a consumer, which takes each key once,
// would take the first and call the second a conflict.
func (f *Fact) Key(tenant string) receipt.Key {
	switch f.Became {
	case acceptance.Pending:
		return acceptance.ReferralKey(tenant, f.Wallet, f.ID)
	case settle.Settled, settle.Voided:
		return acceptance.ClosingKey(tenant, f.Wallet, f.ID)
	default:
		return acceptance.PlacingKey(tenant, f.Wallet, f.ID)
	}
}

// Validate reports every field that breaks a rule.
func (f *Fact) Validate() error {
	var broken []error
	if f.Wallet == "" || f.ID == "" {
		broken = append(broken, errors.New("fact: wallet and bet must be set"))
	}
	switch f.Became {
	case acceptance.Accepted, acceptance.Rejected, acceptance.Requoted, acceptance.Pending, settle.Settled, settle.Voided:
	default:
		broken = append(broken, fmt.Errorf("fact: became must be a verdict, %q or %q, is %q", settle.Settled, settle.Voided, f.Became))
	}
	if (f.Code != "") != (f.Became == acceptance.Rejected) {
		broken = append(broken, errors.New("fact: code must be set where the command was rejected, and nowhere else"))
	}
	return errors.Join(append(broken, f.validatePlaced(), f.validateClosing())...)
}

func (f *Fact) validatePlaced() error {
	switch {
	case (f.Placed != nil) != (f.Became == acceptance.Accepted):
		return errors.New("fact: placed must be set where the command was accepted, and nowhere else")
	case f.Placed == nil:
		return nil
	case f.Placed.Reference != f.Reference:
		return fmt.Errorf("fact: placed must be the fact's own bet, is %v", f.Placed.Reference)
	case !f.Placed.Stake.IsSet():
		return errors.New("fact: placed.stake must be set")
	default:
		return nil
	}
}

func (f *Fact) validateClosing() error {
	switch {
	case (f.Closing != nil) != (f.Became == settle.Settled || f.Became == settle.Voided):
		return errors.New("fact: closing must be set where the bet was closed, and nowhere else")
	case f.Closing == nil:
		return nil
	case f.Closing.Reference != f.Reference:
		return fmt.Errorf("fact: closing must be of the fact's own bet, is of %v", f.Closing.Reference)
	case receipt.Kind(f.Closing.State) != f.Became:
		return fmt.Errorf("fact: closing.state must be %q, is %q", f.Became, f.Closing.State)
	case !f.Closing.Payout.IsSet():
		return errors.New("fact: closing.payout must be set")
	default:
		return nil
	}
}

// currentSchema changes its version with the meaning of a field.
func currentSchema() fingerprint.Schema {
	return fingerprint.Schema{Name: "sportsbook.bet", Version: 1}
}

// FingerprintUnder digests everything that a consumer may go by, which is all of
// it, under the schema of a digest that somebody else made. errors.Is(err,
// [receipt.ErrSchemaVersion]) is true for one that this build does not know: a
// newer build may.
func (f *Fact) FingerprintUnder(schema fingerprint.Schema) (fingerprint.Digest, error) {
	if schema != currentSchema() {
		return fingerprint.Digest{}, fmt.Errorf("fact: fingerprint %v: %w", schema, receipt.ErrSchemaVersion)
	}
	digest, err := fingerprint.Of(schema, f)
	if err != nil {
		return fingerprint.Digest{}, fmt.Errorf("fact: %w", err)
	}
	return digest, nil
}

// Event returns the fact as a new event of a tenant's house, to be committed
// with what it tells of. The wallet is its line.
func (f *Fact) Event(tenant string) (event.Event, error) {
	if err := f.Validate(); err != nil {
		return event.Event{}, err
	}
	digest, err := f.FingerprintUnder(currentSchema())
	if err != nil {
		return event.Event{}, err
	}
	data, err := json.Marshal(f)
	if err != nil {
		return event.Event{}, fmt.Errorf("fact: %w", err)
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/house", Type: TypePrefix + string(f.Became), Subject: f.ID,
		Data: data, Key: f.Key(tenant), OrderingKey: f.Wallet, Fingerprint: digest,
	}, nil
}

// FromEvent reads a fact and checks that the envelope says the same as its
// content: the type, the key, the line and the fingerprint, which is computed
// anew. errors.Is(err, [receipt.ErrSchemaVersion]) is true where this build
// cannot tell; every other error is the event's fault.
func FromEvent(e event.Event) (Fact, error) {
	var f Fact
	if err := json.Unmarshal(e.Data, &f); err != nil {
		return Fact{}, fmt.Errorf("fact: data: %w", err)
	}
	if err := f.Validate(); err != nil {
		return Fact{}, err
	}
	if want := TypePrefix + string(f.Became); e.Type != want {
		return Fact{}, fmt.Errorf("fact: the event's type is %q, its content's %q", e.Type, want)
	}
	if want := f.Key(e.Key.Tenant); e.Key != want {
		return Fact{}, fmt.Errorf("fact: the event's key is %s, its content's %s", e.Key, want)
	}
	if e.OrderingKey != f.Wallet {
		return Fact{}, fmt.Errorf("fact: the event's ordering key is %q, its content's %q", e.OrderingKey, f.Wallet)
	}
	digest, err := f.FingerprintUnder(e.Fingerprint.Schema())
	if err != nil {
		return Fact{}, err
	}
	if !e.Fingerprint.Equal(digest) {
		return Fact{}, fmt.Errorf("fact: the event's fingerprint is %s, its content's %s", e.Fingerprint, digest)
	}
	return f, nil
}
