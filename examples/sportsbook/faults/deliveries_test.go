package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

// inbox is a projection that gives every event a receipt, once it has the event's
// ID, and else a bare 500.
type inbox struct {
	mu    sync.Mutex
	taken []string // IDs, as they came
	fails bool
	seen  http.Header // of the last request
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e event.Event
	i.mu.Lock()
	i.seen = r.Header.Clone()
	broken := json.Unmarshal(body, &e) != nil || i.fails
	i.mu.Unlock()
	if broken {
		http.Error(w, "something is wrong", http.StatusInternalServerError)
		return
	}
	hold.Here(r.Context(), faults.HoldTransaction)
	if r.Context().Err() != nil {
		return // the process is dead
	}
	i.mu.Lock()
	i.taken = append(i.taken, e.ID)
	i.mu.Unlock()
	text, _ := json.Marshal(receipt.Receipt{
		Key: e.Key, Requested: "settled", Outcome: "settled", Fingerprint: e.Fingerprint, Value: []byte("{}"), Attempt: "attempt-of-" + e.ID,
	})
	w.Header().Set("Content-Type", receipt.MediaType)
	_, _ = w.Write(text)
}

func (i *inbox) came() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.taken)
}

// fail has every event answered with a bare 500, or no longer.
func (i *inbox) fail(fails bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fails = fails
}

// post is the way of events to an inbox.
type post struct {
	*inbox
	proxy *faults.Deliveries
	url   string
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{inbox: &inbox{}, proxy: faults.NewDeliveries(faults.DeliveriesConfig{Client: &http.Client{}})}
	back := httptest.NewServer(hold.Requests(p.inbox))
	t.Cleanup(back.Close)
	front := httptest.NewServer(p.proxy)
	t.Cleanup(front.Close)
	p.url = front.URL
	p.proxy.SetProjection(back.URL)
	return p
}

// delivered is what came of a delivery: the body that the relay got; "" is none.
type delivered <-chan string

// deliver sends an event of ann's, or of another wallet's, as a relay does.
func (p *post) deliver(t *testing.T, relay, wallet, id string) delivered {
	t.Helper()
	return p.send(t.Context(), relay, eventText(t, wallet, id))
}

func eventText(t *testing.T, wallet, id string) []byte {
	t.Helper()
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "test", Version: 1}, id)
	if err != nil {
		t.Fatal(err)
	}
	e := event.Event{
		ID: id, Source: "/house", Type: "test", Key: acceptance.PlacingKey("house", wallet, id), OrderingKey: wallet, Fingerprint: sum,
	}
	text, err := json.Marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (p *post) send(ctx context.Context, relay string, text []byte) delivered {
	answered := make(chan string, 1)
	go func() {
		defer close(answered)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/events", bytes.NewReader(text))
		if err != nil {
			return
		}
		request.GetBody = nil // net/http is not to send it again by itself
		request.Header.Set(faults.RelayHeader, relay)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answered <- string(body)
	}()
	return answered
}

func next(t *testing.T, trap *faults.Trap) *faults.Delivery {
	t.Helper()
	caught, err := trap.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return caught
}

func TestDeliveriesPass(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	if got := <-p.deliver(t, "a", "ann", "one"); !bytes.Contains([]byte(got), []byte("attempt-of-one")) {
		t.Errorf("the relay got %q", got)
	}
	if p.seen.Get(faults.RelayHeader) != "" {
		t.Error("the drill's header went to the projection")
	}
	if got := <-p.send(t.Context(), "a", []byte("nonsense")); got != "something is wrong\n" {
		t.Errorf("what is no event was answered with %q", got)
	}
	p.proxy.SetProjection("")
	if got := <-p.deliver(t, "a", "ann", "one"); got != "the projection does not answer\n" {
		t.Errorf("the relay got %q of a projection that is down", got)
	}
}

// A trap holds the deliveries of its wallet and no others, and does with them
// what it is told.
func TestTrap(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	trap := p.proxy.Catch("ann")
	lost, other := p.deliver(t, "a", "ann", "one"), p.deliver(t, "a", "bob", "other")
	<-other
	caught := next(t, trap)
	if caught.Relay != "a" || caught.Event.ID != "one" || !slices.Equal(p.came(), []string{"other"}) {
		t.Errorf("caught %s of %s, came %v", caught.Event.ID, caught.Relay, p.came())
	}
	forwarded, err := caught.Forward(t.Context())
	if err != nil || forwarded.Receipt.Attempt != "attempt-of-one" {
		t.Errorf("receipt %+v, error %v", forwarded.Receipt, err)
	}
	caught.HangUp()
	if got := <-lost; got != "" {
		t.Errorf("the relay was told %q", got)
	}
	told := p.deliver(t, "b", "ann", "one")
	caught = next(t, trap)
	if forwarded, err = caught.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	caught.Answer(forwarded)
	if got := <-told; !bytes.Contains([]byte(got), []byte("attempt-of-one")) {
		t.Errorf("the relay was told %q", got)
	}
	trap.Remove()
	trap.Remove() // which is no harm
	<-p.deliver(t, "a", "ann", "two")
	if want := []string{"other", "one", "one", "two"}; !slices.Equal(p.came(), want) {
		t.Errorf("came %v, want %v", p.came(), want)
	}
}

