package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// Lengths of a symmetric secret in bytes, as Standard Webhooks sets them.
const (
	MinSecret = 24
	MaxSecret = 64
)

// The texts that keys begin with, and the versions that signatures begin with.
const (
	symmetricPrefix = "whsec_"
	privatePrefix   = "whsk_"
	publicPrefix    = "whpk_"

	symmetricVersion  = "v1"
	asymmetricVersion = "v1a"
)

// SignatureKey is a key of Standard Webhooks: a shared secret (HMAC-SHA256), or
// one half of an Ed25519 pair. However it is printed, logged or encoded, it
// shows no more than its kind. The zero SignatureKey is none.
type SignatureKey struct {
	// A function, because fmt follows the unexported fields of a struct that
	// holds a key without asking the key's methods, and pointers in them at
	// some verbs. What a function holds it cannot see.
	material func() *material
}

// material is what a key consists of. One of secret and public is set.
type material struct {
	secret  []byte
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil: the key only verifies
}

var (
	_ fmt.Formatter  = SignatureKey{}
	_ fmt.Stringer   = SignatureKey{}
	_ slog.LogValuer = SignatureKey{}
)

// ParseSignatureKey reads a key in one of the forms of Standard Webhooks, whose
// rest is base64 (RFC 4648, section 4, with padding):
//
//	whsec_  [MinSecret] to [MaxSecret] random bytes: signs and verifies
//	whsk_   an Ed25519 private key, 32 bytes (seed) or 64 (seed, public key): signs and verifies
//	whpk_   an Ed25519 public key, 32 bytes: verifies
//
// No error holds a part of the text.
func ParseSignatureKey(text string) (SignatureKey, error) {
	prefix, encoded, found := strings.Cut(text, "_")
	prefix += "_"
	if !found || prefix != symmetricPrefix && prefix != privatePrefix && prefix != publicPrefix {
		return SignatureKey{}, fmt.Errorf("webhook: key must begin with %s, %s or %s", symmetricPrefix, privatePrefix, publicPrefix)
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // The decoder skips line ends.
		return SignatureKey{}, fmt.Errorf("webhook: key %s… must be base64 with padding behind its prefix", prefix)
	}
	switch prefix {
	case symmetricPrefix:
		return symmetricKey(decoded)
	case privatePrefix:
		return privateKey(decoded)
	default:
		return publicKey(decoded)
	}
}

func symmetricKey(secret []byte) (SignatureKey, error) {
	if len(secret) < MinSecret || len(secret) > MaxSecret {
		return SignatureKey{}, fmt.Errorf("webhook: key %s… must have %d to %d bytes, has %d", symmetricPrefix, MinSecret, MaxSecret, len(secret))
	}
	return keyOf(material{secret: secret}), nil
}

func privateKey(decoded []byte) (SignatureKey, error) {
	if len(decoded) != ed25519.SeedSize && len(decoded) != ed25519.PrivateKeySize {
		return SignatureKey{}, fmt.Errorf("webhook: key %s… must have %d or %d bytes, has %d",
			privatePrefix, ed25519.SeedSize, ed25519.PrivateKeySize, len(decoded))
	}
	private := ed25519.NewKeyFromSeed(decoded[:ed25519.SeedSize])
	if len(decoded) == ed25519.PrivateKeySize && !private.Equal(ed25519.PrivateKey(decoded)) {
		return SignatureKey{}, fmt.Errorf("webhook: key %s… has a public half that is not its private half's", privatePrefix)
	}
	return keyOf(material{private: private, public: publicHalf(private)}), nil
}

func publicHalf(private ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(private[ed25519.SeedSize:])
}

func publicKey(decoded []byte) (SignatureKey, error) {
	if len(decoded) != ed25519.PublicKeySize {
		return SignatureKey{}, fmt.Errorf("webhook: key %s… must have %d bytes, has %d", publicPrefix, ed25519.PublicKeySize, len(decoded))
	}
	return keyOf(material{public: decoded}), nil
}

func keyOf(m material) SignatureKey { return SignatureKey{func() *material { return &m }} }

// IsZero reports whether there is no key.
func (k SignatureKey) IsZero() bool { return k.material == nil }

// Equal reports whether signatures of one key verify under the other.
func (k SignatureKey) Equal(other SignatureKey) bool {
	if k.IsZero() || other.IsZero() {
		return k.IsZero() && other.IsZero()
	}
	return k.symmetric() == other.symmetric() &&
		hmac.Equal(k.material().secret, other.material().secret) && hmac.Equal(k.material().public, other.material().public)
}

// String returns the kind of the key and nothing of its content.
func (k SignatureKey) String() string {
	switch {
	case k.IsZero():
		return "no key"
	case k.symmetric():
		return symmetricPrefix + "…"
	case k.signs():
		return privatePrefix + "…"
	default:
		return publicPrefix + "…"
	}
}

// Format writes [SignatureKey.String], whatever the verb.
func (k SignatureKey) Format(state fmt.State, _ rune) { fmt.Fprint(state, k.String()) }

// LogValue returns [SignatureKey.String].
func (k SignatureKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

func (k SignatureKey) symmetric() bool { return k.material().secret != nil }

func (k SignatureKey) signs() bool { return k.symmetric() || k.material().private != nil }

// sign returns the signature of content, with its version. The key must be one
// that signs.
func (k SignatureKey) sign(content []byte) string {
	if k.symmetric() {
		return symmetricVersion + "," + base64.StdEncoding.EncodeToString(k.mac(content))
	}
	return asymmetricVersion + "," + base64.StdEncoding.EncodeToString(ed25519.Sign(k.material().private, content))
}

func (k SignatureKey) mac(content []byte) []byte {
	mac := hmac.New(sha256.New, k.material().secret)
	mac.Write(content) // never fails, see hash.Hash
	return mac.Sum(nil)
}

// verifies reports whether one of the signatures is the key's over content. A
// secret's comparison takes the same time wherever two differ.
func (k SignatureKey) verifies(content []byte, signatures []claimedSignature) bool {
	if k.symmetric() {
		mac := k.mac(content)
		for _, claimed := range signatures {
			if claimed.version == symmetricVersion && hmac.Equal(mac, claimed.bytes) {
				return true
			}
		}
		return false
	}
	for _, claimed := range signatures {
		if claimed.version == asymmetricVersion && ed25519.Verify(k.material().public, content, claimed.bytes) {
			return true
		}
	}
	return false
}
