package event_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

func digest(tb testing.TB, first string) fingerprint.Digest {
	tb.Helper()
	parsed, err := fingerprint.Parse("match.result/1:" + first + strings.Repeat("0", 64-len(first)))
	if err != nil {
		tb.Fatal(err)
	}
	return parsed
}

// full returns an event with every field set.
func full(tb testing.TB) event.Event {
	tb.Helper()
	return event.Event{
		ID:              "0199a1b2-0000-7000-8000-000000000001",
		Source:          "//battle-7.example.com/rooms",
		Type:            "match.finished",
		Subject:         "room/42",
		Time:            time.Date(2026, 3, 1, 12, 30, 0, 123456789, time.FixedZone("", 5*3600+1800)),
		DataSchema:      "https://example.com/schemas/match-result.json",
		DataContentType: "application/json",
		Data:            []byte(`{"winner":1,"note":"<é>"}`),
		Key:             event.Key{Tenant: "shop", Scope: "match", Operation: "settle", ID: "42"},
		OrderingKey:     "player/7",
		Fingerprint:     digest(tb, "ab"),
		Extensions: map[string]any{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			"sampled":     true,
			"attempts":    int32(-3),
			"empty":       "",
		},
	}
}

// least returns an event with nothing but what it must have.
func least(tb testing.TB) event.Event {
	tb.Helper()
	return event.Event{
		ID: "1", Source: "/s", Type: "t",
		Key:         event.Key{Tenant: "a", Scope: "b", Operation: "c", ID: "d"},
		Fingerprint: digest(tb, "cd"),
	}
}

func TestOrdering(t *testing.T) {
	t.Parallel()
	e := least(t)
	e.Key.ID = "d/e"
	if got, want := e.Ordering(), "a/b/c/d%2Fe"; got != want {
		t.Errorf("without an ordering key: %q, want the key %q", got, want)
	}
	e.OrderingKey = "wallet/7"
	if got, want := e.Ordering(), "a//wallet%2F7"; got != want {
		t.Errorf("with an ordering key: %q, want %q", got, want)
	}
	foreign := e
	foreign.Key.Tenant = "b"
	if foreign.Ordering() == e.Ordering() {
		t.Errorf("two tenants share the line %q", e.Ordering())
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	original := full(t)
	clone := original.Clone()
	clone.Data[0] = 'X'
	clone.Extensions["sampled"] = false
	if diff := cmp.Diff(full(t), original); diff != "" {
		t.Errorf("a change of the clone reached the original (-want +got):\n%s", diff)
	}
}

func TestLogHoldsNoPayload(t *testing.T) {
	t.Parallel()
	e := full(t)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("sent", "event", e)
	slog.New(slog.NewTextHandler(&log, nil)).Info("sent", "event", e)
	for _, secret := range []string{"winner", "traceparent", "player/7"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), `"tenant":"shop"`) || !strings.Contains(log.String(), e.ID) {
		t.Errorf("the log does not identify the event:\n%s", log.String())
	}
}