// A delivery is forwarded even when its relay has given up.
func TestForwardedWhenTheRelayHasGone(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	trap := p.proxy.Catch("ann")
	defer trap.Remove()
	ctx, giveUp := context.WithCancel(t.Context())
	answered := p.send(ctx, "a", eventText(t, "ann", "one"))
	caught := next(t, trap)
	giveUp()
	<-answered
	if _, err := caught.Forward(ctx); err != nil {
		t.Error(err)
	}
	caught.HangUp()
}

// What was caught when the trap is taken away is hung up on.
func TestRemovedTrapHangsUp(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	trap := p.proxy.Catch("ann")
	answered := p.deliver(t, "a", "ann", "one")
	next(t, trap)
	trap.Remove()
	if got := <-answered; got != "" || len(p.came()) > 0 {
		t.Errorf("the relay was told %q; came %v", got, p.came())
	}
}

func TestTrapThatNothingComesInto(t *testing.T) {
	t.Parallel()
	empty := faults.NewDeliveries(faults.DeliveriesConfig{Client: &http.Client{}, Patience: time.Millisecond}).Catch("ann")
	if _, err := empty.Next(t.Context()); !errors.Is(err, faults.ErrNotCaught) {
		t.Errorf("error %v", err)
	}
	empty.Remove()
}

func TestProjectionThatGivesNoReceipt(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	trap := p.proxy.Catch("ann")
	defer trap.Remove()
	p.fail(true)
	p.deliver(t, "a", "ann", "one")
	caught := next(t, trap)
	if _, err := caught.Forward(t.Context()); !errors.Is(err, faults.ErrNoReceipt) {
		t.Errorf("error %v", err)
	}
	caught.HangUp()
	p.deliver(t, "a", "ann", "one")
	caught = next(t, trap)
	if held := caught.Hold(t.Context(), hold.Answer, func() { t.Error("held") }); held {
		t.Error("it was held, and had failed")
	}
	caught.HangUp()
}

// A delivery can be held in the middle of the transaction and before the answer,
// and tells whether the projection died there.
func TestHold(t *testing.T) {
	t.Parallel()
	for place, taken := range map[string]int{faults.HoldTransaction: 0, hold.Answer: 1} {
		p := &post{inbox: &inbox{}, proxy: faults.NewDeliveries(faults.DeliveriesConfig{Client: &http.Client{}})}
		back := httptest.NewServer(hold.Requests(p.inbox))
		front := httptest.NewServer(p.proxy)
		p.url = front.URL
		p.proxy.SetProjection(back.URL)
		trap := p.proxy.Catch("ann")
		p.deliver(t, "a", "ann", "one")
		caught := next(t, trap)
		unanswered := caught.Hold(t.Context(), place, back.CloseClientConnections)
		if !unanswered || len(p.came()) != taken {
			t.Errorf("held at %s: unanswered: %v; came %v", place, unanswered, p.came())
		}
		trap.Remove()
		back.Close()
		front.Close()
	}
}

// A relay that is watched is told from others by what it sends although another
// has the receipt.
func TestWatch(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	<-p.deliver(t, "a", "ann", "one")
	<-p.deliver(t, "b", "ann", "two")
	<-p.deliver(t, "a", "ann", "two") // before anybody watches
	<-p.deliver(t, "b", "ann", "two")
	p.fail(true)
	<-p.deliver(t, "b", "ann", "four") // it gets no receipt
	p.fail(false)
	p.proxy.Watch("a")
	if got := p.proxy.Repeated("a"); len(got) != 0 {
		t.Errorf("repeated %v", got)
	}
	for _, id := range []string{"one", "three", "four", "two"} {
		<-p.deliver(t, "a", "ann", id)
	}
	<-p.deliver(t, "b", "ann", "three") // nobody watches b
	if got := p.proxy.Repeated("a"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("repeated %v, want [two]", got)
	}
}
