package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/hold"
)

// RelayHeader names the relay process that sends a delivery. It goes no further
// than the proxy.
const RelayHeader = "Drill-Relay"

var (
	// ErrNotCaught is true where no delivery has come into a trap for a long
	// time.
	ErrNotCaught = errors.New("faults: no delivery has come")
	// ErrNoReceipt is true where the projection gave no receipt.
	ErrNoReceipt = errors.New("faults: the projection gave no receipt")
)

// DeliveriesConfig makes a proxy before the projection.
type DeliveriesConfig struct {
	// Client talks to the projection. It must be set.
	Client *http.Client
	// Patience is how long somebody waits for a delivery. Zero: five seconds.
	Patience time.Duration
}

// Deliveries stands between the relays and the projection, and passes on what
// comes by, but for the events of a wallet that somebody has set a [Trap] for.
// It is an http.Handler.
type Deliveries struct {
	config DeliveriesConfig

	mu         sync.Mutex
	projection string           // its address; "" while it is down
	traps      map[string]*Trap // by wallet
	// receipted has the relay that was given an event's receipt, by the event's
	// ID.
	receipted map[string]string
	// repeated has what each relay that is watched has sent although another had
	// the receipt.
	repeated map[string][]string
}

// NewDeliveries returns a proxy before a projection that is down.
func NewDeliveries(config DeliveriesConfig) *Deliveries {
	config.Patience = cmp.Or(config.Patience, patience)
	return &Deliveries{
		config: config, traps: make(map[string]*Trap), receipted: make(map[string]string), repeated: make(map[string][]string),
	}
}

// SetProjection says where the projection listens; "" takes it out.
func (d *Deliveries) SetProjection(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.projection = url
}

// Watch takes note from now on of the events that a relay sends although another
// relay has been given their receipts.
func (d *Deliveries) Watch(relay string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.repeated[relay] = []string{}
}

// Repeated returns the IDs of the events that [Deliveries.Watch] took note of.
func (d *Deliveries) Repeated(relay string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.repeated[relay]...)
}

// Trap catches the deliveries of one wallet's events, one after the other.
type Trap struct {
	patience time.Duration
	caught   chan *Delivery
	removed  chan struct{}
	remove   func()
}

