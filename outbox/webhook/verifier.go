package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

const defaultTolerance = 5 * time.Minute

// ErrSignature is true for every error of [Verifier.Authenticate].
var ErrSignature = errors.New("webhook: signature")

// VerifierKey is a key whose signatures a receiver takes.
type VerifierKey struct {
	// Tenant is whom a signature under the key stands for. It must be set.
	Tenant string
	// Key is the tenant's. A tenant may have several, so that one can
	// replace another while both work; no two tenants have one in common.
	Key SignatureKey
}

// VerifierConfig says which signatures a [Verifier] takes.
type VerifierConfig struct {
	// Keys has one key or more.
	Keys []VerifierKey
	// Tolerance is how far a request's timestamp may be from the receiver's
	// clock, on either side. It bounds how long somebody who has recorded a
	// request can send it again to see its receipt; more harm it can't do,
	// since the same event takes effect once. Zero is 5 minutes.
	Tolerance time.Duration
	// Now is the receiver's clock. Nil is time.Now.
	Now func() time.Time
}

func (c *VerifierConfig) validate() error {
	var broken []string
	if len(c.Keys) == 0 {
		broken = append(broken, "Keys must not be empty")
	}
	for i, key := range c.Keys {
		if key.Tenant == "" || len(key.Tenant) > event.MaxKeyPart {
			broken = append(broken, fmt.Sprintf("Keys[%d].Tenant must have 1 to %d bytes, has %d", i, event.MaxKeyPart, len(key.Tenant)))
		}
		if key.Key.IsZero() {
			broken = append(broken, fmt.Sprintf("Keys[%d].Key must be set", i))
			continue
		}
		if earlier := slices.IndexFunc(c.Keys[:i], func(other VerifierKey) bool { return other.Key.Equal(key.Key) }); earlier >= 0 {
			broken = append(broken, fmt.Sprintf("Keys[%d].Key must not be that of Keys[%d]", i, earlier))
		}
	}
	if c.Tolerance < 0 {
		broken = append(broken, fmt.Sprintf("Tolerance must not be negative, is %v", c.Tolerance))
	}
	return configError("VerifierConfig", broken)
}

// Verifier checks the signatures of Standard Webhooks that a [Sender], or any
// other sender that follows them, gives its requests.
//
// A signature covers the webhook-id, the timestamp and the body, and no other
// header: in binary mode nobody vouches for an event's attributes, its key
// among them. Take structured events where attributes matter.
//
// Safe for concurrent use.
type Verifier struct {
	keys      []VerifierKey
	tolerance time.Duration
	now       func() time.Time
}

// NewVerifier returns a Verifier, or an error that names every wrong field of
// config.
func NewVerifier(config VerifierConfig) (*Verifier, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	verifier := &Verifier{keys: slices.Clone(config.Keys), tolerance: config.Tolerance, now: config.Now}
	if verifier.tolerance == 0 {
		verifier.tolerance = defaultTolerance
	}
	if verifier.now == nil {
		verifier.now = time.Now
	}
	return verifier, nil
}

// Authenticate returns the tenant whose key signed the request. It fits
// settlehttp's HandlerConfig.Authenticate, and neither changes nor keeps body.
// errors.Is(err, [ErrSignature]) is true for every error.
func (v *Verifier) Authenticate(r *http.Request, body []byte) (tenant string, err error) {
	id, seconds, signatures, err := v.read(r.Header)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSignature, err)
	}
	content := signedContent(id, seconds, body)
	for _, key := range v.keys {
		if key.Key.verifies(content, signatures) {
			return key.Tenant, nil
		}
	}
	return "", fmt.Errorf("%w: none fits the request under any known key", ErrSignature)
}

// read returns what the headers claim, as far as it can be right.
func (v *Verifier) read(header http.Header) (id, seconds string, signatures []claimedSignature, err error) {
	for _, name := range []string{IDHeader, TimestampHeader, SignatureHeader} {
		if times := len(header.Values(name)); times != 1 {
			return "", "", nil, fmt.Errorf("header %s must stand once, stands %d times", name, times)
		}
	}
	id, seconds = header.Get(IDHeader), header.Get(TimestampHeader)
	if id == "" || len(id) > maxIDHeader || strings.ContainsFunc(id, notInID) {
		return "", "", nil, fmt.Errorf("header %s must have 1 to %d printable ASCII characters without a full stop", IDHeader, maxIDHeader)
	}
	if err := v.checkTime(seconds); err != nil {
		return "", "", nil, err
	}
	signatures, err = parseSignatures(header.Get(SignatureHeader))
	if err != nil {
		return "", "", nil, fmt.Errorf("header %s: %w", SignatureHeader, err)
	}
	return id, seconds, signatures, nil
}

// notInID reports what no webhook-id holds. With a full stop in it, a part of
// the id could pass for the timestamp.
func notInID(r rune) bool { return r <= ' ' || r >= 0x7f || r == '.' }

// checkTime takes digits alone: another text of the same number would be
// another signed content.
func (v *Verifier) checkTime(seconds string) error {
	signed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || strconv.FormatInt(signed, 10) != seconds || signed < 0 {
		return fmt.Errorf("header %s must be a number of seconds", TimestampHeader)
	}
	if off := v.now().Sub(time.Unix(signed, 0)).Abs(); off > v.tolerance {
		return fmt.Errorf("header %s is %v off, at most %v is allowed", TimestampHeader, off, v.tolerance)
	}
	return nil
}
