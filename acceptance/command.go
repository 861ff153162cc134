package acceptance

import (
	"encoding/json"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
)

// Command asks for one bet. Whoever sends it chooses its ID, and sends the same
// command with the same ID until it has an answer.
//
// Everything in it but Meta and [Leg.Proof] changes the effect and is
// fingerprinted: the same ID with anything else changed is a conflict.
//
// Texts are UTF-8 without control characters, in Meta UTF-8 of any kind.
// [Command.Validate] has all rules. The methods may be called from any
// goroutine, while nobody changes the command.
type Command struct {
	// Tenant is whose business it is. Acting for one tenant never touches
	// another's keys (I10).
	Tenant string `json:"tenant"`
	// Wallet pays. An ID is unique within tenant and wallet: under another
	// wallet it is another key. Tenant and Wallet have 1 to 128 bytes.
	Wallet string `json:"wallet"`
	// ID is the idempotency key. It must never be used for a second bet of
	// the wallet; [receipt.NewID] makes such ids. It has 1 to 256 bytes.
	ID string `json:"id"`

	// Legs are what is bet on, 1 to [MaxLegs], no two on one selection.
	Legs []Leg `json:"legs"`
	// Type says how the legs make lines.
	Type BetType `json:"type"`
	// Stake is what is paid, in total or for each line as StakeMode says. It
	// is greater than zero. A [money.Registry] checks the currency later, as
	// one of the [Rules].
	Stake money.Amount `json:"stake"`
	// StakeMode says what Stake counts for. Empty is [StakeTotal].
	StakeMode StakeMode `json:"stake_mode,omitempty"`
	// OddsChange says which other odds the player takes without being asked.
	// Its zero value takes none.
	OddsChange OddsChange `json:"odds_change,omitzero"`
	// Funding names the source of the stake, such as a bonus. Empty is the
	// wallet's cash.
	Funding string `json:"funding,omitempty"`
	// Consents is the ID of the command of this wallet that was answered with
	// a requote to which this one consents, and not this one's own. Empty:
	// this is no consent.
	Consents string `json:"consents,omitempty"`
	// Extra is one JSON object with whatever else changes the effect in the
	// caller's house, such as each-way terms. It is fingerprinted by what it
	// means, not by how it is written, so it must have one meaning: a member
	// that stands twice is an error. Nil or empty: nothing else does.
	Extra json.RawMessage `json:"extra,omitempty"`

	// Meta rides along and changes nothing: trace ids, client clocks, session
	// tokens, addresses, device, language, display format. It is not
	// fingerprinted and never stored.
	Meta map[string]string `json:"meta,omitempty" fingerprint:"-"`
}

// Limits that hold whatever the Config says. A later release may raise them and
// never lowers them: a stored command must pass.
const (
	// MaxLegs is the greatest number of legs.
	MaxLegs = 64
	// MaxText is the greatest length in bytes of an event, a market, a
	// selection, a line, a quote version and a funding source.
	MaxText = 128
	// MaxProof is the greatest length in bytes of a leg's proof.
	MaxProof = 4096
	// MaxExtra is the greatest length in bytes of Extra.
	MaxExtra = 16 << 10
	// MaxMeta is the greatest number of entries of Meta, and MaxMetaText the
	// greatest length in bytes of each key and value.
	MaxMeta     = 64
	MaxMetaText = 1024
	// MaxLines is the greatest number of lines of one bet.
	MaxLines = 1 << 20
)

// Key returns the key under which the command is decided.
func (c *Command) Key() receipt.Key { return PlacingKey(c.Tenant, c.Wallet, c.ID) }
