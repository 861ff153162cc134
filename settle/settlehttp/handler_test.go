package settlehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

func TestNewHandlerNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := settlehttp.NewHandler(settlehttp.HandlerConfig{MaxBody: -1, RetryAfter: -time.Second, Challenge: "a\r\nb"})
	refusesConfig(t, err, `settlehttp: HandlerConfig: Authenticate must be set; Settle must be set; `+
		`MaxBody must not be negative, is -1; RetryAfter must not be negative, is -1s; Challenge must be printable ASCII, is "a\r\nb"`)
}

func TestHandlerAnswersWithTheReceipt(t *testing.T) {
	t.Parallel()
	var got event.Event
	var gotBody, gotRead string
	rig := newRig(t, settlehttp.HandlerConfig{
		Authenticate: func(r *http.Request, body []byte) (string, error) {
			read, err := io.ReadAll(r.Body)
			gotBody, gotRead = string(body), string(read)
			return "arena", err
		},
		Settle: func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			got = e
			return settled(e), nil
		},
	})
	body := "\n" + text(t, match("42")) + " "
	reply := rig.post(t, body, func(r *http.Request) { r.Header.Set("Content-Type", event.MediaType+"; charset=utf-8") })
	if reply.status != http.StatusOK {
		t.Errorf("status %d", reply.status)
	}
	for name, want := range map[string]string{
		"Content-Type": receipt.MediaType, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Retry-After": "",
	} {
		if got := reply.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	golden(t, "receipt.json", reply.body)
	if diff := cmp.Diff(match("42"), got); diff != "" {
		t.Errorf("event that Settle got (-want +got):\n%s", diff)
	}
	if gotBody != body || gotRead != body {
		t.Errorf("Authenticate got %q, and %q from r.Body, want the raw body", gotBody, gotRead)
	}
	if log := rig.log.String(); log != "" {
		t.Errorf("a receipt was logged: %s", log)
	}
}

// errNetwork is an error of the network.
var errNetwork = &net.OpError{Op: "dial", Net: "tcp", Err: errSecret}

