package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/outbox/webhook"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// answered is an answer with its error as a text.
type answered struct {
	Ack        outbox.Ack
	Err        string
	EventAlone bool
	NotSent    bool
	RetryAfter time.Duration
}

func describe(answer outbox.Answer) answered {
	seen := answered{answer.Ack, "", answer.EventAlone, answer.NotSent, answer.RetryAfter}
	if answer.Err != nil {
		seen.Err = answer.Err.Error()
	}
	return seen
}

func wantAnswer(t *testing.T, want answered, got outbox.Answer) {
	t.Helper()
	if diff := cmp.Diff(want, describe(got), cmp.Comparer(fingerprint.Digest.Equal)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// says returns a handler that gives one answer.
func says(status int, mediaType, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestProofByStatus(t *testing.T) {
	t.Parallel()
	e := numbered(1)[0]
	published := answered{Ack: outbox.Ack{Kind: outbox.AckPublished, EventID: e.ID}}
	failed := func(status int, alone bool, wait time.Duration) answered {
		return answered{Err: fmt.Sprintf(`webhook: endpoint "shop": webhook: no proof: status %d`, status), EventAlone: alone, RetryAfter: wait}
	}
	date := time.Unix(vectorSeconds, 0).Add(90 * time.Second).UTC().Format(http.TimeFormat)
	for _, test := range []struct {
		status     int
		retryAfter string
		want       answered
		failures   int // of the endpoint
	}{
		{200, "", published, 0},
		{202, "60", published, 0},
		{299, "", published, 0},
		{207, "", failed(207, false, 0), 0},
		{422, "", answered{Ack: outbox.Ack{Kind: outbox.AckRejected, EventID: e.ID, Reason: "status 422"}}, 0},
		{302, "", failed(302, false, 0), 0},
		{400, "", failed(400, true, 0), 0},
		{401, "", failed(401, false, 0), 0},
		{404, "", failed(404, false, 0), 0},
		{413, "", failed(413, true, 0), 0},
		{500, "", failed(500, false, 0), 0},
		{409, "2", failed(409, true, 2*time.Second), 0},
		{429, "7", failed(429, false, 7*time.Second), 1},
		{429, "", failed(429, false, 0), 1},
		{502, "", failed(502, false, 0), 1},
		{503, date, failed(503, false, 90*time.Second), 1},
		{503, "86400", failed(503, false, webhook.DefaultMaxPause), 1},
		{504, "", failed(504, false, 0), 1},
	} {
		t.Run(fmt.Sprintf("%d, Retry-After %s", test.status, test.retryAfter), func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofStatus)
			end.setClock(at(vectorSeconds))
			end.setAnswer(says(test.status, "text/plain", string(e.Data), "Retry-After", test.retryAfter, "Location", "/elsewhere"))
			endpoint := end.endpoint(t, webhook.Structured)
			endpoint.RejectStatuses = []int{422}
			sender := newSender(t, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: end.trust(), Now: at(vectorSeconds)})
			wantAnswer(t, test.want, sender.Send(t.Context(), []event.Event{e})[0])
			if got := sender.Endpoints()[0].Failures; got != test.failures {
				t.Errorf("%d failures, want %d", got, test.failures)
			}
			if got := len(end.seen()); got != 1 {
				t.Errorf("%d requests: a redirect was followed", got)
			}
		})
	}
}

