package webhook_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/outbox/webhook"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// secret is a key of 32 bytes that both ends know.
const secret = "whsec_c2V0dGxlb25jZS10ZXN0LXNlY3JldC0zMi1ieXRlcy4="

// request is what the receiver saw of one request.
type request struct {
	header http.Header
	body   []byte
	events []event.Event
}

// receiver is an endpoint behind a real server. It checks signatures, reads
// every mode, and answers as proof says, or as its fields order.
type receiver struct {
	server *httptest.Server
	proof  webhook.Proof

	mu       sync.Mutex
	requests []request
	taken    []event.Event
	refused  map[event.Key]string
	failing  map[event.Key]bool
	broken   bool
	// answer, where set, answers in place of the receiver.
	answer http.HandlerFunc
	// now is the clock of the receiver.
	now func() time.Time
}

func (r *receiver) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

// setClock stops the receiver's clock.
func (r *receiver) setClock(now func() time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

func (r *receiver) setAnswer(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func newReceiver(tb testing.TB, proof webhook.Proof) *receiver {
	tb.Helper()
	made := &receiver{proof: proof, refused: make(map[event.Key]string), failing: make(map[event.Key]bool), now: time.Now}
	verifier, err := webhook.NewVerifier(webhook.VerifierConfig{
		Keys: []webhook.VerifierKey{{Tenant: "acme", Key: parseKey(tb, secret)}},
		Now:  made.clock,
	})
	if err != nil {
		tb.Fatal(err)
	}
	made.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // The sender gave up.
		}
		events, err := read(r.Header, body)
		if err != nil {
			tb.Errorf("the receiver cannot read a request: %v", err)
		}
		if _, err := verifier.Authenticate(r, body); err != nil {
			tb.Errorf("the receiver cannot verify a request: %v", err)
		}
		made.serve(w, r, request{r.Header, body, events})
	}))
	made.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	made.server.StartTLS()
	tb.Cleanup(made.server.Close)
	return made
}

func (r *receiver) serve(w http.ResponseWriter, from *http.Request, got request) {
	r.mu.Lock()
	r.requests = append(r.requests, got)
	broken, answer := r.broken, r.answer
	failing := slices.ContainsFunc(got.events, func(e event.Event) bool { return r.failing[e.Key] })
	r.mu.Unlock()
	switch {
	case failing:
		w.WriteHeader(http.StatusConflict)
	case broken:
		<-from.Context().Done()
	case answer != nil:
		answer(w, from)
	case r.proof == webhook.ProofStatus:
		for _, e := range got.events {
			r.take(e)
		}
		w.WriteHeader(http.StatusAccepted)
	case got.header.Get("Content-Type") == webhook.BatchMediaType:
		r.answerBatch(w, got.events)
	default:
		status, mediaType, document := r.document(got.events[0])
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		w.Write(document)
	}
}

// answerBatch answers in the reverse order: a sender must go by the keys.
func (r *receiver) answerBatch(w http.ResponseWriter, events []event.Event) {
	elements := make([]json.RawMessage, len(events))
	for i, e := range events {
		_, mediaType, document := r.document(e)
		elements[len(events)-1-i] = fmt.Appendf(nil, `{"mediatype":%q,"document":%s}`, mediaType, document)
	}
	text, err := json.Marshal(elements)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", webhook.AnswersMediaType)
	w.Write(text)
}

func (r *receiver) take(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, e)
}

// document returns the receipt or the refusal of an event.
func (r *receiver) document(e event.Event) (status int, mediaType string, document []byte) {
	r.mu.Lock()
	reason, refused := r.refused[e.Key]
	r.mu.Unlock()
	if refused {
		return http.StatusUnprocessableEntity, settlehttp.RefusalMediaType, refusalOf(e, reason)
	}
	r.take(e)
	return http.StatusOK, receipt.MediaType, receiptOf(e)
}

