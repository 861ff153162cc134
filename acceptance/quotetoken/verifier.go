package quotetoken

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
)

const defaultSkew = 2 * time.Second

// PublicKey is a key of one owner of market state.
type PublicKey struct {
	// ID is the signer's KeyID. An owner may have several keys, so that one can
	// replace another while both work.
	ID string
	// Issuer names the owner, as the tokens of this key must.
	Issuer string
	// Tenants are those in whose books the owner may quote, one or more. A
	// token of this key for another tenant is refused (I10).
	Tenants []string
	// Key checks the signatures.
	Key ed25519.PublicKey
}

// VerifierConfig says which tokens are taken.
type VerifierConfig struct {
	// Keys has one key or more, each with an id of its own.
	Keys []PublicKey
	// MaxStaleness is how old a statement may be, whatever its owner promises;
	// the lesser counts. It must be set: it is how long a suspension may go
	// unseen.
	MaxStaleness time.Duration
	// Skew is how far the clocks of an owner and of the database may be apart,
	// and so how much longer than it states an owner stands by a token. A token
	// from further in the future is refused. Zero: 2 seconds.
	Skew time.Duration
}

func (c *VerifierConfig) validate() error {
	var broken []string
	if len(c.Keys) == 0 {
		broken = append(broken, "Keys must not be empty")
	}
	ids := make(map[string]bool)
	for i, key := range c.Keys {
		field := func(name string) string { return fmt.Sprintf("Keys[%d].%s", i, name) }
		broken = append(broken, checkKey(field("ID"), key.ID, field("Issuer"), key.Issuer)...)
		if ids[key.ID] {
			broken = append(broken, fmt.Sprintf("%s %q stands twice", field("ID"), key.ID))
		}
		ids[key.ID] = true
		if len(key.Tenants) == 0 {
			broken = append(broken, field("Tenants")+" must not be empty")
		}
		for j, tenant := range key.Tenants {
			if rule := textRule(tenant, 1, event.MaxKeyPart); rule != "" {
				broken = append(broken, fmt.Sprintf("%s[%d] %s", field("Tenants"), j, rule))
			}
		}
		if len(key.Key) != ed25519.PublicKeySize {
			broken = append(broken, fmt.Sprintf("%s must have %d bytes, has %d", field("Key"), ed25519.PublicKeySize, len(key.Key)))
		}
	}
	if c.MaxStaleness <= 0 {
		broken = append(broken, fmt.Sprintf("MaxStaleness must be positive, is %v", c.MaxStaleness))
	}
	if c.Skew < 0 {
		broken = append(broken, fmt.Sprintf("Skew must not be negative, is %v", c.Skew))
	}
	return configError("VerifierConfig", broken)
}

// Verifier checks tokens, in the transaction that places a bet. It has no clock
// of its own, keeps nothing of what it is given, and may be used from any
// goroutine.
type Verifier struct {
	keys         map[string]PublicKey
	maxStaleness time.Duration
	skew         time.Duration
}

// NewVerifier returns a verifier, or an error that names every wrong field.
func NewVerifier(config VerifierConfig) (*Verifier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{keys: make(map[string]PublicKey), maxStaleness: config.MaxStaleness, skew: config.Skew}
	for _, key := range config.Keys {
		key.Tenants, key.Key = slices.Clone(key.Tenants), slices.Clone(key.Key)
		v.keys[key.ID] = key
	}
	if v.skew == 0 {
		v.skew = defaultSkew
	}
	return v, nil
}

// Verify returns the quote that the token proves for the leg in a book of the
// tenant, at the database's time now. The leg's own version and odds are not
// looked at: they are for the runner to hold against the quote, and so are the
// market's status and cut-off.
//
// errors.Is(err, [ErrInvalid]), [ErrExpired] or [ErrStale] is true where the
// token does not hold, and [Refusal] gives the code for it. Every other error is
// the caller's mistake, an empty tenant or a zero now, and says nothing of the
// token. No error holds more of the token than names of its parts.
func (v *Verifier) Verify(proof string, leg acceptance.Leg, tenant string, now time.Time) (acceptance.Quote, error) {
	if tenant == "" || now.IsZero() {
		return acceptance.Quote{}, errors.New("quotetoken: Verify must be given a tenant and the database's time")
	}
	claims, err := v.proved(proof)
	if err == nil {
		err = claims.concern(&leg, tenant)
	}
	if err != nil {
		return acceptance.Quote{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := v.holds(claims, now); err != nil {
		return acceptance.Quote{}, err
	}
	return claims.quote(), nil
}

// proved returns the claims that a known key has signed and may sign.
func (v *Verifier) proved(proof string) (*Claims, error) {
	token, err := open(proof)
	if err != nil {
		return nil, err
	}
	key, known := v.keys[token.keyID]
	if !known {
		return nil, errors.New("the key id is not known")
	}
	if !ed25519.Verify(key.Key, []byte(signingDomain+token.signed), token.signature) {
		return nil, fmt.Errorf("the signature does not fit under key %q", key.ID)
	}
	stated, err := decode(token.payload)
	switch {
	case err != nil:
		return nil, err
	case stated.issuer != key.Issuer:
		return nil, fmt.Errorf("the issuer is not that of key %q", key.ID)
	case !slices.Contains(key.Tenants, stated.claims.Tenant):
		return nil, fmt.Errorf("key %q is not for the token's tenant", key.ID)
	}
	return &stated.claims, nil
}

// concern reports a claim that names something else than the leg and the tenant.
func (c *Claims) concern(leg *acceptance.Leg, tenant string) error {
	for _, name := range []struct{ field, stated, asked string }{
		{"tenant", c.Tenant, tenant},
		{"event", c.Event, leg.Event},
		{"market", c.Market, leg.Market},
		{"selection", c.Selection, leg.Selection},
		{"line", c.Line, leg.Line},
	} {
		if name.stated != name.asked {
			return fmt.Errorf("the token is for another %s", name.field)
		}
	}
	return nil
}

// holds judges the claims by the database's clock. The package comment proves
// what follows from these comparisons; do not turn one without it.
func (v *Verifier) holds(c *Claims, now time.Time) error {
	if ahead := c.IssuedAt.Sub(now); ahead > v.skew {
		return fmt.Errorf("%w: it was issued %v in the future, and clocks may be %v apart", ErrInvalid, ahead, v.skew)
	}
	if !now.Before(c.ExpiresAt) {
		return fmt.Errorf("%w %v ago", ErrExpired, now.Sub(c.ExpiresAt))
	}
	if age, most := now.Sub(c.IssuedAt), min(c.MaxStaleness, v.maxStaleness); age >= most {
		return fmt.Errorf("%w: it is %v old, and must be younger than %v", ErrStale, age, most)
	}
	return nil
}