func TestProofByReceipt(t *testing.T) {
	t.Parallel()
	e, other := numbered(2)[0], numbered(2)[1]
	problem := func(kind string) string {
		return fmt.Sprintf(`{"type":%q,"title":"Problem","status":503}`, kind)
	}
	const noProof = `webhook: endpoint "shop": settlehttp: no proof: `
	for _, test := range []struct {
		name     string
		answer   http.HandlerFunc
		want     answered
		failures int
	}{
		{"receipt", says(200, receipt.MediaType, string(receiptOf(e))), answered{Ack: outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}}, 0},
		{"another key's receipt", says(200, receipt.MediaType, string(receiptOf(other))), answered{Ack: outbox.Ack{Kind: outbox.AckReceipt, Key: other.Key, Fingerprint: other.Fingerprint}}, 0},
		{"refusal", says(422, settlehttp.RefusalMediaType, string(refusalOf(e, "no"))), answered{Ack: outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: "refused: no"}}, 0},
		{"bare status", says(200, "text/html", "<p>Welcome"), answered{Err: noProof + `status 200: media type "text/html", which is neither a receipt's nor a refusal's`}, 0},
		{"echo", func(w http.ResponseWriter, r *http.Request) { says(200, r.Header.Get("Content-Type"), "{}")(w, r) }, answered{Err: noProof + `status 200: media type "application/cloudevents+json", which is neither a receipt's nor a refusal's`}, 0},
		{"redirect", says(307, receipt.MediaType, string(receiptOf(e)), "Location", "/elsewhere"), answered{Err: noProof + "status 307: a redirect, which is not followed"}, 0},
		{"receipt too long", says(200, receipt.MediaType, strings.Repeat(" ", 4096)+string(receiptOf(e))), answered{Err: noProof + "status 200: the answer could not be read: it has more than 4096 bytes"}, 0},
		{"in flight", says(409, settlehttp.ProblemMediaType, problem(settlehttp.TypeInFlight), "Retry-After", "2"), answered{Err: noProof + fmt.Sprintf(`status 409: a problem: "Problem" (%q)`, settlehttp.TypeInFlight), EventAlone: true, RetryAfter: 2 * time.Second}, 0},
		{"schema of tomorrow", says(503, settlehttp.ProblemMediaType, problem(settlehttp.TypeSchemaVersion)), answered{Err: noProof + fmt.Sprintf(`status 503: a problem: "Problem" (%q)`, settlehttp.TypeSchemaVersion), EventAlone: true}, 0},
		{"database away", says(503, settlehttp.ProblemMediaType, problem(settlehttp.TypeUnavailable)), answered{Err: noProof + fmt.Sprintf(`status 503: a problem: "Problem" (%q)`, settlehttp.TypeUnavailable)}, 1},
		{"answers to a batch", says(200, webhook.AnswersMediaType, "[]"), answered{Err: noProof + `status 200: media type "application/vnd.settleonce.answers+json", which is neither a receipt's nor a refusal's`}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofReceipt)
			end.setAnswer(test.answer)
			sender := end.sender(t, webhook.Structured, func(e *webhook.Endpoint) { e.MaxAnswer = 4096 })
			wantAnswer(t, test.want, sender.Send(t.Context(), []event.Event{e})[0])
			if got := sender.Endpoints()[0].Failures; got != test.failures {
				t.Errorf("%d failures, want %d", got, test.failures)
			}
			if got := len(end.seen()); got != 1 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

func TestProofOfBatches(t *testing.T) {
	t.Parallel()
	events := numbered(2)
	first, second := events[0], events[1]
	changed := outboxtest.WithData(first, `{"id":"other"}`)
	element := func(mediaType string, document []byte) string {
		return fmt.Sprintf(`{"mediatype":%q,"document":%s}`, mediaType, document)
	}
	settled := func(e event.Event) string { return element(receipt.MediaType, receiptOf(e)) }
	refused := func(e event.Event) string { return element(settlehttp.RefusalMediaType, refusalOf(e, "no")) }
	const inFlight = `{"mediatype":"application/problem+json","document":{"type":"t","title":"Busy","status":409}`
	key := `{"tenant":"acme","scope":"test","operation":"happen","id":"00"}`
	proven := func(e event.Event) answered {
		return answered{Ack: outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}}
	}
	alone := func(text string) answered {
		return answered{Err: `webhook: endpoint "shop": ` + text, EventAlone: true}
	}
	const missing = "webhook: no proof: the answer has no document for the event's key"
	whole := func(text string) []answered {
		failed := answered{Err: `webhook: endpoint "shop": webhook: no proof: ` + text}
		return []answered{failed, failed}
	}
	for _, test := range []struct {
		name string
		body string
		want []answered
	}{
		{"in another order", settled(second) + "," + settled(first), []answered{proven(first), proven(second)}},
		{"one refused", refused(first) + "," + settled(second), []answered{
			{Ack: outbox.Ack{Kind: outbox.AckRefusal, Key: first.Key, Fingerprint: first.Fingerprint, Reason: "refused: no"}}, proven(second),
		}},
		{"one missing", settled(second), []answered{alone(missing), proven(second)}},
		{"none", "", []answered{alone(missing), alone(missing)}},
		{"a problem", inFlight + `,"key":` + key + "}," + settled(second), []answered{alone(`settlehttp: no proof: a problem: "Busy" ("t")`), proven(second)}},
		{"a receipt beside a problem", inFlight + `,"key":` + key + "}," + settled(first), []answered{proven(first), alone(missing)}},
		{"one key's other content", settled(changed) + "," + settled(second), []answered{proven(changed), proven(second)}},
		{"other content before the right one", settled(changed) + "," + settled(first), []answered{proven(first), alone(missing)}},
		{"right content before another", settled(first) + "," + refused(changed), []answered{proven(first), alone(missing)}},
		{"receipt and refusal", settled(first) + "," + refused(first) + "," + settled(second), []answered{
			alone("webhook: no proof: a receipt and a refusal for one key and fingerprint"), proven(second),
		}},
		{"one receipt twice", settled(first) + "," + settled(first), []answered{proven(first), alone(missing)}},
		{"a problem without a key", inFlight + "}," + settled(first), whole("answer 0: a problem must name its key")},
		{"an unreadable receipt", settled(first) + "," + element(receipt.MediaType, []byte("{}")), nil},
		{"an unknown document", settled(first) + "," + element("text/plain", []byte("1")), whole(`answer 1: settlehttp: no proof: media type "text/plain", which is neither a receipt's nor a refusal's`)},
		{"no media type", `{"document":{}}`, whole("answer 0: mediatype is missing")},
		{"no array", `]{"a":[`, whole("the answers must be one valid JSON text")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofReceipt)
			end.setAnswer(says(200, webhook.AnswersMediaType, "["+test.body+"]"))
			got := end.sender(t, webhook.Batched).Send(t.Context(), events)
			for i := range got {
				if test.want == nil {
					if got[i].Err == nil {
						t.Errorf("event %d has the proof %+v", i, got[i].Ack)
					}
					continue
				}
				wantAnswer(t, test.want[i], got[i])
			}
		})
	}
}

