package webhook_test

import (
	"bytes"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/webhook"
)

// fullEvent has every attribute, and texts that headers cannot hold.
func fullEvent(tb testing.TB) event.Event {
	tb.Helper()
	digest, err := fingerprint.Parse("bet.accepted/1:" + strings.Repeat("ab", 32))
	if err != nil {
		tb.Fatal(err)
	}
	return event.Event{
		ID: "bet 1.5%", Source: "/book/a%20b", Type: "bet.accepted", Subject: `Euro € 😀 "x"`,
		Time:       time.Date(2026, 3, 1, 12, 0, 0, 500, time.FixedZone("", 3600)),
		DataSchema: "https://example.com/schema", DataContentType: "application/json; charset=utf-8",
		Data:        []byte(`{"stake": "1.50"}`),
		Key:         event.Key{Tenant: "acme", Scope: "wallet-7", Operation: "place bet", ID: "b-1"},
		OrderingKey: "wallet/7", Fingerprint: digest, Position: 42,
		Extensions: map[string]any{"flag": true, "count": int32(-7), "traceparent": "00-ab"},
	}
}

// got sends events through a receiver that takes everything, and returns what
// it saw.
func got(t *testing.T, mode webhook.Mode, change func(*webhook.Endpoint), events ...event.Event) []request {
	t.Helper()
	end := newReceiver(t, webhook.ProofStatus)
	end.setClock(at(vectorSeconds))
	endpoint := end.endpoint(t, mode)
	endpoint.Header = http.Header{"x-tenant": {"acme"}, "User-Agent": {"settleonce"}}
	if change != nil {
		change(&endpoint)
	}
	sender := newSender(t, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: end.trust(), Now: at(vectorSeconds)})
	for i, answer := range sender.Send(t.Context(), events) {
		if answer.Err != nil {
			t.Errorf("event %d: %v", i, answer.Err)
		}
	}
	return end.seen()
}