// TestHandlerErrors has one row a class of error that Settle can return. The
// documents are golden; their statuses and headers stand here.
func TestHandlerErrors(t *testing.T) {
	t.Parallel()
	e := match("42")
	conflict := func(change func(*receipt.ConflictError)) error {
		c := &receipt.ConflictError{Key: e.Key, Stored: settled(e), Requested: "settled", Fingerprint: e.Fingerprint}
		change(c)
		return wrap(c)
	}
	refused := settle.Refuse("unknown-room", "no room %d is known here", 42)
	for _, test := range []struct {
		name       string
		document   string // in testdata
		settle     settleFunc
		status     int
		refusal    bool
		retryAfter string
		level      string
	}{
		{"in-flight", "in-flight", failsWith(wrap(receipt.ErrInFlight)), 409, false, "3", "WARN"},
		{"outcome-unknown", "outcome-unknown", failsWith(wrap(receipt.ErrOutcomeUnknown)), 503, false, "3", "WARN"},
		{"schema-version", "schema-version", failsWith(wrap(receipt.ErrSchemaVersion)), 503, false, "3", "WARN"},
		{"withheld", "withheld", failsWith(wrap(receipt.ErrWithheld)), 503, false, "3", "WARN"},
		{"withheld-refused", "withheld", failsWith(fmt.Errorf("%w: %w", receipt.ErrWithheld, refused)), 503, false, "3", "WARN"},
		{"withheld-beside-receipt", "withheld", func(context.Context, event.Event) (receipt.Receipt, error) {
			return settled(e), refused
		}, 503, false, "3", "WARN"},
		{"unavailable", "unavailable", failsWith(wrap(settlehttp.ErrUnavailable)), 503, false, "3", "WARN"},
		{"not-committed", "unavailable", failsWith(fmt.Errorf("%w: %w", receipt.ErrNotCommitted, errSecret)), 503, false, "3", "WARN"},
		{"network", "unavailable", failsWith(wrap(errNetwork)), 503, false, "3", "WARN"},
		{"deadline", "unavailable", failsWith(wrap(context.DeadlineExceeded)), 503, false, "3", "WARN"},
		{"cancelled", "unavailable", failsWith(wrap(context.Canceled)), 503, false, "3", "WARN"},
		{"internal", "internal", failsWith(errSecret), 500, false, "", "ERROR"},
		{"panic", "internal", func(context.Context, event.Event) (receipt.Receipt, error) { panic("no such room") }, 500, false, "", "ERROR"},
		{"panic-with-payload", "internal", func(_ context.Context, e event.Event) (receipt.Receipt, error) { panic(e.Data) }, 500, false, "", "ERROR"},
		{"invalid-receipt", "internal", func(context.Context, event.Event) (receipt.Receipt, error) { return receipt.Receipt{Key: e.Key}, nil }, 500, false, "", "ERROR"},
		{"no-receipt", "internal", func(context.Context, event.Event) (receipt.Receipt, error) { return receipt.Receipt{}, nil }, 500, false, "", "ERROR"},
		{"another-key", "internal", func(context.Context, event.Event) (receipt.Receipt, error) {
			other := match("42")
			other.Key.Tenant = "other-tenant"
			return settled(other), nil
		}, 500, false, "", "ERROR"},
		{"refused", "refused", failsWith(wrap(refused)), 422, true, "", "WARN"},
		{"refused-and-not-committed", "refused", failsWith(fmt.Errorf("%w: %w", receipt.ErrNotCommitted, refused)), 422, true, "", "WARN"},
		{"fingerprint-mismatch", "fingerprint-mismatch", failsWith(conflict(func(c *receipt.ConflictError) {
			c.Fingerprint, c.Paths = digest("ff"), []string{"winner"}
		})), 422, true, "", "WARN"},
		{"kind-mismatch", "kind-mismatch", failsWith(conflict(func(c *receipt.ConflictError) { c.Requested = "aborted" })), 409, true, "", "WARN"},
		{"both-mismatch", "both-mismatch", failsWith(conflict(func(c *receipt.ConflictError) {
			c.Requested, c.Fingerprint = "aborted", digest("ff")
		})), 422, true, "", "WARN"},
		{"conflict-on-another-key", "internal", failsWith(conflict(func(c *receipt.ConflictError) {
			c.Key.Tenant, c.Requested = "other-tenant", "aborted"
		})), 500, false, "", "ERROR"},
		{"conflict-with-another-tenants-receipt", "internal", failsWith(conflict(func(c *receipt.ConflictError) {
			c.Stored.Key.Tenant, c.Requested = "other-tenant", "aborted"
		})), 500, false, "", "ERROR"},
		{"conflict-without-difference", "internal", failsWith(conflict(func(*receipt.ConflictError) {})), 500, false, "", "ERROR"},
		{"transaction-ended", "transaction-ended", failsWith(wrap(receipt.ErrTransactionEnded)), 409, true, "", "ERROR"},
		{"transaction-ended-refused", "transaction-ended", failsWith(fmt.Errorf("%w: %w", receipt.ErrTransactionEnded, refused)), 409, true, "", "ERROR"},
		{"outcome-unknown-refused", "outcome-unknown", failsWith(fmt.Errorf("%w: %w", receipt.ErrOutcomeUnknown, refused)), 503, false, "3", "WARN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t, settlehttp.HandlerConfig{Settle: test.settle, RetryAfter: 2001 * time.Millisecond})
			reply := rig.post(t, text(t, e))
			if reply.status != test.status {
				t.Errorf("status %d, want %d", reply.status, test.status)
			}
			mediaType := settlehttp.ProblemMediaType
			if test.refusal {
				mediaType = settlehttp.RefusalMediaType
			}
			if got := reply.header.Get("Content-Type"); got != mediaType {
				t.Errorf("Content-Type %q, want %q", got, mediaType)
			}
			if got := reply.header.Get("Retry-After"); got != test.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, test.retryAfter)
			}
			golden(t, test.document+".json", reply.body)
			log := rig.log.String()
			if !strings.Contains(log, "level="+test.level) || !strings.Contains(log, "key.id=42") || strings.Count(log, "\n") != 1 {
				t.Errorf("want one line of level %s with the key:\n%s", test.level, log)
			}
			for _, secret := range []string{secretData, "other-tenant"} {
				if strings.Contains(string(reply.body), secret) {
					t.Errorf("the answer holds %q", secret)
				}
			}
			if holdsPayload(log) {
				t.Errorf("the log holds a payload:\n%s", log)
			}
		})
	}
}