// TestBatchAnswersThatAreNone have all that is needed for a proof, and one thing
// that is not right.
func TestBatchAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	e := numbered(1)[0]
	body := fmt.Sprintf(`[{"mediatype":%q,"document":%s}]`, receipt.MediaType, receiptOf(e))
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		change func(*webhook.Endpoint)
		proven bool
	}{
		{"right", says(200, webhook.AnswersMediaType, body), nil, true},
		{"as long as it may be", says(200, webhook.AnswersMediaType, body), func(e *webhook.Endpoint) { e.MaxAnswer = int64(len(body)) }, true},
		{"too long", says(200, webhook.AnswersMediaType, body), func(e *webhook.Endpoint) { e.MaxAnswer = int64(len(body)) - 1 }, false},
		{"a status of failure", says(202, webhook.AnswersMediaType, body), nil, false},
		{"two media types", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{webhook.AnswersMediaType, "text/html"}
			fmt.Fprint(w, body)
		}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofReceipt)
			end.setAnswer(test.answer)
			var changes []func(*webhook.Endpoint)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			if answer := end.sender(t, webhook.Batched, changes...).Send(t.Context(), []event.Event{e})[0]; (answer.Err == nil) != test.proven {
				t.Errorf("answer %+v, want a proof: %t", answer, test.proven)
			}
		})
	}
}

// TestBatchWithOneReceipt has an endpoint that answers a batch as if it were
// one event: only the one that it names is proven.
func TestBatchWithOneReceipt(t *testing.T) {
	t.Parallel()
	events := numbered(2)
	end := newReceiver(t, webhook.ProofReceipt)
	end.setAnswer(says(200, receipt.MediaType, string(receiptOf(events[1]))))
	got := end.sender(t, webhook.Batched).Send(t.Context(), events)
	if got[0].Err == nil || got[1].Err != nil {
		t.Errorf("answers %+v", got)
	}
}

// TestFailedBatchWithReceipts has receipts under a status that contradicts them.
func TestFailedBatchWithReceipts(t *testing.T) {
	t.Parallel()
	e := numbered(1)[0]
	end := newReceiver(t, webhook.ProofReceipt)
	end.setAnswer(says(500, webhook.AnswersMediaType, fmt.Sprintf(`[{"mediatype":%q,"document":%s}]`, receipt.MediaType, receiptOf(e))))
	wantAnswer(t, answered{
		Err: `webhook: endpoint "shop": settlehttp: no proof: status 500: media type "application/vnd.settleonce.answers+json", which is neither a receipt's nor a refusal's`,
	}, end.sender(t, webhook.Batched).Send(t.Context(), []event.Event{e})[0])
}

