package settlehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

func TestNewSenderNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	for url, rule := range map[string]string{
		"":                            "URL must be set",
		"/relative":                   "URL must be an absolute http or https URL with a host",
		"ftp://example.com":           "URL must be an absolute http or https URL with a host",
		"http://:8080/path":           "URL must be an absolute http or https URL with a host",
		"http:///path":                "URL must be an absolute http or https URL with a host",
		"http://exa mple.com":         "URL must be an absolute http or https URL with a host",
		"https://u:pass@example.com/": "URL must have neither user information nor a fragment",
		"https://example.com/#a":      "URL must have neither user information nor a fragment",
	} {
		_, err := settlehttp.NewSender(settlehttp.SenderConfig{URL: url, Timeout: -1, MaxAnswer: -1})
		refusesConfig(t, err, "settlehttp: SenderConfig: "+rule+"; Timeout must not be negative, is -1ns; MaxAnswer must not be negative, is -1")
	}
}

// receiver answers every request with fixed bytes.
func receiver(t *testing.T, status int, mediaType, body string, header ...string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if mediaType == "" {
			w.Header()["Content-Type"] = nil // keeps net/http from guessing one
		} else {
			w.Header().Set("Content-Type", mediaType)
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func receiptText(t *testing.T, r receipt.Receipt) string {
	t.Helper()
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	refusalText = `{"type":"https://example.com/#refused","title":"Refused","status":422,"detail":"no room 42","code":"unknown-room",` +
		`"key":{"tenant":"arena","scope":"match","operation":"settle","id":"42"},` +
		`"fingerprint":"match.result/1:ab00000000000000000000000000000000000000000000000000000000000000"}`
	problemText = `{"type":"https://example.com/#busy","title":"Busy","status":503,"detail":"come again"}`
)

// TestSenderTakesProof has the answers that are proof. What the document names
// is passed on as it is, also where it is not what was sent: the relay
// compares (I6).
func TestSenderTakesProof(t *testing.T) {
	t.Parallel()
	e := match("42")
	other := match("43")
	other.Fingerprint = digest("ff")
	refused := outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: "unknown-room: no room 42"}
	for _, test := range []struct {
		name      string
		status    int
		mediaType string
		body      string
		want      outbox.Ack
	}{
		{
			"receipt", 200, receipt.MediaType, receiptText(t, settled(e)),
			outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint},
		},
		{
			"media type in capitals, with a parameter", 200, "Application/vnd.settleonce.RECEIPT+json; charset=utf-8", receiptText(t, settled(e)),
			outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint},
		},
		{
			"receipt of another key and fingerprint", 200, receipt.MediaType, receiptText(t, settled(other)),
			outbox.Ack{Kind: outbox.AckReceipt, Key: other.Key, Fingerprint: other.Fingerprint},
		},
		{
			"receipt of a later version", 200, receipt.MediaType, `{"later":1,` + receiptText(t, settled(e))[1:],
			outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint},
		},
		{"refusal", 422, settlehttp.RefusalMediaType, refusalText, refused},
		{"refusal with another status of the 400s", 409, settlehttp.RefusalMediaType, refusalText, refused},
		{
			"refusal of another key", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, `"id":"42"`, `"id":"43"`, 1),
			outbox.Ack{Kind: outbox.AckRefusal, Key: other.Key, Fingerprint: e.Fingerprint, Reason: "unknown-room: no room 42"},
		},
		{
			"refusal without detail", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, `"detail":"no room 42",`, ``, 1),
			outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: "unknown-room"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := receiver(t, test.status, test.mediaType, test.body, "Retry-After", "7")
			got := send(t, newSender(t, server.URL), e)
			if diff := cmp.Diff(outbox.Answer{Ack: test.want}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSenderTakesNothingElse has the answers that prove nothing, each with why
// somebody might think that it does. The record stays.
func TestSenderTakesNothingElse(t *testing.T) {
	t.Parallel()
	e := match("42")
	proof := receiptText(t, settled(e))
	const html = "<html>It works!</html>"
	for _, test := range []struct {
		name      string // and why
		status    int
		mediaType string
		body      string
		want      string // in the error's text
	}{
		{"a bare 200 of a proxy", 200, "", "", `status 200: media type ""`},
		{"a page with 200, from a captive portal", 200, "text/html", html, `status 200: media type "text/html"`},
		{"a 204", 204, "", "", `status 204: media type ""`},
		{"a bare 404: the route is not deployed yet", 404, "", "", `status 404: media type ""`},
		{"a page with 404", 404, "text/html", html, `media type "text/html"`},
		{"a 401 of a proxy", 401, "text/plain", "who are you", "status 401"},
		{"a 413 of a proxy with a smaller limit", 413, "text/html", html, "status 413"},
		{"a 429", 429, "text/plain", "slow down", "status 429"},
		{"a 502 while the receiver restarts", 502, "text/html", html, "status 502"},
		{"a receipt called JSON: any service might send one", 200, "application/json", proof, `media type "application/json"`},
		{"a receipt without a media type", 200, "", proof, `media type ""`},
		{"a receipt with 201", 201, receipt.MediaType, proof, "a receipt must come with status 200"},
		{"a receipt with 500: an error page that quotes it", 500, receipt.MediaType, proof, "a receipt must come with status 200"},
		{"an empty receipt", 200, receipt.MediaType, "", "the receipt could not be read: receipt: invalid: must be one valid JSON text"},
		{"half a receipt", 200, receipt.MediaType, proof[:len(proof)/2], "must be one valid JSON text"},
		{"a receipt and more", 200, receipt.MediaType, proof + proof, "must be one valid JSON text"},
		{"a receipt with two keys", 200, receipt.MediaType, `{"key":{},` + proof[1:], `member "key" stands twice`},
		{"a receipt with a key in capitals", 200, receipt.MediaType, `{"Key":{},` + proof[1:], `"Key" must be written key`},
		{"a receipt without a fingerprint", 200, receipt.MediaType, strings.Replace(proof, `"fingerprint"`, `"x"`, 1), "fingerprint is missing"},
		{"a receipt that confirms another effect", 200, receipt.MediaType, `{"confirms":"` + digest("ff").String() + `",` + proof[1:], "confirms must be under another version of the receipt's schema"},
		{"a receipt that confirms another schema", 200, receipt.MediaType, `{"confirms":"other/2:` + strings.Repeat("ab", 32) + `",` + proof[1:], "confirms must be under another version of the receipt's schema"},
		{"a receipt that confirms nothing", 200, receipt.MediaType, `{"confirms":"",` + proof[1:], "confirms must not be empty"},
		{"a receipt that confirms nonsense", 200, receipt.MediaType, `{"confirms":7,` + proof[1:], "confirms"},
		{"a receipt of nobody", 200, receipt.MediaType, strings.Replace(proof, `"arena"`, `""`, 1), "tenant must not be empty"},
		{"null as a receipt", 200, receipt.MediaType, "null", "must be a JSON object"},
		{"a refusal called a receipt", 200, receipt.MediaType, refusalText, "revision is missing"},
		{"a refusal with 200", 200, settlehttp.RefusalMediaType, refusalText, "a refusal must come with a status of the 400s"},
		{"a refusal with 503", 503, settlehttp.RefusalMediaType, refusalText, "a refusal must come with a status of the 400s"},
		{"a refusal called a problem", 422, settlehttp.ProblemMediaType, refusalText, `a problem: "Refused"`},
		{"an empty refusal", 422, settlehttp.RefusalMediaType, "", "the refusal could not be read"},
		{"a refusal without a key", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, `"key"`, `"x"`, 1), "key is missing"},
		{"a refusal with half a key", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, `,"id":"42"`, ``, 1), "id is missing"},
		{"a refusal without a fingerprint", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, `"fingerprint"`, `"x"`, 1), "fingerprint is missing"},
		{"a refusal with an empty fingerprint", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, digest("ab").String(), ``, 1), "fingerprint must be set"},
		{"a refusal with two keys", 422, settlehttp.RefusalMediaType, `{"key":{},` + refusalText[1:], `member "key" stands twice`},
		{"a refusal without a type", 422, settlehttp.RefusalMediaType, strings.Replace(refusalText, "https://example.com/#refused", "", 1), "type must not be empty"},
		{"a problem called a refusal", 422, settlehttp.RefusalMediaType, problemText, "code is missing"},
		{"a problem", 503, settlehttp.ProblemMediaType, problemText, `status 503: a problem: "Busy" ("https://example.com/#busy"): "come again"`},
		{"a problem with 200", 200, settlehttp.ProblemMediaType, problemText, `status 200: a problem: "Busy"`},
		{"a broken problem", 503, settlehttp.ProblemMediaType, "{", "the problem document could not be read"},
		{"lines that would forge a log", 503, settlehttp.ProblemMediaType, `{"type":"a\nb","title":"c\nd","detail":"e\nf"}`, `"c\nd" ("a\nb"): "e\nf"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := receiver(t, test.status, test.mediaType, test.body, "Retry-After", "7")
			got := send(t, newSender(t, server.URL), e)
			checkNoProof(t, got, test.status, test.want)
			if got.RetryAfter != 7*time.Second {
				t.Errorf("RetryAfter %v, want 7s", got.RetryAfter)
			}
		})
	}
}

func checkNoProof(t *testing.T, got outbox.Answer, status int, want string) {
	t.Helper()
	if diff := cmp.Diff(outbox.Ack{}, got.Ack); diff != "" {
		t.Errorf("taken as proof (-want +got):\n%s", diff)
	}
	if !errors.Is(got.Err, settlehttp.ErrNoProof) {
		t.Fatalf("errors.Is(%v, ErrNoProof) is false", got.Err)
	}
	described, ok := errors.AsType[*settlehttp.AnswerError](got.Err)
	if !ok || described.Status != status {
		t.Errorf("error %#v, want an *AnswerError with status %d", got.Err, status)
	}
	text := got.Err.Error()
	if !strings.Contains(text, want) || strings.Contains(text, "\n") || len(text) > 5000 {
		t.Errorf("error %q, want %q in one short line", text, want)
	}
}

// TestSenderReadsProblems checks what programs get of a problem.
func TestSenderReadsProblems(t *testing.T) {
	t.Parallel()
	server := receiver(t, 400, settlehttp.ProblemMediaType,
		`{"type":"t","title":"T","status":400,"errors":[{"field":"id","rule":"must not be empty"}],"instance":"/x"}`)
	got := send(t, newSender(t, server.URL), match("42"))
	described, _ := errors.AsType[*settlehttp.AnswerError](got.Err)
	want := settlehttp.Problem{Type: "t", Title: "T", Status: 400, Errors: []settlehttp.WrongField{{Field: "id", Rule: "must not be empty"}}}
	if described == nil {
		t.Fatalf("error %v", got.Err)
	}
	if diff := cmp.Diff(want, described.Problem); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if text := described.Error(); !strings.Contains(text, `"id" "must not be empty"`) {
		t.Errorf("text %q does not name the wrong field", text)
	}
}

// TestSenderTellsWhatIsAboutOneEvent keeps a record that the receiver cannot
// take from making the relay think that the receiver is down.
func TestSenderTellsWhatIsAboutOneEvent(t *testing.T) {
	t.Parallel()
	for problemType, want := range map[string]bool{
		settlehttp.TypeInFlight: true, settlehttp.TypeSchemaVersion: true, settlehttp.TypeMalformed: true,
		settlehttp.TypeForbidden: true, settlehttp.TypeTooLarge: true,
		settlehttp.TypeUnavailable: false, settlehttp.TypeOutcomeUnknown: false, settlehttp.TypeWithheld: false,
		settlehttp.TypeInternal: false, settlehttp.TypeUnauthenticated: false, settlehttp.TypeMediaType: false,
		settlehttp.TypeMethod: false, "about:blank": false, "": false,
	} {
		t.Run(problemType, func(t *testing.T) {
			t.Parallel()
			server := receiver(t, 503, settlehttp.ProblemMediaType, `{"type":"`+problemType+`"}`)
			if got := send(t, newSender(t, server.URL), match("42")); got.EventAlone != want || got.Err == nil {
				t.Errorf("EventAlone is %v beside %v, want %v beside an error", got.EventAlone, got.Err, want)
			}
		})
	}
}

// TestSenderIsNotFooledByEchoes sends to servers that return what they get,
// under the media type of the request and under each that would be proof.
func TestSenderIsNotFooledByEchoes(t *testing.T) {
	t.Parallel()
	for _, mediaType := range []string{"", receipt.MediaType, settlehttp.RefusalMediaType, settlehttp.ProblemMediaType} {
		for _, status := range []int{200, 422} {
			t.Run(fmt.Sprint(status, mediaType), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header()["Content-Type"] = r.Header["Content-Type"]
					if mediaType != "" {
						w.Header().Set("Content-Type", mediaType)
					}
					w.WriteHeader(status)
					io.Copy(w, r.Body)
				}))
				defer server.Close()
				checkNoProof(t, send(t, newSender(t, server.URL), match("42")), status, "status")
			})
		}
	}
}

func TestSenderBoundsAnswers(t *testing.T) {
	t.Parallel()
	e := match("42")
	proof := receiptText(t, settled(e))
	limit := func(config *settlehttp.SenderConfig) { config.MaxAnswer = int64(len(proof)) }
	exact := receiver(t, 200, receipt.MediaType, proof)
	if got := send(t, newSender(t, exact.URL, limit), e); got.Ack.Kind != outbox.AckReceipt {
		t.Errorf("an answer of exactly MaxAnswer bytes: %v", got.Err)
	}
	over := receiver(t, 200, receipt.MediaType, proof+" ")
	checkNoProof(t, send(t, newSender(t, over.URL, limit), e), 200, fmt.Sprintf("it has more than %d bytes", len(proof)))

	// An answer without an end, which the sender must not wait for.
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", receipt.MediaType)
		for {
			if _, err := w.Write([]byte(proof)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	checkNoProof(t, send(t, newSender(t, endless.URL, limit), e), 200, "it has more than")
}

// TestSenderNoticesAnswersCutOff promises more bytes than come.
func TestSenderNoticesAnswersCutOff(t *testing.T) {
	t.Parallel()
	e := match("42")
	proof := receiptText(t, settled(e))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", receipt.MediaType)
		w.Header().Set("Content-Length", fmt.Sprint(len(proof)+1))
		io.WriteString(w, proof) // a whole receipt, but not the whole answer
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	got := send(t, newSender(t, server.URL), e)
	checkNoProof(t, got, 200, "it was cut off")
	if !errors.Is(got.Err, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is(%v, io.ErrUnexpectedEOF) is false", got.Err)
	}
}

// TestSenderFollowsNoRedirect redirects to a server that would give a receipt.
func TestSenderFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("the redirect was followed, with the event and its signature")
			}))
			defer target.Close()
			server := receiver(t, status, receipt.MediaType, receiptText(t, settled(match("42"))), "Location", target.URL)
			own := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
			sender := newSender(t, server.URL, func(c *settlehttp.SenderConfig) { c.Client = own })
			checkNoProof(t, send(t, sender, match("42")), status, "a redirect, which is not followed")
			if own.CheckRedirect == nil || own.CheckRedirect(nil, nil) != nil {
				t.Error("the caller's client was changed")
			}
		})
	}
}

// TestSenderGivesUp ends a request whose answer does not come, or does not
// end: by the caller's context, and by the sender's own limit.
func TestSenderGivesUp(t *testing.T) {
	t.Parallel()
	headers := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", receipt.MediaType)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
	}
	for name, begin := range map[string]func(http.ResponseWriter){
		"before the headers": func(http.ResponseWriter) {}, "within the body": headers,
	} {
		slow := func(t *testing.T) (server *httptest.Server, asked chan struct{}) {
			t.Helper()
			asked = make(chan struct{})
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				begin(w)
				close(asked)
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			return server, asked
		}
		t.Run(name+", cancelled", func(t *testing.T) {
			t.Parallel()
			server, asked := slow(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			got := newSender(t, server.URL).Send(ctx, []event.Event{match("42")})[0]
			if !errors.Is(got.Err, context.Canceled) || got.Ack.Kind != outbox.AckNone {
				t.Errorf("answer %+v", got)
			}
		})
		t.Run(name+", out of time", func(t *testing.T) {
			t.Parallel()
			server, _ := slow(t)
			sender := newSender(t, server.URL, func(c *settlehttp.SenderConfig) { c.Timeout = 50 * time.Millisecond })
			got := send(t, sender, match("42"))
			if !errors.Is(got.Err, context.DeadlineExceeded) || got.Ack.Kind != outbox.AckNone {
				t.Errorf("answer %+v", got)
			}
		})
	}
}

func TestSenderWithoutReceiver(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	got := send(t, newSender(t, server.URL), match("42"))
	if got.Err == nil || !strings.HasPrefix(got.Err.Error(), "settlehttp: no answer: ") || errors.Is(got.Err, settlehttp.ErrNoProof) {
		t.Errorf("error %v", got.Err)
	}
}

// TestSenderSendsWhatIsSigned checks the request, and that nothing is sent
// that was not signed.
func TestSenderSendsWhatIsSigned(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var got struct{ method, mediaType, accept, signature, body string }
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body, _ := io.ReadAll(r.Body)
		got.method, got.mediaType, got.accept = r.Method, r.Header.Get("Content-Type"), r.Header.Get("Accept")
		got.signature, got.body = r.Header.Get("X-Signature"), string(body)
	}))
	defer server.Close()
	sign := func(call func(*http.Request, []byte) error) func(*settlehttp.SenderConfig) {
		return func(c *settlehttp.SenderConfig) { c.Sign = call }
	}
	e := match("42")
	var signed string
	send(t, newSender(t, server.URL, sign(func(r *http.Request, body []byte) error {
		signed = string(body)
		r.Header.Set("X-Signature", "ok")
		return nil
	})), e)
	if requests.Load() != 1 || got.method != "POST" || got.mediaType != event.MediaType || got.signature != "ok" {
		t.Errorf("%d requests, the last %+v", requests.Load(), got)
	}
	if got.body != signed || got.body != text(t, e) {
		t.Errorf("sent %s\nsigned %s", got.body, signed)
	}
	for _, mediaType := range []string{receipt.MediaType, settlehttp.RefusalMediaType, settlehttp.ProblemMediaType} {
		if !strings.Contains(got.accept, mediaType) {
			t.Errorf("Accept %q lacks %s", got.accept, mediaType)
		}
	}

	errKey := errors.New("no key")
	if got := send(t, newSender(t, server.URL, sign(func(*http.Request, []byte) error { return errKey })), e); !errors.Is(got.Err, errKey) {
		t.Errorf("error %v, want Sign's", got.Err)
	}
	panics := func(*http.Request, []byte) error { panic(errKey) }
	if got := send(t, newSender(t, server.URL, sign(panics)), e); got.Err == nil || !strings.Contains(got.Err.Error(), "Sign panicked") {
		t.Errorf("error %v, want the panic", got.Err)
	}
	invalid := e
	invalid.ID = ""
	if got := send(t, newSender(t, server.URL), invalid); !errors.Is(got.Err, event.ErrInvalid) {
		t.Errorf("error %v, want the event's", got.Err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests: one was sent without its signature, or an invalid event", requests.Load())
	}
}

// TestSenderKeepsOrderWithinBatch fails the second of five events: the fourth,
// of the same ordering key, must not overtake it (I8), and the others go on.
func TestSenderKeepsOrderWithinBatch(t *testing.T) {
	t.Parallel()
	var seen []string
	rig := newRig(t, settlehttp.HandlerConfig{
		Settle: func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			seen = append(seen, e.Key.ID)
			if e.Key.ID == "2" {
				return receipt.Receipt{}, receipt.ErrInFlight
			}
			return settled(e), nil
		},
	})
	batch := []event.Event{match("1"), match("2"), match("3"), match("4"), match("5")}
	batch[1].OrderingKey, batch[3].OrderingKey = "player/7", "player/7"
	answers := newSender(t, rig.server.URL).Send(t.Context(), batch)
	if diff := cmp.Diff([]string{"1", "2", "3", "5"}, seen); diff != "" {
		t.Errorf("events delivered (-want +got):\n%s", diff)
	}
	for i, want := range []outbox.AckKind{outbox.AckReceipt, outbox.AckNone, outbox.AckReceipt, outbox.AckNone, outbox.AckReceipt} {
		if got := answers[i]; got.Ack.Kind != want || (got.Err == nil) != (want == outbox.AckReceipt) {
			t.Errorf("answer %d is %+v", i, got)
		}
		if want == outbox.AckReceipt && answers[i].Ack.Key != batch[i].Key {
			t.Errorf("answer %d names key %v", i, answers[i].Ack.Key)
		}
	}
	if got := newSender(t, rig.server.URL).Send(t.Context(), nil); len(got) != 0 {
		t.Errorf("%d answers to nothing", len(got))
	}
}

func TestSenderHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"120":                            2 * time.Minute,
		" 5 ":                            5 * time.Second,
		"86401":                          24 * time.Hour,
		"99999999999999999999999999":     24 * time.Hour,
		"-1":                             0,
		"+1":                             0,
		"1.5":                            0,
		"soon":                           0,
		"Sun, 01 Mar 2026 12:01:30 GMT":  90 * time.Second,
		"Sunday, 01-Mar-26 12:00:01 GMT": time.Second,
		"Sun Mar  1 12:00:02 2026":       2 * time.Second,
		"Sun, 01 Mar 2026 11:59:59 GMT":  0,
		"Tue, 01 Mar 2033 11:59:59 GMT":  24 * time.Hour,
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			server := receiver(t, 503, "", "", "Retry-After", value)
			sender := newSender(t, server.URL, func(c *settlehttp.SenderConfig) { c.Now = func() time.Time { return now } })
			if got := send(t, sender, match("42")); got.RetryAfter != want || got.Err == nil {
				t.Errorf("RetryAfter %v, want %v", got.RetryAfter, want)
			}
		})
	}
}
