package settlehttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a JSON document with a file in testdata, both indented.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatalf("%s: %v in %q", name, err, got)
	}
	indented.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), indented.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func digest(first string) fingerprint.Digest {
	parsed, err := fingerprint.Parse("match.result/1:" + first + strings.Repeat("0", 64-len(first)))
	if err != nil {
		panic(err)
	}
	return parsed
}

// secretData must show in no log and in no answer but a receipt's.
const secretData = "secret-data"

// match returns the event of one finished match.
func match(id string) event.Event {
	return event.Event{
		ID: "event-" + id, Source: "/battle-7", Type: "match.finished",
		Key:         event.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: id},
		Fingerprint: digest("ab"),
		Data:        []byte(`{"note":"` + secretData + `"}`),
	}
}

// settled returns the receipt of e.
func settled(e event.Event) receipt.Receipt {
	return receipt.Receipt{
		Key: e.Key, Requested: "settled", Outcome: "settled", Fingerprint: e.Fingerprint,
		Value: []byte(`{"stored":"` + secretData + `"}`), Attempt: "attempt-1",
		RecordedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

type settleFunc = func(context.Context, event.Event) (receipt.Receipt, error)

func settles(_ context.Context, e event.Event) (receipt.Receipt, error) { return settled(e), nil }

func failsWith(err error) settleFunc {
	return func(context.Context, event.Event) (receipt.Receipt, error) { return receipt.Receipt{}, err }
}

// arena authenticates everybody as the tenant of match's events.
func arena(*http.Request, []byte) (string, error) { return "arena", nil }

// rig is a handler behind a real server, and what it logged.
type rig struct {
	server *httptest.Server
	log    bytes.Buffer // read it after the answer has come
}

func newRig(tb testing.TB, config settlehttp.HandlerConfig) *rig {
	tb.Helper()
	made := new(rig)
	if config.Authenticate == nil {
		config.Authenticate = arena
	}
	if config.Settle == nil {
		config.Settle = settles
	}
	config.Logger = slog.New(slog.NewTextHandler(&made.log, nil))
	handler, err := settlehttp.NewHandler(config)
	if err != nil {
		tb.Fatal(err)
	}
	made.server = httptest.NewServer(handler)
	tb.Cleanup(made.server.Close)
	return made
}

// answer is what a client saw.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// post sends a body as an event, with changes to the request.
func (r *rig) post(t *testing.T, body string, changes ...func(*http.Request)) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", event.MediaType)
	for _, change := range changes {
		change(request)
	}
	response, err := r.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var read bytes.Buffer
	if _, err := read.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, read.Bytes()}
}

func text(t *testing.T, e event.Event) string {
	t.Helper()
	written, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// newSender returns a sender to url, with changes to its config.
func newSender(tb testing.TB, url string, changes ...func(*settlehttp.SenderConfig)) *settlehttp.Sender {
	tb.Helper()
	config := settlehttp.SenderConfig{URL: url, Timeout: time.Minute}
	for _, change := range changes {
		change(&config)
	}
	sender, err := settlehttp.NewSender(config)
	if err != nil {
		tb.Fatal(err)
	}
	return sender
}

// send sends one event.
func send(t *testing.T, sender *settlehttp.Sender, e event.Event) outbox.Answer {
	t.Helper()
	answers := sender.Send(t.Context(), []event.Event{e})
	if len(answers) != 1 {
		t.Fatalf("%d answers to one event", len(answers))
	}
	return answers[0]
}

// refusesConfig checks the text of a constructor's error.
func refusesConfig(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v\n want %s", err, want)
	}
}

// holdsPayload reports whether a log holds an event's data or a receipt's
// value, as it is or quoted.
func holdsPayload(log string) bool {
	log = strings.ReplaceAll(log, `\`, "")
	return strings.Contains(log, `{"note"`) || strings.Contains(log, `{"stored"`)
}

var errSecret = errors.New("dial db.internal as " + secretData)

func wrap(err error) error { return fmt.Errorf("settle: key arena/match/settle/42: %w", err) }
