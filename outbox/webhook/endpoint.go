package webhook

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Defaults of [Endpoint].
const (
	DefaultTimeout       = 15 * time.Second
	DefaultMaxInFlight   = 8
	DefaultMaxPause      = 5 * time.Minute
	DefaultMaxBatch      = 100
	DefaultMaxBatchBytes = 1 << 20
	DefaultMaxAnswer     = 4 << 20
)

const (
	maxName = 64
	maxKeys = 8
)

// Mode is how events stand in a request: CloudEvents 1.0.2, HTTP Protocol
// Binding.
type Mode int

const (
	// Structured puts one event, whole, in the body
	// (application/cloudevents+json). A signature covers all of it.
	Structured Mode = iota
	// Binary puts the data in the body and the attributes into ce- headers.
	// No signature covers the headers. A boolean or integer extension
	// arrives as a text, and empty data like absent data.
	Binary
	// Batched puts several events in the body
	// (application/cloudevents-batch+json). Use it only where the receiver
	// has asked for it.
	Batched
)

// Proof is what an endpoint's answer must be for a record to leave the outbox.
type Proof int

const (
	// ProofReceipt takes what settlehttp calls proof: a receipt or a refusal
	// that names the event's key and fingerprint. A bare status proves
	// nothing. It is for receivers of ours.
	ProofReceipt Proof = iota
	// ProofStatus takes a status of the 200s for [outbox.AckPublished], except
	// 207, which stands for several outcomes. See the package comment for what
	// that proves. It is for receivers that are not ours.
	ProofStatus
)

// Endpoint is one place to which events go. Printed, logged or encoded, it shows
// its name alone: a URL or a header can be a secret.
type Endpoint struct {
	// Name is what Config.Route calls it, and errors: 1 to 64 printable
	// ASCII characters. It must be set.
	Name string
	// URL is where requests are posted: absolute, https, without user
	// information and fragment. It must be set.
	URL string
	// AllowHTTP allows an http URL too, for a network of your own.
	AllowHTTP bool
	// AllowPrivateNetworks allows connections to addresses that are not
	// public: loopback, private, link-local and others that no customer's
	// endpoint has. False refuses them with [ErrPrivateAddress].
	AllowPrivateNetworks bool

	// Mode is how events stand in a request. Zero is [Structured].
	Mode Mode
	// Keys sign each request, all of them, so that a receiver that knows one
	// is content while keys change: at most 8, none of them public. Give no
	// two endpoints a key in common. None sends requests without a signature.
	Keys []SignatureKey
	// Header is added to each request. It must not have those that the
	// sender sets itself.
	Header http.Header

	// Timeout bounds a request from its begin to the last byte of its
	// answer. Zero is [DefaultTimeout]. The relay's AttemptTimeout bounds a
	// whole call, waiting included: set it to twice the longest Timeout, or
	// one slow endpoint makes calls end by the relay's deadline, at which the
	// relay slows down for all.
	Timeout time.Duration
	// MaxInFlight is how many requests may be out at once; as many more may
	// wait. Zero is [DefaultMaxInFlight].
	MaxInFlight int
	// Rate is the greatest number of requests a second, which are spaced
	// evenly. Zero is no bound.
	Rate float64
	// MaxPause bounds how long the endpoint can have itself left alone, by a
	// Retry-After. Zero is [DefaultMaxPause].
	MaxPause time.Duration
	// MaxBatch and MaxBatchBytes bound the events of a batch and the length
	// of its body; an event that is longer by itself goes alone. They are for
	// [Batched] alone. Zero is [DefaultMaxBatch] and [DefaultMaxBatchBytes].
	MaxBatch      int
	MaxBatchBytes int

	// Proof is what counts as proof. Zero is [ProofReceipt].
	Proof Proof
	// RejectStatuses are statuses of the 400s by which the receiver says
	// that it will never take the event ([outbox.AckRejected]). They are for
	// [ProofStatus] alone, and 401, 407, 408, 425 and 429 cannot be among
	// them, which say nothing of the event. None: whatever is not of the 200s
	// keeps the record.
	RejectStatuses []int
	// MaxAnswer is the greatest length of an answer's body in bytes, for
	// [ProofReceipt]. Zero is [DefaultMaxAnswer], which holds every receipt.
	MaxAnswer int64
}

var (
	_ fmt.Formatter  = Endpoint{}
	_ slog.LogValuer = Endpoint{}
	_ json.Marshaler = Endpoint{}
)

// Format writes the name, whatever the verb.
func (e Endpoint) Format(state fmt.State, _ rune) { fmt.Fprintf(state, "endpoint %q", e.Name) }

// LogValue returns the name.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.Name) }

// MarshalJSON writes the name, as a string: a log may encode whatever holds an
// endpoint.
func (e Endpoint) MarshalJSON() ([]byte, error) { return json.Marshal(e.Name) }

