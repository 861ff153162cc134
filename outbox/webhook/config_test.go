package webhook_test

import (
	"math"
	"net/http"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/webhook"
)

func second[T any](_ T, err error) error { return err }

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v\n want %s", err, want)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	first := func(*event.Event) (string, error) { return "a", nil }
	one := func(change func(*webhook.Endpoint)) webhook.Config {
		endpoint := webhook.Endpoint{Name: "a", URL: "https://example.com/hook"}
		change(&endpoint)
		return webhook.Config{Endpoints: []webhook.Endpoint{endpoint}}
	}
	for _, test := range []struct {
		name   string
		config webhook.Config
		want   string // behind "webhook: Config: "
	}{
		{"no endpoint", webhook.Config{}, "Endpoints must not be empty"},
		{"zero endpoint", webhook.Config{Endpoints: make([]webhook.Endpoint, 1)}, "Endpoints[0].Name must have 1 to 64 printable ASCII characters; Endpoints[0].URL must be set"},
		{"two without a route", webhook.Config{Endpoints: []webhook.Endpoint{
			{Name: "a", URL: "https://example.com"}, {Name: "b", URL: "https://example.com"},
		}}, "Route must be set for more than one endpoint"},
		{"one name twice", webhook.Config{Route: first, Endpoints: []webhook.Endpoint{
			{Name: "a", URL: "https://example.com"}, {Name: "a", URL: "https://example.com"},
		}}, `Endpoints[1].Name "a" stands twice`},
		{"relative", one(func(e *webhook.Endpoint) { e.URL = "/hook" }), "Endpoints[0].URL must be an absolute https URL"},
		{"no host", one(func(e *webhook.Endpoint) { e.URL = "https:///hook" }), "Endpoints[0].URL must be an absolute https URL"},
		{"port alone", one(func(e *webhook.Endpoint) { e.URL = "https://:443/hook" }), "Endpoints[0].URL must be an absolute https URL"},
		{"ftp", one(func(e *webhook.Endpoint) { e.URL = "ftp://example.com" }), "Endpoints[0].URL must be an absolute https URL"},
		{"http", one(func(e *webhook.Endpoint) { e.URL = "http://example.com" }), "Endpoints[0].URL must be an https URL, or AllowHTTP be set"},
		{"password", one(func(e *webhook.Endpoint) { e.URL = "https://me:pw@example.com" }), "Endpoints[0].URL must have neither user information nor a fragment"},
		{"mode", one(func(e *webhook.Endpoint) { e.Mode = 3 }), "Endpoints[0].Mode must be a known one, is 3"},
		{"zero key", one(func(e *webhook.Endpoint) { e.Keys = make([]webhook.SignatureKey, 1) }), "Endpoints[0].Keys[0] must be one that signs (whsec_ or whsk_), is no key"},
		{"public key", one(func(e *webhook.Endpoint) { e.Keys = []webhook.SignatureKey{vectorPublic(t)} }), "Endpoints[0].Keys[0] must be one that signs (whsec_ or whsk_), is whpk_…"},
		{"keys", one(func(e *webhook.Endpoint) {
			for range 9 {
				e.Keys = append(e.Keys, parseKey(t, secret))
			}
		}), "Endpoints[0].Keys must be at most 8, are 9"},
		{"header of ours", one(func(e *webhook.Endpoint) { e.Header = http.Header{"ce-id": {"x"}} }), "Endpoints[0].Header must not have Ce-Id"},
		{"header of a signature", one(func(e *webhook.Endpoint) { e.Header = http.Header{"webhook-id": {"x"}} }), "Endpoints[0].Header must not have Webhook-Id"},
		{"header name", one(func(e *webhook.Endpoint) { e.Header = http.Header{"a b": {"x"}} }), `Endpoints[0].Header name "a b" must be a token (RFC 9110)`},
		{"header value", one(func(e *webhook.Endpoint) { e.Header = http.Header{"X": {"secret\r\nY: 1"}} }), "Endpoints[0].Header X must have printable ASCII values"},
		{"limits", one(func(e *webhook.Endpoint) {
			e.Timeout, e.MaxInFlight, e.MaxPause, e.MaxAnswer, e.Rate = -1, -1, -1, -1, -1
		}), "Endpoints[0].Timeout must not be negative, is -1; Endpoints[0].MaxInFlight must not be negative, is -1; " +
			"Endpoints[0].MaxPause must not be negative, is -1; Endpoints[0].MaxAnswer must not be negative, is -1; " +
			"Endpoints[0].Rate must be 0 or 0.0002777777777777778 or more requests a second, is -1"},
		{"rate", one(func(e *webhook.Endpoint) { e.Rate = math.NaN() }), "Endpoints[0].Rate must be 0 or 0.0002777777777777778 or more requests a second, is NaN"},
		{"batch of a single mode", one(func(e *webhook.Endpoint) { e.MaxBatch = 2 }), "Endpoints[0].MaxBatch and MaxBatchBytes must be 0 unless Mode is Batched"},
		{"proof", one(func(e *webhook.Endpoint) { e.Proof = 2 }), "Endpoints[0].Proof must be a known one, is 2"},
		{"rejections with receipts", one(func(e *webhook.Endpoint) { e.RejectStatuses = []int{400} }), "Endpoints[0].RejectStatuses must be empty unless Proof is ProofStatus"},
		{"rejections", one(func(e *webhook.Endpoint) { e.Proof, e.RejectStatuses = webhook.ProofStatus, []int{422, 429, 500} }), "Endpoints[0].RejectStatuses must be of the 400s and about the event, has 429; " +
			"Endpoints[0].RejectStatuses must be of the 400s and about the event, has 500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantError(t, second(webhook.NewSender(test.config)), "webhook: Config: "+test.want)
		})
	}
}

func TestBatching(t *testing.T) {
	t.Parallel()
	single := webhook.Endpoint{Name: "a", URL: "https://example.com"}
	small := webhook.Endpoint{Name: "b", URL: "https://example.com", Mode: webhook.Batched, MaxBatch: 5, MaxBatchBytes: 2 << 20}
	large := webhook.Endpoint{Name: "c", URL: "https://example.com", Mode: webhook.Batched}
	for _, test := range []struct {
		endpoints []webhook.Endpoint
		want      outbox.Batching
	}{
		{[]webhook.Endpoint{single}, outbox.Batching{MaxEvents: 1}},
		{[]webhook.Endpoint{single, small}, outbox.Batching{MaxEvents: 5, MaxBytes: 2 << 20}},
		{[]webhook.Endpoint{small, large}, outbox.Batching{MaxEvents: 100, MaxBytes: 2 << 20}},
	} {
		sender := newSender(t, webhook.Config{Endpoints: test.endpoints, Route: func(*event.Event) (string, error) { return "a", nil }})
		if got := sender.Batching(); got != test.want {
			t.Errorf("%d endpoints: %+v, want %+v", len(test.endpoints), got, test.want)
		}
	}
}
