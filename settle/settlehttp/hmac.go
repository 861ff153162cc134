package settlehttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// SignatureHeader is the header that carries a signature of [NewHMACSign]:
//
//	v1 key-id unix-seconds hex(HMAC-SHA256(secret, "v1\nkey-id\nunix-seconds\n" + body))
//
// with one space between the parts.
const SignatureHeader = "Settleonce-Signature"

const (
	signatureVersion = "v1"
	// MinHMACSecret is the least length of a secret in bytes.
	MinHMACSecret    = 32
	maxHMACKeyID     = 64
	defaultTolerance = 5 * time.Minute
)

// ErrSignature is true for every error of a hook of [NewHMACAuthenticate].
var ErrSignature = errors.New("settlehttp: signature")

// HMACSignConfig says how a sender signs.
type HMACSignConfig struct {
	// KeyID tells the receiver which secret to check with: 1 to 64 bytes of
	// a-z, 0-9, '.', '-' and '_'. It must be set.
	KeyID string
	// Secret is shared with the receiver, [MinHMACSecret] random bytes or
	// more. It must be set.
	Secret []byte
	// Now is the clock of the signature. Nil is time.Now.
	Now func() time.Time
}

// NewHMACSign returns a hook for SenderConfig.Sign, or an error that names
// every wrong field.
func NewHMACSign(config HMACSignConfig) (func(r *http.Request, body []byte) error, error) {
	if err := configError("HMACSignConfig", checkHMACKey("KeyID", config.KeyID, "Secret", config.Secret)); err != nil {
		return nil, err
	}
	now, secret := config.Now, slices.Clone(config.Secret)
	if now == nil {
		now = time.Now
	}
	return func(r *http.Request, body []byte) error {
		seconds := strconv.FormatInt(now().Unix(), 10)
		mac := hex.EncodeToString(signature(secret, config.KeyID, seconds, body))
		r.Header.Set(SignatureHeader, strings.Join([]string{signatureVersion, config.KeyID, seconds, mac}, " "))
		return nil
	}, nil
}

// HMACKey is a secret of one tenant. A signature covers neither the URL nor the
// receiver: give two receivers no secret in common, or one could pass a request
// on to the other.
type HMACKey struct {
	// ID names the key: 1 to 64 bytes of a-z, 0-9, '.', '-' and '_'. A tenant
	// may have several keys, so that one can replace another while both
	// work.
	ID string
	// Tenant is whom a signature with the key stands for.
	Tenant string
	// Secret has [MinHMACSecret] random bytes or more.
	Secret []byte
}

// HMACAuthenticateConfig says which signatures a receiver takes.
type HMACAuthenticateConfig struct {
	// Keys has one key or more, each with an id of its own.
	Keys []HMACKey
	// Tolerance is how far a signature's clock may be from the receiver's,
	// on either side. It bounds how long somebody who has recorded a request
	// can send it again to see its receipt; more harm it can't do, since the
	// same event takes effect once. Zero is 5 minutes.
	Tolerance time.Duration
	// Now is the receiver's clock. Nil is time.Now.
	Now func() time.Time
}

func (c *HMACAuthenticateConfig) validate() error {
	var broken []string
	if len(c.Keys) == 0 {
		broken = append(broken, "Keys must not be empty")
	}
	ids := make(map[string]bool)
	for i, key := range c.Keys {
		prefix := fmt.Sprintf("Keys[%d].", i)
		broken = append(broken, checkHMACKey(prefix+"ID", key.ID, prefix+"Secret", key.Secret)...)
		if key.Tenant == "" || len(key.Tenant) > event.MaxKeyPart {
			broken = append(broken, fmt.Sprintf("%sTenant must have 1 to %d bytes, has %d", prefix, event.MaxKeyPart, len(key.Tenant)))
		}
		if ids[key.ID] {
			broken = append(broken, fmt.Sprintf("%sID %q stands twice", prefix, key.ID))
		}
		ids[key.ID] = true
	}
	if c.Tolerance < 0 {
		broken = append(broken, fmt.Sprintf("Tolerance must not be negative, is %v", c.Tolerance))
	}
	return configError("HMACAuthenticateConfig", broken)
}

// checkHMACKey reports the rules that a key breaks. It never shows a secret.
func checkHMACKey(idField, id, secretField string, secret []byte) (broken []string) {
	if id == "" || len(id) > maxHMACKeyID || strings.ContainsFunc(id, notInKeyID) {
		broken = append(broken, fmt.Sprintf("%s must have 1 to %d bytes of a-z, 0-9, '.', '-' and '_'", idField, maxHMACKeyID))
	}
	if len(secret) < MinHMACSecret {
		broken = append(broken, fmt.Sprintf("%s must have %d bytes or more, has %d", secretField, MinHMACSecret, len(secret)))
	}
	return broken
}

func notInKeyID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}

// NewHMACAuthenticate returns a hook for HandlerConfig.Authenticate, or an
// error that names every wrong field. The hook returns the tenant of the key
// that signed the body.
func NewHMACAuthenticate(config HMACAuthenticateConfig) (func(r *http.Request, body []byte) (tenant string, err error), error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	check := &hmacCheck{keys: make(map[string]HMACKey), tolerance: config.Tolerance, now: config.Now}
	for _, key := range config.Keys {
		key.Secret = slices.Clone(key.Secret)
		check.keys[key.ID] = key
	}
	if check.tolerance == 0 {
		check.tolerance = defaultTolerance
	}
	if check.now == nil {
		check.now = time.Now
	}
	return check.tenant, nil
}

type hmacCheck struct {
	keys      map[string]HMACKey
	tolerance time.Duration
	now       func() time.Time
}

// tenant returns whom the request's one signature stands for.
func (c *hmacCheck) tenant(r *http.Request, body []byte) (string, error) {
	values := r.Header.Values(SignatureHeader)
	if len(values) != 1 {
		return "", fmt.Errorf("%w: header %s must stand once, stands %d times", ErrSignature, SignatureHeader, len(values))
	}
	parts := strings.Split(values[0], " ")
	if len(parts) != 4 || parts[0] != signatureVersion {
		return "", fmt.Errorf("%w: header %s must have the form %s key-id unix-seconds hex", ErrSignature, SignatureHeader, signatureVersion)
	}
	id, seconds := parts[1], parts[2]
	key, known := c.keys[id]
	if !known {
		return "", fmt.Errorf("%w: key id %s is not known", ErrSignature, quote(id))
	}
	claimed, err := hex.DecodeString(parts[3])
	if err != nil || !hmac.Equal(claimed, signature(key.Secret, id, seconds, body)) {
		return "", fmt.Errorf("%w: it does not fit the body under key %q", ErrSignature, id)
	}
	signed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: its time is no number of seconds", ErrSignature)
	}
	if off := c.now().Sub(time.Unix(signed, 0)).Abs(); off > c.tolerance {
		return "", fmt.Errorf("%w: its time is %v off, at most %v is allowed", ErrSignature, off, c.tolerance)
	}
	return key.Tenant, nil
}

func signature(secret []byte, id, seconds string, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range []string{signatureVersion, id, seconds} {
		mac.Write([]byte(part)) // never fails, see hash.Hash
		mac.Write([]byte{'\n'})
	}
	mac.Write(body)
	return mac.Sum(nil)
}
