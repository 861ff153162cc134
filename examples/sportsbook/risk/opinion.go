package risk

import (
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
)

// OpinionsPath and FaultsPath are the service's two resources.
const (
	OpinionsPath = "/opinions"
	FaultsPath   = "/faults"
)

// mediaType is that of every body but a problem's.
const mediaType = "application/json"

// maxBody is the greatest length in bytes of a request and of an answer. An
// assessment of the greatest command has some 35 KiB.
const maxBody = 64 << 10

// Assessment is the body of POST /opinions: what the service may know of a
// command.
type Assessment struct {
	// Fingerprint is the command's. The opinion is about what it covers.
	Fingerprint fingerprint.Digest `json:"fingerprint"`
	Tenant      string             `json:"tenant"`
	Wallet      string             `json:"wallet"`
	CommandID   string             `json:"command_id"`
	// Stake is the command's, in total or for each line.
	Stake      money.Amount  `json:"stake"`
	Selections []AssessedLeg `json:"selections"`
}

// AssessedLeg is one selection that a command bets on.
type AssessedLeg struct {
	Event     string `json:"event"`
	Market    string `json:"market"`
	Selection string `json:"selection"`
}

// assessmentOf leaves out what is not the service's business, above all Meta.
func assessmentOf(c *acceptance.Command, sum fingerprint.Digest) Assessment {
	assessment := Assessment{
		Fingerprint: sum, Tenant: c.Tenant, Wallet: c.Wallet, CommandID: c.ID, Stake: c.Stake,
		Selections: make([]AssessedLeg, len(c.Legs)),
	}
	for i, leg := range c.Legs {
		assessment.Selections[i] = AssessedLeg{leg.Event, leg.Market, leg.Selection}
	}
	return assessment
}

func (a *Assessment) validate() error {
	switch {
	case a.Fingerprint.IsZero():
		return errors.New("fingerprint must be set")
	case a.Tenant == "" || a.Wallet == "" || a.CommandID == "":
		return errors.New("tenant, wallet and command_id must be set")
	case len(a.Selections) == 0:
		return errors.New("selections must hold one at least")
	}
	return nil
}

// Opinion is the answer to POST /opinions.
type Opinion struct {
	ID          string             `json:"id"`
	Version     string             `json:"version"`
	Fingerprint fingerprint.Digest `json:"fingerprint"`
	IssuedAt    time.Time          `json:"issued_at"`
	ExpiresAt   time.Time          `json:"expires_at"`
	Opinion     acceptance.Opinion `json:"opinion"`
}

// validate reports the member that is missing or can mean nothing. Whether the
// opinion holds is the runner's to judge.
func (o *Opinion) validate() error {
	switch {
	case o.ID == "" || len(o.ID) > acceptance.MaxText:
		return fmt.Errorf("id must have 1 to %d bytes, has %d", acceptance.MaxText, len(o.ID))
	case o.Version == "" || len(o.Version) > acceptance.MaxText:
		return fmt.Errorf("version must have 1 to %d bytes, has %d", acceptance.MaxText, len(o.Version))
	case o.Fingerprint.IsZero():
		return errors.New("fingerprint must be set")
	case o.IssuedAt.IsZero() || o.ExpiresAt.IsZero():
		return errors.New("issued_at and expires_at must be set")
	}
	switch o.Opinion {
	case acceptance.RiskApprove, acceptance.RiskRefuse, acceptance.RiskRefer:
		return nil
	default:
		return errors.New("opinion must be approve, refuse or refer")
	}
}

func (o *Opinion) evidence() acceptance.Evidence {
	return acceptance.Evidence{
		ID: o.ID, Version: o.Version, Fingerprint: o.Fingerprint,
		IssuedAt: o.IssuedAt, ExpiresAt: o.ExpiresAt, Opinion: o.Opinion,
	}
}