// TestBatchIsDivided has one event that the endpoint rejects, whatever it comes
// with.
func TestBatchIsDivided(t *testing.T) {
	t.Parallel()
	events := numbered(9)
	const bad = 5
	for _, test := range []struct {
		name   string
		status int
		lists  []int
		want   answered
	}{
		{"rejected", 422, []int{422}, answered{Ack: outbox.Ack{Kind: outbox.AckRejected, EventID: events[bad].ID, Reason: "status 422"}}},
		{"failed", 422, nil, answered{Err: `webhook: endpoint "shop": webhook: no proof: status 422`, EventAlone: true}},
		{"too large", 413, nil, answered{Err: `webhook: endpoint "shop": webhook: no proof: status 413`, EventAlone: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofStatus)
			end.setAnswer(func(w http.ResponseWriter, _ *http.Request) {
				seen := end.seen()
				got := seen[len(seen)-1].events
				if slices.ContainsFunc(got, func(e event.Event) bool { return e.ID == events[bad].ID }) {
					w.WriteHeader(test.status)
				}
			})
			sender := end.sender(t, webhook.Batched, func(e *webhook.Endpoint) { e.RejectStatuses = test.lists })
			for i, answer := range sender.Send(t.Context(), events) {
				want := answered{Ack: outbox.Ack{Kind: outbox.AckPublished, EventID: events[i].ID}}
				if i == bad {
					want = test.want
				}
				wantAnswer(t, want, answer)
			}
		})
	}
}