// Catch sets a trap, which must be removed. A wallet has one at a time.
func (d *Deliveries) Catch(wallet string) *Trap {
	t := &Trap{patience: d.config.Patience, caught: make(chan *Delivery), removed: make(chan struct{})}
	t.remove = sync.OnceFunc(func() {
		d.mu.Lock()
		delete(d.traps, wallet)
		d.mu.Unlock()
		close(t.removed)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.traps[wallet] = t
	return t
}

// Next returns the next delivery, which goes no further until one of its methods
// is called. errors.Is(err, [ErrNotCaught]) is true where none comes for a while.
func (t *Trap) Next(ctx context.Context) (*Delivery, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.patience, ErrNotCaught)
	defer cancel()
	select {
	case caught := <-t.caught:
		return caught, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Remove takes the trap away. A delivery that was caught and got no answer is
// hung up on, and comes again.
func (t *Trap) Remove() { t.remove() }

// catch holds a delivery until somebody has it, and reports whether anybody does.
func (t *Trap) catch(x *Delivery) bool {
	select {
	case t.caught <- x:
		return true
	case <-t.removed:
		return false
	case <-x.request.Context().Done():
		hangUp()
		return false
	}
}

// Delivery is one request of a relay.
type Delivery struct {
	// Relay is the name of the process that sent it.
	Relay string
	Event event.Event

	proxy   *Deliveries
	request *http.Request
	body    []byte
	end     chan *answer // nil: the relay gets no answer
}

// ServeHTTP passes a delivery on, or holds it for whoever has set a trap.
func (d *Deliveries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2<<20))
	if err != nil {
		hangUp()
	}
	x := &Delivery{Relay: r.Header.Get(RelayHeader), proxy: d, request: r.Clone(r.Context()), body: body, end: make(chan *answer, 1)}
	x.request.Header.Del(RelayHeader)
	_ = json.Unmarshal(body, &x.Event) // what is no event, the projection knows what to say to
	if trap := d.arrive(x); trap != nil && trap.catch(x) {
		x.answerFrom(trap, w)
		return
	}
	got, err := x.send(r.Context(), "")
	if err != nil {
		http.Error(w, "the projection does not answer", http.StatusBadGateway)
		return
	}
	x.give(w, got)
}

// arrive takes note of a delivery, and returns the trap that it falls into.
func (d *Deliveries) arrive(x *Delivery) *Trap {
	d.mu.Lock()
	defer d.mu.Unlock()
	watched, isWatched := d.repeated[x.Relay]
	if owner, found := d.receipted[x.Event.ID]; isWatched && found && owner != x.Relay {
		d.repeated[x.Relay] = append(watched, x.Event.ID)
	}
	return d.traps[x.Event.OrderingKey]
}

// answerFrom answers a delivery that was caught, as whoever caught it says.
func (x *Delivery) answerFrom(trap *Trap, w http.ResponseWriter) {
	select {
	case got := <-x.end:
		if got != nil {
			x.give(w, *got)
			return
		}
	case <-trap.removed:
	}
	hangUp()
}

// give passes the projection's answer on to the relay.
func (x *Delivery) give(w http.ResponseWriter, got answer) {
	if _, isReceipt := receiptIn(got); isReceipt && x.request.Context().Err() == nil {
		x.proxy.mu.Lock()
		x.proxy.receipted[x.Event.ID] = x.Relay
		x.proxy.mu.Unlock()
	}
	got.write(w)
}

// send sends the delivery to the projection, to be held at a place unless that is
// empty.
func (x *Delivery) send(ctx context.Context, place string) (answer, error) {
	x.proxy.mu.Lock()
	url := x.proxy.projection
	x.proxy.mu.Unlock()
	if url == "" {
		return answer{}, errors.New("faults: the projection is down")
	}
	request := x.request
	if place != "" {
		request = request.Clone(ctx)
		request.Header.Set(hold.Header, place)
	}
	return forward(ctx, x.proxy.config.Client, url, request, x.body)
}

// Forwarded is what the projection answered to a delivery.
type Forwarded struct {
	answer
	// Receipt is the one that it answered with.
	Receipt receipt.Receipt
}

// Forward passes the delivery on to the projection, whatever has become of the
// relay by then, and returns the receipt that it is answered with. The relay gets
// no answer yet. errors.Is(err, [ErrNoReceipt]) is true for every error.
func (x *Delivery) Forward(ctx context.Context) (Forwarded, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	got, err := x.send(ctx, "")
	if err != nil {
		return Forwarded{}, fmt.Errorf("%w: %w", ErrNoReceipt, err)
	}
	stored, isReceipt := receiptIn(got)
	if !isReceipt {
		return Forwarded{}, fmt.Errorf("%w: status %d", ErrNoReceipt, got.status)
	}
	return Forwarded{got, stored}, nil
}

// Hold passes the delivery on, to be held at a place, and calls held when it is.
// It returns when the projection has answered or gone, and reports whether it
// was held and got no answer.
func (x *Delivery) Hold(ctx context.Context, place string, held func()) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	reached := make(chan struct{})
	notified := hold.Notify(ctx, func(string) { close(reached) })
	answered := make(chan bool, 1)
	go func() {
		_, err := x.send(notified, place)
		answered <- err == nil
	}()
	select {
	case <-reached:
		held()
		return !<-answered
	case <-answered: // it took the event, or failed, before it came there
		return false
	}
}

// Answer gives the relay what the projection has answered.
func (x *Delivery) Answer(got Forwarded) { x.end <- &got.answer }

// HangUp gives the relay no answer.
func (x *Delivery) HangUp() { x.end <- nil }

// receiptIn returns the receipt that an answer carries, if it does.
func receiptIn(got answer) (receipt.Receipt, bool) {
	mediaType, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil || mediaType != receipt.MediaType {
		return receipt.Receipt{}, false
	}
	var carried receipt.Receipt
	if err := json.Unmarshal(got.body, &carried); err != nil {
		return receipt.Receipt{}, false
	}
	return carried, true
}
