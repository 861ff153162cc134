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
	// Matches is how many the battle node finished.
	Matches int `json:"matches"`
	// Deliveries is how many results arrived at a lobby, and Replays how
	// many of them got the receipt of an earlier one.
	Deliveries int `json:"deliveries"`
	Replays    int `json:"replays"`
	// Settled and Aborted count receipts by their outcome.
	Settled int `json:"settled"`
	Aborted int `json:"aborted"`
	// Suspect and Draws count matches.
	Suspect int `json:"suspect"`
	Draws   int `json:"draws"`
	// ReplayMissing counts matches without a replay file.
	ReplayMissing int `json:"replay_missing"`
	// ReleasedEarly counts rooms whose players were freed before their match
	// had settled, on whoever's word.
	ReleasedEarly int `json:"released_early"`
	// Conflicts counts records that contradict their key's receipt and were
	// set aside for it.
	Conflicts int `json:"conflicts"`
	// Faults says how often the effect of each requested fault was observed.
	Faults map[string]int `json:"faults"`
	// Lost counts finished matches that are not owed any more and do not
	// have a receipt and every effect.
	Lost int `json:"lost"`
	// Doubled counts matches with an effect more than once, matches that
	// nobody finished, and players whose rating is not the sum of their
	// changes.
	Doubled int `json:"doubled"`
	// OutboxLeft counts records that are owed still.
	OutboxLeft int `json:"outbox_left"`
	// Quarantined counts files that were set aside.
	Quarantined int `json:"quarantined"`
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