func receiptOf(e event.Event) []byte {
	settled := receipt.Receipt{
		Key: e.Key, Requested: "settled", Outcome: "settled", Fingerprint: e.Fingerprint,
		Value: []byte(`{}`), Attempt: "attempt-1", RecordedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	text, err := settled.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return text
}

func refusalOf(e event.Event, reason string) []byte {
	text, err := json.Marshal(settlehttp.Refusal{
		Type: settlehttp.TypeRefused, Title: "Refused", Status: http.StatusUnprocessableEntity,
		Code: "refused", Detail: reason, Key: e.Key, Fingerprint: e.Fingerprint,
	})
	if err != nil {
		panic(err)
	}
	return text
}

// seen returns the requests so far.
func (r *receiver) seen() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.requests...)
}

func (r *receiver) takenEvents() []event.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]event.Event(nil), r.taken...)
}

// endpoint returns an endpoint that leads to the receiver.
func (r *receiver) endpoint(tb testing.TB, mode webhook.Mode) webhook.Endpoint {
	tb.Helper()
	return webhook.Endpoint{
		Name: "shop", URL: r.server.URL, AllowPrivateNetworks: true,
		Mode: mode, Proof: r.proof, Keys: []webhook.SignatureKey{parseKey(tb, secret)}, Timeout: time.Minute,
	}
}

// trust returns what a client of the receivers needs. All of them have the one
// certificate of httptest.
func (r *receiver) trust() *tls.Config {
	return r.server.Client().Transport.(*http.Transport).TLSClientConfig
}

// sender returns a sender to the receiver alone, with changes to its endpoint.
func (r *receiver) sender(tb testing.TB, mode webhook.Mode, changes ...func(*webhook.Endpoint)) *webhook.Sender {
	tb.Helper()
	endpoint := r.endpoint(tb, mode)
	for _, change := range changes {
		change(&endpoint)
	}
	return newSender(tb, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: r.trust()})
}

func newSender(tb testing.TB, config webhook.Config) *webhook.Sender {
	tb.Helper()
	sender, err := webhook.NewSender(config)
	if err != nil {
		tb.Fatal(err)
	}
	return sender
}

func parseKey(tb testing.TB, text string) webhook.SignatureKey {
	tb.Helper()
	key, err := webhook.ParseSignatureKey(text)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// numbered returns count events of different ordering keys.
func numbered(count int) []event.Event {
	events := make([]event.Event, count)
	for i := range events {
		events[i] = outboxtest.NewEvent(fmt.Sprintf("%02d", i), "")
	}
	return events
}

// read reads a request of any mode, by the letter of the binding.
func read(header http.Header, body []byte) ([]event.Event, error) {
	var events []event.Event
	switch header.Get("Content-Type") {
	case event.MediaType:
		events = make([]event.Event, 1)
		return events, events[0].UnmarshalJSON(body)
	case webhook.BatchMediaType:
		return events, json.Unmarshal(body, &events)
	default:
		e, err := readBinary(header, body)
		return []event.Event{e}, err
	}
}

// readBinary reads the attributes from the headers and lets the JSON form judge
// them, which knows every rule.
func readBinary(header http.Header, body []byte) (event.Event, error) {
	members := make(map[string]any)
	for name, values := range header {
		attribute, found := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !found {
			continue
		}
		text, err := url.PathUnescape(values[0])
		if err != nil || len(values) != 1 || !utf8.ValidString(text) {
			return event.Event{}, fmt.Errorf("header %s: %q: %w", name, values, err)
		}
		members[attribute] = text
	}
	if _, found := members["datacontenttype"]; found {
		return event.Event{}, errors.New("ce-datacontenttype must not be there")
	}
	if contentType := header.Get("Content-Type"); contentType != "" {
		members["datacontenttype"] = contentType
	}
	if len(body) > 0 {
		members["data_base64"] = body
	}
	text, err := json.Marshal(members)
	if err != nil {
		return event.Event{}, err
	}
	var e event.Event
	return e, e.UnmarshalJSON(text)
}

// asText returns e with extensions as they arrive in binary mode.
func asText(e event.Event) event.Event {
	e = e.Clone()
	for name, value := range e.Extensions {
		switch value := value.(type) {
		case bool:
			e.Extensions[name] = strconv.FormatBool(value)
		case int32:
			e.Extensions[name] = strconv.Itoa(int(value))
		}
	}
	if e.DataContentType == "" && e.Data != nil {
		e.DataContentType = "application/json"
	}
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return e
}
