package quotetoken

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
)

// SignerConfig says how an owner of market state signs.
type SignerConfig struct {
	// KeyID tells verifiers which public key to check with: 1 to 64 bytes of
	// a-z, 0-9, '-' and '_'. It must be set.
	KeyID string
	// Issuer names the owner, as [PublicKey.Issuer] does: 1 to
	// [acceptance.MaxText] bytes of UTF-8 without control characters. It must
	// be set.
	Issuer string
	// PrivateKey signs. It must be set, and be used for nothing else.
	PrivateKey ed25519.PrivateKey
}

func (c *SignerConfig) validate() error {
	broken := checkKey("KeyID", c.KeyID, "Issuer", c.Issuer)
	if len(c.PrivateKey) != ed25519.PrivateKeySize {
		broken = append(broken, fmt.Sprintf("PrivateKey must have %d bytes, has %d", ed25519.PrivateKeySize, len(c.PrivateKey)))
	} else if !bytes.Equal(ed25519.NewKeyFromSeed(c.PrivateKey.Seed()), c.PrivateKey) {
		broken = append(broken, "PrivateKey must end in the public key of its seed")
	}
	return configError("SignerConfig", broken)
}

// checkKey reports the rules that a key's names break.
func checkKey(idField, id, issuerField, issuer string) (broken []string) {
	if !validKeyID(id) {
		broken = append(broken, fmt.Sprintf("%s must have 1 to %d bytes of a-z, 0-9, '-' and '_'", idField, maxKeyID))
	}
	if rule := textRule(issuer, 1, acceptance.MaxText); rule != "" {
		broken = append(broken, issuerField+" "+rule)
	}
	return broken
}

// Signer makes tokens, in the system that owns the market state. It may be used
// from any goroutine.
type Signer struct {
	keyID, issuer string
	key           ed25519.PrivateKey
}

// NewSigner returns a signer, or an error that names every wrong field.
func NewSigner(config SignerConfig) (*Signer, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Signer{keyID: config.KeyID, issuer: config.Issuer, key: slices.Clone(config.PrivateKey)}, nil
}

// Sign returns the token that states the claims: a promise, see the package
// comment. The same claims always give the same token. errors.Is(err,
// [ErrClaims]) is true for every error, which names every wrong field.
func (s *Signer) Sign(claims Claims) (string, error) {
	if broken := claims.brokenRules(); len(broken) > 0 {
		return "", fmt.Errorf("%w: %s", ErrClaims, strings.Join(broken, "; "))
	}
	stated := statement{issuer: s.issuer, claims: claims}
	signed := signedText(s.keyID, stated.encode())
	return seal(signed, ed25519.Sign(s.key, []byte(signingDomain+signed))), nil
}
