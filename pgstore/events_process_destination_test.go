package pgstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// delivery is one event as it reached a destination.
type delivery struct {
	Relay    string
	ID       string
	Ordering string
	Position int64
	// Number is its writer's count of the events of its line. Zero: nobody
	// counted.
	Number int
}

// record is what a destination has seen.
type record struct {
	// deliveries are in the order in which they came.
	deliveries []delivery
	// calls counts the calls of each relay.
	calls map[string]int
	// open holds the events of the calls that a gate keeps without an answer.
	open map[*http.Request][]delivery
	// lost counts, for each relay, the events that it had delivered and could
	// not remove because they were another's by then.
	lost map[string]int
}

// destination takes the events of relays in other processes, over a socket, and
// remembers all that came, in order.
type destination struct {
	socket string

	mu      sync.Mutex
	seen    record
	gates   map[string]chan struct{} // by relay; closed when it is open again
	changed chan struct{}            // closed, and replaced, at every change
}

// newDestination listens until the test ends.
func newDestination(t *testing.T) *destination {
	t.Helper()
	dir, err := os.MkdirTemp("", "destination") //nolint:usetesting // a test's own directory has too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &destination{
		socket:  filepath.Join(dir, "socket"),
		seen:    record{calls: map[string]int{}, open: map[*http.Request][]delivery{}, lost: map[string]int{}},
		gates:   map[string]chan struct{}{},
		changed: make(chan struct{}),
	}
	listener, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	paths := http.NewServeMux()
	paths.HandleFunc("POST /deliver", d.deliver)
	paths.HandleFunc("POST /lost", d.recordLost)
	server := &http.Server{Handler: paths}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return d
}

// deliver records a call, and answers it once the relay's gate is open.
func (d *destination) deliver(_ http.ResponseWriter, r *http.Request) {
	var batch []delivery
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil || len(batch) == 0 {
		panic(http.ErrAbortHandler) // the relay was killed while it sent
	}
	relay := batch[0].Relay
	d.mu.Lock()
	gate := d.gates[relay]
	d.seen.deliveries = append(d.seen.deliveries, batch...)
	d.seen.calls[relay]++
	if gate != nil {
		d.seen.open[r] = batch
	}
	d.tell()
	d.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler) // the relay has gone, and its call stays without an answer
	}
	d.mu.Lock()
	delete(d.seen.open, r)
	d.tell()
	d.mu.Unlock()
}

// loss is what a relay says about events that became another's.
type loss struct {
	Relay  string
	Events int
}

func (d *destination) recordLost(_ http.ResponseWriter, r *http.Request) {
	var l loss
	if err := json.NewDecoder(r.Body).Decode(&l); err != nil {
		panic(http.ErrAbortHandler)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen.lost[l.Relay] += l.Events
	d.tell()
}

// tell wakes those that wait. The caller holds the lock.
func (d *destination) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// shut leaves the relay's calls without an answer from now on.
func (d *destination) shut(relay string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gates[relay] == nil {
		d.gates[relay] = make(chan struct{})
	}
}

// open answers the relay's calls, those that wait as well.
func (d *destination) open(relay string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if gate := d.gates[relay]; gate != nil {
		close(gate)
		delete(d.gates, relay)
	}
}

// await waits until the condition on what was seen holds. It fails only when
// patience ends.
func (d *destination) await(t *testing.T, what string, holds func(*record) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		d.mu.Lock()
		done, changed := holds(&d.seen), d.changed
		d.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// callsOf returns how many calls the relay has made.
func (d *destination) callsOf(relay string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.calls[relay]
}

// deliveries returns everything that came, in order.
func (d *destination) deliveries() []delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen.deliveries)
}

// unanswered returns the events of the relay's calls that have no answer.
func (d *destination) unanswered(relay string) []delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.openOf(relay)
}

// openOf is unanswered, for conditions.
func (r *record) openOf(relay string) (all []delivery) {
	for _, batch := range r.open {
		if batch[0].Relay == relay {
			all = append(all, batch...)
		}
	}
	return all
}

// courier is the sender of a relay's process to the destination of the test.
type courier struct {
	relay    string
	batching outbox.Batching
	deaf     bool // it does not heed its context
	client   *http.Client
}

var _ outbox.BatchSender = (*courier)(nil)

func newCourier(o order) *courier {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", o.Socket)
	}
	return &courier{
		relay: o.Relay, batching: outbox.Batching{MaxEvents: o.MaxEvents}, deaf: o.Deaf,
		client: &http.Client{Transport: &http.Transport{DialContext: dial}},
	}
}

// Batching returns what the order says.
func (c *courier) Batching() outbox.Batching { return c.batching }

// Send delivers the batch in one call.
func (c *courier) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	if c.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	summaries := make([]delivery, len(batch))
	answers := make([]outbox.Answer, len(batch))
	for i := range batch {
		e := &batch[i]
		summaries[i] = delivery{Relay: c.relay, ID: e.ID, Ordering: e.Ordering(), Position: e.Position, Number: numberOf(e)}
		answers[i].Ack = outbox.Ack{Kind: outbox.AckPublished, EventID: e.ID}
	}
	if err := c.post(ctx, "/deliver", summaries); err != nil {
		for i := range answers {
			answers[i] = outbox.Answer{Err: err}
		}
	}
	return answers
}

// Observe tells the test what was lost to another relay.
func (c *courier) Observe(ctx context.Context, o outbox.Observation) {
	if o.Lost == 0 {
		return
	}
	if err := c.post(context.WithoutCancel(ctx), "/lost", loss{c.relay, o.Lost}); err != nil {
		panic(err)
	}
}

func (c *courier) post(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://destination"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the destination answered %s", response.Status)
	}
	return nil
}