// broken returns the rules that the endpoint breaks. It shows neither URL nor
// header nor key.
func (e Endpoint) broken() (broken []string) {
	if e.Name == "" || len(e.Name) > maxName || strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		broken = append(broken, fmt.Sprintf("Name must have 1 to %d printable ASCII characters", maxName))
	}
	if rule := e.brokenURL(); rule != "" {
		broken = append(broken, "URL "+rule)
	}
	if e.Mode < Structured || e.Mode > Batched {
		broken = append(broken, fmt.Sprintf("Mode must be a known one, is %d", e.Mode))
	}
	if len(e.Keys) > maxKeys {
		broken = append(broken, fmt.Sprintf("Keys must be at most %d, are %d", maxKeys, len(e.Keys)))
	}
	for i, key := range e.Keys {
		if key.IsZero() || !key.signs() {
			broken = append(broken, fmt.Sprintf("Keys[%d] must be one that signs (%s or %s), is %s", i, symmetricPrefix, privatePrefix, key))
		}
	}
	broken = append(broken, brokenHeader(e.Header)...)
	broken = append(broken, e.brokenLimits()...)
	return append(broken, e.brokenProof()...)
}

func (e Endpoint) brokenURL() string {
	target, err := url.Parse(e.URL)
	switch {
	case e.URL == "":
		return "must be set"
	case err != nil || target.Hostname() == "" || target.Scheme != "https" && target.Scheme != "http":
		return "must be an absolute https URL"
	case target.Scheme == "http" && !e.AllowHTTP:
		return "must be an https URL, or AllowHTTP be set"
	case target.User != nil || target.Fragment != "":
		return "must have neither user information nor a fragment"
	default:
		return ""
	}
}

func (e Endpoint) brokenLimits() (broken []string) {
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Timeout", int64(e.Timeout)},
		{"MaxInFlight", int64(e.MaxInFlight)},
		{"MaxPause", int64(e.MaxPause)},
		{"MaxBatch", int64(e.MaxBatch)},
		{"MaxBatchBytes", int64(e.MaxBatchBytes)},
		{"MaxAnswer", e.MaxAnswer},
	} {
		if field.value < 0 {
			broken = append(broken, fmt.Sprintf("%s must not be negative, is %d", field.name, field.value))
		}
	}
	if e.Rate < 0 || math.IsNaN(e.Rate) || math.IsInf(e.Rate, 0) || e.Rate > 0 && e.Rate < minRate {
		broken = append(broken, fmt.Sprintf("Rate must be 0 or %v or more requests a second, is %v", minRate, e.Rate))
	}
	if e.Mode != Batched && (e.MaxBatch != 0 || e.MaxBatchBytes != 0) {
		broken = append(broken, "MaxBatch and MaxBatchBytes must be 0 unless Mode is Batched")
	}
	return broken
}

// minRate is one request an hour.
const minRate = 1.0 / 3600

func (e Endpoint) brokenProof() (broken []string) {
	if e.Proof != ProofReceipt && e.Proof != ProofStatus {
		broken = append(broken, fmt.Sprintf("Proof must be a known one, is %d", e.Proof))
	}
	if e.Proof != ProofStatus && len(e.RejectStatuses) > 0 {
		broken = append(broken, "RejectStatuses must be empty unless Proof is ProofStatus")
	}
	for _, status := range e.RejectStatuses {
		if status < 400 || status > 499 || aboutSender(status) {
			broken = append(broken, fmt.Sprintf("RejectStatuses must be of the 400s and about the event, has %d", status))
		}
	}
	return broken
}

// aboutSender reports the statuses of the 400s that say that the sender, or the
// moment, is the wrong one.
func aboutSender(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return false
	}
}

// brokenHeader reports headers that no request can have, or that the sender
// sets itself.
func brokenHeader(header http.Header) (broken []string) {
	for name, values := range header {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case name == "" || strings.ContainsFunc(name, notInToken):
			broken = append(broken, fmt.Sprintf("Header name %q must be a token (RFC 9110)", name))
		case ownHeader(canonical):
			broken = append(broken, fmt.Sprintf("Header must not have %s", canonical))
		}
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
				broken = append(broken, fmt.Sprintf("Header %s must have printable ASCII values", canonical))
				break
			}
		}
	}
	return broken
}

func ownHeader(canonical string) bool {
	switch canonical {
	case "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Host",
		"Accept", "Accept-Encoding", "Expect", "Trailer", "Te", "Upgrade", IDHeader, TimestampHeader, SignatureHeader:
		return true
	default:
		return strings.HasPrefix(canonical, attributePrefix)
	}
}

func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func (e Endpoint) withDefaults() Endpoint {
	setDefault(&e.Timeout, DefaultTimeout)
	setDefault(&e.MaxInFlight, DefaultMaxInFlight)
	setDefault(&e.MaxPause, DefaultMaxPause)
	setDefault(&e.MaxAnswer, DefaultMaxAnswer)
	if e.Mode == Batched {
		setDefault(&e.MaxBatch, DefaultMaxBatch)
		setDefault(&e.MaxBatchBytes, DefaultMaxBatchBytes)
	}
	e.Header, e.Keys, e.RejectStatuses = e.Header.Clone(), slices.Clone(e.Keys), slices.Clone(e.RejectStatuses)
	return e
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