// lines returns the headers that the sender chose, without those that HTTP
// adds and without the signature.
func lines(header http.Header) []string {
	var chosen []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		switch name {
		case "Content-Length", "Accept-Encoding", "Webhook-Signature":
		default:
			chosen = append(chosen, name+": "+strings.Join(header[name], ", "))
		}
	}
	return chosen
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	e := fullEvent(t)
	always := func(contentType, id string) []string {
		return []string{"Content-Type: " + contentType, "User-Agent: settleonce", "Webhook-Id: " + id, "Webhook-Timestamp: 1614265330", "X-Tenant: acme"}
	}
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		mode webhook.Mode
		want []string
		body string
	}{
		{"structured", webhook.Structured, always("application/cloudevents+json", "bet%201%2E5%25"), string(text)},
		{"batched", webhook.Batched, always("application/cloudevents-batch+json", "batch_8ab7fe80aa2237094002b3967de5936d"), "[" + string(text) + "]"},
		{"binary", webhook.Binary, append([]string{
			"Ce-Count: -7",
			"Ce-Dataschema: https://example.com/schema",
			"Ce-Fingerprint: bet.accepted/1:" + strings.Repeat("ab", 32),
			"Ce-Flag: true",
			"Ce-Id: bet%201.5%25",
			"Ce-Keyid: b-1",
			"Ce-Keyoperation: place%20bet",
			"Ce-Keyscope: wallet-7",
			"Ce-Keytenant: acme",
			"Ce-Partitionkey: wallet/7",
			"Ce-Sequence: 0000000000000000042",
			"Ce-Source: /book/a%2520b",
			"Ce-Specversion: 1.0",
			"Ce-Subject: Euro%20%E2%82%AC%20%F0%9F%98%80%20%22x%22",
			"Ce-Time: 2026-03-01T12:00:00.0000005+01:00",
			"Ce-Traceparent: 00-ab",
			"Ce-Type: bet.accepted",
		}, always("application/json; charset=utf-8", "bet%201%2E5%25")...), string(e.Data)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen := got(t, test.mode, nil, e)[0]
			if diff := cmp.Diff(test.want, lines(seen.header)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.body, string(seen.body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeaderInTwoSpellings has one header under two names that HTTP takes for
// one, and that would replace each other in a map.
func TestHeaderInTwoSpellings(t *testing.T) {
	t.Parallel()
	values := []string{"a", "b", "c"}
	change := func(e *webhook.Endpoint) { e.Header = http.Header{"x-a": {"a"}, "X-a": {"b"}, "X-A": {"c"}} }
	seen := got(t, webhook.Structured, change, fullEvent(t))[0]
	if sent := slices.Sorted(slices.Values(seen.header.Values("X-A"))); !slices.Equal(sent, values) {
		t.Errorf("sent %q, want %q", sent, values)
	}
}

// TestAConfigMayBeUsedAgain changes what a sender was made from.
func TestAConfigMayBeUsedAgain(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	endpoint := end.endpoint(t, webhook.Structured)
	endpoint.Header = http.Header{"X-Tenant": {"acme"}}
	sender := newSender(t, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: end.trust()})
	endpoint.Header["X-Tenant"][0] = "another"
	endpoint.Header.Set("X-More", "more")
	endpoint.Keys[0] = webhook.SignatureKey{}
	if answer := sender.Send(t.Context(), numbered(1))[0]; answer.Err != nil {
		t.Fatal(answer.Err)
	}
	if sent := end.seen()[0].header; sent.Get("X-Tenant") != "acme" || sent.Get("X-More") != "" {
		t.Errorf("sent headers %v, want those of before", sent)
	}
}

// TestAcceptOfReceipts shows what an endpoint of ours is asked for.
func TestAcceptOfReceipts(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofReceipt)
	end.sender(t, webhook.Structured).Send(t.Context(), numbered(1))
	const want = "application/vnd.settleonce.answers+json, application/vnd.settleonce.receipt+json, " +
		"application/vnd.settleonce.refusal+json, application/problem+json"
	if got := end.seen()[0].header.Get("Accept"); got != want {
		t.Errorf("Accept %q, want %q", got, want)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	events := numbered(7)
	text, err := events[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	three := len(text)*3 + len("[,,]")
	for _, test := range []struct {
		name   string
		change func(*webhook.Endpoint)
		want   []int // events in each request, in order
	}{
		{"all in one", func(*webhook.Endpoint) {}, []int{7}},
		{"events", func(e *webhook.Endpoint) { e.MaxBatch = 3 }, []int{3, 3, 1}},
		{"bytes", func(e *webhook.Endpoint) { e.MaxBatchBytes = three }, []int{3, 3, 1}},
		{"one byte less", func(e *webhook.Endpoint) { e.MaxBatchBytes = three - 1 }, []int{2, 2, 2, 1}},
		{"each too large", func(e *webhook.Endpoint) { e.MaxBatchBytes = 1 }, []int{1, 1, 1, 1, 1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var counts []int
			var ids []string
			for _, seen := range got(t, webhook.Batched, func(e *webhook.Endpoint) {
				e.MaxInFlight = 1
				test.change(e)
			}, events...) {
				counts = append(counts, len(seen.events))
				for _, e := range seen.events {
					ids = append(ids, e.ID)
				}
			}
			if diff := cmp.Diff(test.want, counts); diff != "" {
				t.Errorf("events of the requests (-want +got):\n%s", diff)
			}
			if !slices.IsSorted(ids) || len(ids) != len(events) {
				t.Errorf("events arrived as %q", ids)
			}
		})
	}
}

// TestBatchID shows that a batch has one id as long as it has the same events.
func TestBatchID(t *testing.T) {
	t.Parallel()
	id := func(events ...event.Event) string {
		return got(t, webhook.Batched, nil, events...)[0].header.Get("webhook-id")
	}
	events := numbered(3)
	again := id(events...)
	if first := id(events...); first != again {
		t.Errorf("one batch with two ids, %s and %s", first, again)
	}
	elsewhere := slices.Clone(events)
	elsewhere[0].Source = "/elsewhere"
	seen := map[string]bool{again: true}
	for _, other := range [][]event.Event{events[:2], {events[1], events[0], events[2]}, elsewhere} {
		if got := id(other...); seen[got] {
			t.Errorf("another batch has the id %s too", got)
		} else {
			seen[got] = true
		}
	}
}

// TestNoBinaryForm has what a Content-Type header would turn into something
// else.
func TestNoBinaryForm(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	sender := end.sender(t, webhook.Binary)
	for contentType, want := range map[string]string{
		"Application/CloudEvents+json": `datacontenttype "Application/CloudEvents+json" announces another mode`,
		" text/plain":                  `datacontenttype " text/plain" must be printable ASCII without space around it`,
		"text/plain; title=\"ä\"":      `datacontenttype "text/plain; title=\"ä\"" must be printable ASCII without space around it`,
	} {
		e := numbered(1)[0]
		e.DataContentType = contentType
		answer := sender.Send(t.Context(), []event.Event{e})[0]
		wantError(t, answer.Err, `webhook: endpoint "shop": not sent: in binary mode `+want)
		if !answer.NotSent || answer.EventAlone || len(end.seen()) != 0 {
			t.Errorf("not sent: %v, event alone: %v, requests: %d, want the first alone", answer.NotSent, answer.EventAlone, len(end.seen()))
		}
	}
}

// FuzzBinary checks that what binary mode sends is the event, by a reader that
// keeps to the letter of the binding.
func FuzzBinary(f *testing.F) {
	f.Add("e-1", "/s", "t", "sub ject", "text/plain", []byte("data"), "tenant", "order ing", int64(1), "ext", int32(3), true)
	f.Add("%", "/%25", `"`, "€\u00a0", "", []byte(`{"a":1}`), "ü", "", int64(math.MaxInt64), " x ", int32(math.MinInt32), false)
	f.Add("😀", "/s", "t", "", "application/xml", []byte(nil), "a", "~\\", int64(0), "%20", int32(0), false)
	base := fullEvent(f)
	f.Fuzz(func(t *testing.T, id, source, kind, subject, contentType string, data []byte, tenant, ordering string, position int64, text string, number int32, flag bool) {
		e := event.Event{
			ID: id, Source: source, Type: kind, Subject: subject, DataContentType: contentType, Data: data,
			Key: event.Key{Tenant: tenant, Scope: "s", Operation: "o", ID: id}, OrderingKey: ordering,
			Fingerprint: base.Fingerprint, Position: position,
			Extensions: map[string]any{"text": text, "number": number, "flag": flag},
		}
		header := make(http.Header)
		if err := webhook.SetBinary(header, &e); err != nil {
			if e.Validate() == nil && contentType == "" {
				t.Errorf("a valid event has no binary form: %v", err)
			}
			return
		}
		var wire bytes.Buffer
		if err := header.Write(&wire); err != nil {
			t.Fatal(err)
		}
		if printable := strings.IndexFunc(strings.ReplaceAll(wire.String(), "\r\n", ""), func(r rune) bool { return r < ' ' || r >= 0x7f }); printable >= 0 && contentType == "" {
			t.Errorf("a header is not printable ASCII: %q", wire.String())
		}
		arrived, err := readBinary(header, e.Data)
		if err != nil {
			t.Fatalf("%q: %v", wire.String(), err)
		}
		if diff := cmp.Diff(asText(e), arrived, cmp.Comparer(fingerprint.Digest.Equal)); diff != "" {
			t.Errorf("the event changed on the way (-sent +arrived):\n%s", diff)
		}
	})
}
