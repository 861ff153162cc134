package acceptance

import (
	"time"

	"github.com/settleonce/settleonce/fingerprint"
)

// Opinion is what a risk service thinks of a command.
type Opinion string

// The opinions. There is no default.
const (
	RiskApprove Opinion = "approve"
	RiskRefuse  Opinion = "refuse"
	// RiskRefer leaves it to a trader, see [Config.Referral].
	RiskRefer Opinion = "refer"
)

// Evidence is a risk service's opinion on one command.
type Evidence struct {
	// ID identifies the opinion in the service's books, Version the model or
	// rule set that gave it. Both must be set, with at most
	// [MaxText] bytes of UTF-8.
	ID      string
	Version string
	// Fingerprint is that of the command which was assessed.
	Fingerprint fingerprint.Digest
	// IssuedAt and ExpiresAt bound its validity. They are judged by the
	// database's clock; at ExpiresAt it has expired.
	IssuedAt  time.Time
	ExpiresAt time.Time
	Opinion   Opinion
}

// EvidenceReference names the evidence behind a decision.
type EvidenceReference struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}