// TestHandlerRefusesRequests has what never reaches Settle.
func TestHandlerRefusesRequests(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	unchanged := func(*http.Request) {}
	authenticatedAs := func(tenant string, err error) func(*http.Request, []byte) (string, error) {
		return func(*http.Request, []byte) (string, error) { return tenant, err }
	}
	whole := text(t, match("42"))
	for _, test := range []struct {
		name         string
		document     string // in testdata
		authenticate func(*http.Request, []byte) (string, error)
		body         string
		change       func(*http.Request)
		status       int
		header       [2]string
	}{
		{"put", "method", nil, "", func(r *http.Request) { r.Method = http.MethodPut }, 405, [2]string{"Allow", "POST"}},
		{"no-media-type", "media-type", nil, whole, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, [2]string{"Accept", event.MediaType}},
		{"plain-json", "media-type", nil, whole, header("Content-Type", "application/json"), 415, [2]string{"Accept", event.MediaType}},
		{"batch", "media-type", nil, "[" + whole + "]", header("Content-Type", "application/cloudevents-batch+json"), 415, [2]string{"Accept", event.MediaType}},
		{"two-media-types", "media-type", nil, whole, func(r *http.Request) { r.Header.Add("Content-Type", event.MediaType) }, 415, [2]string{"Accept", event.MediaType}},
		{"encoded", "encoded", nil, whole, header("Content-Encoding", "gzip"), 415, [2]string{"Accept", event.MediaType}},
		{"too-large", "too-large", nil, whole + strings.Repeat(" ", 2000), unchanged, 413, [2]string{"Retry-After", ""}},
		{"too-large-chunked", "too-large", nil, whole + strings.Repeat(" ", 2000), func(r *http.Request) { r.ContentLength = -1 }, 413, [2]string{"Retry-After", ""}},
		{"unauthenticated", "unauthenticated", authenticatedAs("arena", errSecret), whole, unchanged, 401, [2]string{"WWW-Authenticate", "Bearer"}},
		{"unauthenticated-malformed", "unauthenticated", authenticatedAs("arena", errSecret), "{", unchanged, 401, [2]string{"WWW-Authenticate", "Bearer"}},
		{"authentication-away", "unavailable", authenticatedAs("arena", wrap(settlehttp.ErrUnavailable)), whole, unchanged, 503, [2]string{"Retry-After", "1"}},
		{"authentication-panic", "internal", func(*http.Request, []byte) (string, error) { panic(errSecret) }, whole, unchanged, 500, [2]string{"Retry-After", ""}},
		{"another-tenant", "forbidden", authenticatedAs("other-tenant", nil), whole, unchanged, 403, [2]string{"Retry-After", ""}},
		{"no-tenant", "forbidden", authenticatedAs("", nil), whole, unchanged, 403, [2]string{"Retry-After", ""}},
		{"tenant-of-another-case", "forbidden", authenticatedAs("Arena", nil), whole, unchanged, 403, [2]string{"Retry-After", ""}},
		{"empty-body", "no-json", nil, "", unchanged, 400, [2]string{"Retry-After", ""}},
		{"no-json", "no-json", nil, "<html>", unchanged, 400, [2]string{"Retry-After", ""}},
		{"duplicate-member", "duplicate-member", nil, `{"id":"1",` + whole[1:], unchanged, 400, [2]string{"Retry-After", ""}},
		{"wrong-fields", "wrong-fields", nil, `{"specversion":"1.0","id":7,"keytenant":"arena"}`, unchanged, 400, [2]string{"Retry-After", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t, settlehttp.HandlerConfig{
				Authenticate: test.authenticate,
				Settle: func(context.Context, event.Event) (receipt.Receipt, error) {
					t.Error("Settle was called")
					return receipt.Receipt{}, nil
				},
				MaxBody:   1000,
				Challenge: "Bearer",
			})
			reply := rig.post(t, test.body, test.change)
			if reply.status != test.status {
				t.Errorf("status %d, want %d", reply.status, test.status)
			}
			if got := reply.header.Get("Content-Type"); got != settlehttp.ProblemMediaType {
				t.Errorf("Content-Type %q: only a problem is right for a request that names no event", got)
			}
			if got := reply.header.Get(test.header[0]); got != test.header[1] {
				t.Errorf("%s is %q, want %q", test.header[0], got, test.header[1])
			}
			golden(t, test.document+".json", reply.body)
			for _, secret := range []string{secretData, "other-tenant", "settle/42"} {
				if strings.Contains(string(reply.body), secret) {
					t.Errorf("the answer holds %q", secret)
				}
			}
			if log := rig.log.String(); strings.Count(log, "\n") != 1 || holdsPayload(log) {
				t.Errorf("want one line without a payload:\n%s", log)
			}
		})
	}
}

