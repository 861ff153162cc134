package house

import (
	"encoding/json"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// Types of the events that the house emits: this and the verdict, or what
// became of the bet, as in "sportsbook.bet.accepted".
const eventType = "sportsbook.bet."

// Announcement is the data of an event about a decision.
type Announcement struct {
	bet.Reference
	Verdict acceptance.Verdict `json:"verdict"`
	Code    acceptance.Code    `json:"code,omitempty"`
	// Placed is the bet, where it was accepted.
	Placed *bet.Bet `json:"placed,omitempty"`
}

// announce tells the world of a decision.
func announce(c *acceptance.Command, d *Decision) ([]event.Event, error) {
	announcement := Announcement{
		Reference: bet.Reference{Wallet: c.Wallet, ID: c.ID},
		Verdict:   d.Verdict,
		Code:      d.Code,
	}
	if d.Verdict == acceptance.Accepted {
		announcement.Placed = &d.Bet
	}
	e, err := newEvent(c.Key(), string(d.Verdict), announcement)
	if err != nil {
		return nil, err
	}
	return []event.Event{e}, nil
}

// newEvent makes an event about a bet. A wallet's events are delivered in the
// order of their commits.
func newEvent(key receipt.Key, what string, content any) (event.Event, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return event.Event{}, fmt.Errorf("house: event: %w", err)
	}
	digest, err := fingerprint.Of(fingerprint.Schema{Name: eventType + what, Version: 1}, content)
	if err != nil {
		return event.Event{}, fmt.Errorf("house: event: %w", err)
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/house", Type: eventType + what, Subject: key.ID,
		Data: data, Key: key, OrderingKey: key.Scope, Fingerprint: digest,
	}, nil
}
