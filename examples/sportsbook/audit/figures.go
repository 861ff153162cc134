package audit

import (
	"encoding/json"
	"fmt"
)

// Figures is what the audit comes to. Its JSON form is the program's last line
// of output under -json.
type Figures struct {
	// Store is where the receipts are: "postgresql" or "memory".
	Store string `json:"store"`
	// Requests is how many commands clients sent, however often each.
	Requests int `json:"requests"`
	// Accepted, Rejected and Requoted count commands by their receipts.
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Requoted int `json:"requoted"`
	// Pending counts the commands that were referred to a trader, whatever
	// came of them.
	Pending int `json:"pending"`
	// Replays counts the answers that told a client again what it had been
	// told before, Conflicts those that refused a contradiction.
	Replays   int `json:"replays"`
	Conflicts int `json:"conflicts"`
	// Settled and Voided count closed bets by their receipts.
	Settled int `json:"settled"`
	Voided  int `json:"voided"`
	// Events counts the events that were committed, as far as the outbox and
	// the projection still know of them.
	Events int `json:"events"`
	// Published counts the decisions and closings whose event has left the
	// outbox, and Projected those whose event has a receipt of the
	// projection's. Both are zero where nothing relays events.
	Published int `json:"published"`
	Projected int `json:"projected"`
	// Faults says how often the effect of each requested fault was observed.
	Faults map[string]int `json:"faults"`
	// Lost counts commands of which a client was told what is not kept, those
	// of which something else is kept than was sent, and accepted bets that
	// lack one of their effects.
	Lost int `json:"lost"`
	// Doubled counts commands with an effect more than once or without a
	// receipt for it, and those that were answered in two ways.
	Doubled int `json:"doubled"`
	// Unbalanced counts transactions, wallets and stripes whose sums are
	// wrong or have been below zero.
	Unbalanced int `json:"unbalanced"`
	// Seconds is how long the program ran.
	Seconds float64 `json:"seconds"`
}

// Line returns the figures as one line of JSON.
func (f Figures) Line() (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	return string(text), nil
}