// TestForbiddenTellsNothing compares the answers to another tenant's key that
// has a receipt and to one that has none (I10).
func TestForbiddenTellsNothing(t *testing.T) {
	t.Parallel()
	rig := newRig(t, settlehttp.HandlerConfig{
		Authenticate: func(*http.Request, []byte) (string, error) { return "curious", nil },
	})
	known, unknown := rig.post(t, text(t, match("42"))), rig.post(t, text(t, match("43")))
	if diff := cmp.Diff(string(known.body), string(unknown.body)); diff != "" || known.status != unknown.status {
		t.Errorf("answers with status %d and %d differ (-known +unknown):\n%s", known.status, unknown.status, diff)
	}
}

func TestHandlerReadsBodiesUpToTheLimit(t *testing.T) {
	t.Parallel()
	body := text(t, match("42"))
	rig := newRig(t, settlehttp.HandlerConfig{MaxBody: int64(len(body))})
	for _, chunked := range []func(*http.Request){func(*http.Request) {}, func(r *http.Request) { r.ContentLength = -1 }} {
		if reply := rig.post(t, body, chunked); reply.status != http.StatusOK {
			t.Errorf("a body of exactly MaxBody bytes: status %d, %s", reply.status, reply.body)
		}
		if reply := rig.post(t, body+" ", chunked); reply.status != http.StatusRequestEntityTooLarge {
			t.Errorf("a body of one byte more: status %d", reply.status)
		}
	}
}

// TestHandlerWithBodyCutOff writes half of a body over a bare connection.
func TestHandlerWithBodyCutOff(t *testing.T) {
	t.Parallel()
	rig := newRig(t, settlehttp.HandlerConfig{})
	connection, err := net.Dial("tcp", rig.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	body := text(t, match("42"))
	fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", event.MediaType, len(body), body[:50])
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(reply), "HTTP/1.1 400 ") || !strings.Contains(string(reply), "the body ended early") {
		t.Errorf("answer %s", reply)
	}
}

// TestSenderHangsUp checks that Settle's context ends with the request.
func TestSenderHangsUp(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan error, 1)
	rig := newRig(t, settlehttp.HandlerConfig{
		Settle: func(ctx context.Context, _ event.Event) (receipt.Receipt, error) {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()
			return receipt.Receipt{}, ctx.Err()
		},
	})
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-began
		hangUp()
	}()
	answers := newSender(t, rig.server.URL).Send(ctx, []event.Event{match("42")})
	if !errors.Is(answers[0].Err, context.Canceled) {
		t.Errorf("the sender's error is %v", answers[0].Err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Settle's context ended with %v", err)
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	rig := newRig(t, settlehttp.HandlerConfig{
		Settle: func(context.Context, event.Event) (receipt.Receipt, error) { panic("no such room") },
	})
	if reply := rig.post(t, text(t, match("42"))); reply.status != http.StatusInternalServerError {
		t.Errorf("status %d", reply.status)
	}
	if log := rig.log.String(); !strings.Contains(log, `panic="no such room"`) || !strings.Contains(log, "handler_test.go") {
		t.Errorf("log %q", log)
	}
	if reply := rig.post(t, text(t, match("42"))); reply.status != http.StatusInternalServerError {
		t.Errorf("after a panic the server answers with status %d", reply.status)
	}
}