// TestUndividedBatch shows that a failure of the endpoint costs one request.
func TestUndividedBatch(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	end.setAnswer(says(500, "text/plain", ""))
	for _, answer := range end.sender(t, webhook.Batched).Send(t.Context(), numbered(4)) {
		wantAnswer(t, answered{Err: `webhook: endpoint "shop": webhook: no proof: status 500`}, answer)
	}
	if got := len(end.seen()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	end.setAnswer(says(410, "text/plain", ""))
	sender := end.sender(t, webhook.Structured)
	first, later := numbered(2)[:1], numbered(2)[1:]
	wantAnswer(t, answered{Err: `webhook: endpoint "shop": webhook: no proof: status 410`}, sender.Send(t.Context(), first)[0])
	stopped := sender.Send(t.Context(), later)[0]
	wantAnswer(t, answered{
		Err: `webhook: endpoint "shop": not sent: webhook: the endpoint is gone`, RetryAfter: webhook.DefaultMaxPause,
	}, stopped)
	if !errors.Is(stopped.Err, webhook.ErrGone) || !sender.Endpoints()[0].Gone || len(end.seen()) != 1 {
		t.Errorf("error %v, state %+v, %d requests", stopped.Err, sender.Endpoints()[0], len(end.seen()))
	}

	end.setAnswer(nil)
	wantError(t, sender.Resume("elsewhere"), `webhook: no endpoint has the name "elsewhere"`)
	if err := sender.Resume("shop"); err != nil {
		t.Fatal(err)
	}
	if answer := sender.Send(t.Context(), later)[0]; answer.Err != nil {
		t.Error(answer.Err)
	}
}

// TestWhatIsNotSentSaysNothingOfTheEndpoint has no room in time for an event, and
// an event behind one that fails.
func TestWhatIsNotSentSaysNothingOfTheEndpoint(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	end.setAnswer(says(500, "text/plain", ""))
	sender := end.sender(t, webhook.Structured)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	wantAnswer(t, answered{Err: `webhook: endpoint "shop": not sent: context canceled`, NotSent: true}, sender.Send(cancelled, numbered(1))[0])

	one := two(t, end, newReceiver(t, webhook.ProofStatus)).Send(cancelled, addressed("a"))[0]
	wantAnswer(t, answered{Err: `webhook: endpoint "a": not sent: context canceled`, NotSent: true}, one)

	batch := numbered(2)
	batch[0].OrderingKey, batch[1].OrderingKey = "a", "a"
	wantAnswer(t, answered{Err: "webhook: not sent: an earlier event of the same ordering key was not delivered", NotSent: true}, sender.Send(t.Context(), batch)[1])
	if got := len(end.seen()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	end.setAnswer(says(503, "text/plain", "", "Retry-After", "3600"))
	sender := end.sender(t, webhook.Structured, func(e *webhook.Endpoint) { e.MaxPause = time.Hour })
	sender.Send(t.Context(), numbered(1))
	held := sender.Send(t.Context(), numbered(1))[0]
	if !errors.Is(held.Err, webhook.ErrPaused) || held.EventAlone || held.NotSent || held.RetryAfter <= 0 || held.RetryAfter > time.Hour {
		t.Errorf("answer %+v", held)
	}
	if len(end.seen()) != 1 {
		t.Errorf("%d requests, want 1", len(end.seen()))
	}
	end.setAnswer(nil)
	if err := sender.Resume("shop"); err != nil {
		t.Fatal(err)
	}
	if answer := sender.Send(t.Context(), numbered(1))[0]; answer.Err != nil {
		t.Errorf("after Resume: %v", answer.Err)
	}
}

// TestCallerGivesUp shows that a caller's cancellation is not held against the
// endpoint.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	ctx, cancel := context.WithCancel(t.Context())
	end.setAnswer(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	sender := end.sender(t, webhook.Structured)
	answer := sender.Send(ctx, numbered(1))[0]
	if !errors.Is(answer.Err, context.Canceled) {
		t.Errorf("error %v", answer.Err)
	}
	if state := sender.Endpoints()[0]; state.Failures != 0 || state.Out != 0 || state.Waiting != 0 {
		t.Errorf("state %+v", state)
	}
}

// two returns a sender to two endpoints, which routes by the event's subject.
func two(t *testing.T, a, b *receiver) *webhook.Sender {
	t.Helper()
	first, second := a.endpoint(t, webhook.Structured), b.endpoint(t, webhook.Structured)
	first.Name, second.Name = "a", "b"
	return newSender(t, webhook.Config{
		Endpoints: []webhook.Endpoint{first, second}, TLS: a.trust(),
		Route: bySubject,
	})
}

func bySubject(e *event.Event) (endpoint string, err error) {
	switch e.Subject {
	case "panic":
		panic("at the disco")
	case "error":
		return "", errors.New("no customer")
	default:
		return e.Subject, nil
	}
}

func addressed(subjects ...string) []event.Event {
	events := numbered(len(subjects))
	for i := range events {
		events[i].Subject = subjects[i]
	}
	return events
}

func TestRoute(t *testing.T) {
	t.Parallel()
	a, b := newReceiver(t, webhook.ProofStatus), newReceiver(t, webhook.ProofStatus)
	events := addressed("a", "b", "c", "error", "panic", "a")
	got := two(t, a, b).Send(t.Context(), events)
	for i, want := range []string{
		"", "", `webhook: not sent: Route named "c", which is no endpoint`, "webhook: not sent: Route: no customer",
		"webhook: not sent: Route: it panicked: at the disco", "",
	} {
		if text := describe(got[i]).Err; text != want || got[i].NotSent != (text != "") || got[i].EventAlone {
			t.Errorf("event %d: %+v, want error %q", i, got[i], want)
		}
	}
	for _, end := range []struct {
		*receiver
		want []string
	}{{a, []string{events[0].ID, events[5].ID}}, {b, []string{events[1].ID}}} {
		var ids []string
		for _, e := range end.takenEvents() {
			ids = append(ids, e.ID)
		}
		slices.Sort(ids) // They travel at the same time.
		if diff := cmp.Diff(end.want, ids, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
	}
}

// TestOneEndpointDown shows that an endpoint that hangs delays no other, in one
// call and in the next.
func TestOneEndpointDown(t *testing.T) {
	t.Parallel()
	hanging, well := newReceiver(t, webhook.ProofStatus), newReceiver(t, webhook.ProofStatus)
	reached, wellTook := make(chan struct{}), make(chan struct{})
	hanging.setAnswer(func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-wellTook // Only then does it answer.
		w.WriteHeader(http.StatusBadGateway)
	})
	well.setAnswer(func(http.ResponseWriter, *http.Request) {
		<-reached
		close(wellTook)
	})
	sender := two(t, hanging, well)
	got := sender.Send(t.Context(), addressed("a", "b"))
	wantAnswer(t, answered{Err: `webhook: endpoint "a": webhook: no proof: status 502`, EventAlone: true}, got[0])
	if got[1].Err != nil {
		t.Error(got[1].Err)
	}
	well.setAnswer(nil)
	if answer := sender.Send(t.Context(), addressed("b"))[0]; answer.Err != nil {
		t.Error(answer.Err)
	}
}

// TestOrderWithinCall gives two events of one ordering key in one call, which a
// relay never does.
func TestOrderWithinCall(t *testing.T) {
	t.Parallel()
	batch := []event.Event{outboxtest.NewEvent("1", "x"), outboxtest.NewEvent("2", "x"), outboxtest.NewEvent("3", "y")}
	for _, mode := range []webhook.Mode{webhook.Structured, webhook.Batched} {
		end := newReceiver(t, webhook.ProofStatus)
		sender := end.sender(t, mode, func(e *webhook.Endpoint) { e.MaxInFlight, e.RejectStatuses = 1, []int{422} })
		sender.Send(t.Context(), batch)
		var ids []string
		for _, e := range end.takenEvents() {
			ids = append(ids, e.ID)
		}
		if diff := cmp.Diff([]string{"event-1", "event-3", "event-2"}, ids); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}

		for _, status := range []int{500, 422} {
			end.setAnswer(says(status, "text/plain", ""))
			before := len(end.seen())
			got := sender.Send(t.Context(), batch[:2])
			if got[0].Ack.Kind == outbox.AckPublished || got[1].Err == nil || len(end.seen()) != before+1 {
				t.Errorf("status %d: answers %+v after %d requests", status, got, len(end.seen())-before)
			}
		}
	}
}

// TestErrorsSayLittle has everything in it that no log may have.
func TestErrorsSayLittle(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	away := httptest.NewServer(nil)
	away.Close()
	e := numbered(1)[0]
	end.setAnswer(says(500, "text/plain", string(e.Data)))
	for _, base := range []string{end.server.URL, away.URL} {
		sender := end.sender(t, webhook.Structured, func(e *webhook.Endpoint) {
			e.URL, e.AllowHTTP = base+"/path-token?q=query-token", true
			e.Header = http.Header{"Authorization": {"header-token"}}
		})
		answer := sender.Send(t.Context(), []event.Event{e})[0]
		if answer.Err == nil {
			t.Fatal("no error")
		}
		for _, hidden := range []string{"path-token", "query-token", "header-token", string(e.Data), `{\"id\"`} {
			if strings.Contains(answer.Err.Error(), hidden) {
				t.Errorf("%v shows %q", answer.Err, hidden)
			}
		}
	}
}

func TestInvalidEvent(t *testing.T) {
	t.Parallel()
	for _, mode := range []webhook.Mode{webhook.Structured, webhook.Binary, webhook.Batched} {
		end := newReceiver(t, webhook.ProofStatus)
		batch := numbered(2)
		batch[0].Type = ""
		got := end.sender(t, mode).Send(t.Context(), batch)
		wantAnswer(t, answered{Err: "webhook: not sent: event: invalid: type must not be empty", NotSent: true}, got[0])
		if got[1].Err != nil {
			t.Errorf("mode %d: a good event beside an invalid one: %v", mode, got[1].Err)
		}
	}
}

// TestHalfAnAnswer has an endpoint that begins its answer and never ends it, or
// breaks it off: as good as none.
func TestHalfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, mediaType string
		status          int
		mode            webhook.Mode
		stalls          bool
	}{
		{"stalls", receipt.MediaType, 200, webhook.Structured, true},
		{"breaks off", receipt.MediaType, 200, webhook.Structured, false},
		{"of a refusal breaks off", settlehttp.RefusalMediaType, 409, webhook.Structured, false},
		{"of a batch stalls", webhook.AnswersMediaType, 200, webhook.Batched, true},
		{"of a batch breaks off", webhook.AnswersMediaType, 200, webhook.Batched, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofReceipt)
			end.setAnswer(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.mediaType)
				w.Header().Set("Content-Length", "100")
				w.WriteHeader(test.status)
				fmt.Fprint(w, "[")
				w.(http.Flusher).Flush()
				if test.stalls {
					<-r.Context().Done()
				}
			})
			sender := end.sender(t, test.mode, func(e *webhook.Endpoint) { e.Timeout = 200 * time.Millisecond })
			answer := sender.Send(t.Context(), numbered(1))[0]
			if answer.Err == nil || answer.EventAlone {
				t.Errorf("answer %+v, want an error that is not about the event alone", answer)
			}
			if state := sender.Endpoints()[0]; state.Failures != 1 {
				t.Errorf("state %+v, want a pause", state)
			}
		})
	}
}
