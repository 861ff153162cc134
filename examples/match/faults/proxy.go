package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/hold"
)

// ResultsPath is where results are delivered. All other paths are passed on as
// they are.
const ResultsPath = "/results"

// HoldRelease is where a lobby can be held after its commit and before it frees
// the players.
const HoldRelease = "release"

const (
	// patience bounds what the proxy waits for in one delivery.
	patience = 3 * time.Second
	// pause lies between two looks at what it waits for.
	pause = 5 * time.Millisecond
	// copies is how often a storm sends to each lobby.
	copies = 4
)

// ProxyConfig makes a proxy. Every field must be set.
type ProxyConfig struct {
	Plan   *Plan
	Ledger *fault.Ledger
	// Receipt asks the store itself whether a key has a receipt.
	Receipt func(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error)
	// Kill kills a lobby, by its number, and returns the signal that it was
	// reaped with. The lobby is brought back later.
	Kill func(ctx context.Context, lobby int) (syscall.Signal, error)
	// Client talks to the lobbies.
	Client *http.Client
	Logger *slog.Logger
}

// Proxy stands between the battle node and the lobbies, spreads the deliveries
// over them, and breaks some as planned. It is an http.Handler.
type Proxy struct {
	config ProxyConfig

	mu      sync.Mutex
	lobbies []string // addresses; "" is one that is down
	turn    int
	// outageAt is the number of the result that begins the outage, -1 if none
	// is to come.
	outageAt int
	began    chan struct{} // closed when the outage has begun
	ended    bool
	kills    int
	rooms    map[string]bool // whose results have come by
	// unproven holds, by room, what befell the last delivery. That the
	// sender comes again shows that it took no proof from it.
	unproven map[string]Name
}

// NewProxy returns a proxy for so many lobbies, all of them down.
func NewProxy(lobbies int, config ProxyConfig) *Proxy {
	return &Proxy{
		config: config, lobbies: make([]string, lobbies), unproven: make(map[string]Name),
		outageAt: -1, began: make(chan struct{}), rooms: make(map[string]bool),
	}
}

// SetLobby says where a lobby listens; "" takes it out.
func (p *Proxy) SetLobby(lobby int, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lobbies[lobby] = url
}

// PlanOutage has an outage begin with the result that comes after so many
// others: every delivery is hung up on, until [Proxy.EndOutage].
func (p *Proxy) PlanOutage(after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outageAt = after
}

// OutageBegan is closed when the outage has begun.
func (p *Proxy) OutageBegan() <-chan struct{} { return p.began }

// EndOutage ends the outage.
func (p *Proxy) EndOutage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// pick returns a lobby that is up, in turn.
func (p *Proxy) pick() (lobby int, url string, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.lobbies {
		p.turn = (p.turn + 1) % len(p.lobbies)
		if url := p.lobbies[p.turn]; url != "" {
			return p.turn, url, true
		}
	}
	return 0, "", false
}

// up returns the addresses of the lobbies that are up.
func (p *Proxy) up() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var urls []string
	for _, url := range p.lobbies {
		if url != "" {
			urls = append(urls, url)
		}
	}
	return urls
}

// outage reports whether the delivery of this room's result meets the outage,
// which begins with it if it is the one.
func (p *Proxy) outage(room string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outageAt < 0 || p.ended {
		return false
	}
	p.rooms[room] = true
	if len(p.rooms) <= p.outageAt {
		return false
	}
	select {
	case <-p.began:
	default:
		close(p.began)
	}
	return true
}

// ServeHTTP passes a request on, or breaks it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2<<20))
	if err != nil {
		hangUp()
	}
	if r.URL.Path != ResultsPath {
		p.pass(w, r, body)
		return
	}
	var e event.Event
	if err := json.Unmarshal(body, &e); err != nil {
		p.pass(w, r, body) // the lobby knows better what is wrong with it
		return
	}
	if p.outage(e.Key.ID) {
		hangUp()
	}
	p.confirm(r.Context(), e.Key)
	fault := p.config.Plan.Next(e.Key.ID)
	p.deliver(fault, w, r, e.Key, body)
}

func (p *Proxy) deliver(fault Name, w http.ResponseWriter, r *http.Request, key receipt.Key, body []byte) {
	switch fault {
	case LostAnswer:
		p.loseAnswer(r, key, body)
	case Unavailable:
		p.expectAgain(key, fault)
		http.Error(w, "no lobby is available", http.StatusServiceUnavailable)
	case BareOK:
		p.expectAgain(key, fault)
		fmt.Fprintln(w, "OK")
	case BareNotFound:
		p.expectAgain(key, fault)
		http.Error(w, "no such page", http.StatusNotFound)
	case KillLobby:
		p.killLobby(w, r, key, body)
	case DuplicateStorm:
		p.storm(w, r, key, body)
	default:
		p.pass(w, r, body)
	}
}

// hangUp ends a request without an answer.
func hangUp() { panic(http.ErrAbortHandler) }

// expectAgain notes a fault that will have been observed when the sender comes
// again.
func (p *Proxy) expectAgain(key receipt.Key, fault Name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unproven[key.ID] = fault
}

// confirm observes the fault of the last delivery, now that the sender has come
// again.
func (p *Proxy) confirm(ctx context.Context, key receipt.Key) {
	p.mu.Lock()
	fault, found := p.unproven[key.ID]
	delete(p.unproven, key.ID)
	p.mu.Unlock()
	if !found {
		return
	}
	if fault != LostAnswer {
		p.observe(fault, "the sender of %s came again", key)
		return
	}
	if stored, found := p.stored(ctx, key); found {
		p.observe(fault, "the store has the receipt of %s, attempt %s, and its sender came again", key, stored.Attempt)
	}
}

func (p *Proxy) observe(fault Name, evidence string, args ...any) {
	if err := p.config.Ledger.Observe(fault, evidence, args...); err != nil {
		p.config.Logger.Error("proxy: an observation is lost", "fault", fault, "error", err)
	}
}

func (p *Proxy) stored(ctx context.Context, key receipt.Key) (receipt.Receipt, bool) {
	stored, found, err := p.config.Receipt(ctx, key)
	if err != nil {
		p.config.Logger.Error("proxy: the store does not say whether there is a receipt", "key", key, "error", err)
		return receipt.Receipt{}, false
	}
	return stored, found
}

// answer is a lobby's, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// arrival is what came of a request to a lobby.
type arrival struct {
	url string
	answer
	err error
}

// receipt returns the receipt that the answer carries, if it does.
func (a answer) receipt() (receipt.Receipt, bool) {
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || mediaType != receipt.MediaType {
		return receipt.Receipt{}, false
	}
	var carried receipt.Receipt
	if err := json.Unmarshal(a.body, &carried); err != nil {
		return receipt.Receipt{}, false
	}
	return carried, true
}

// forward sends r with body to the lobby at url.
func (p *Proxy) forward(ctx context.Context, url string, r *http.Request, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, url+r.URL.RequestURI(), bytes.NewReader(body)) //nolint:gosec // where a request goes is what a proxy is told
	if err != nil {
		return answer{}, err
	}
	request.Header = r.Header.Clone()
	response, err := p.config.Client.Do(request) //nolint:gosec // as above
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, content}, nil
}

func (a answer) write(w http.ResponseWriter) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // an error is a client that has gone
}

// pass passes a request on to one lobby, and the answer back.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	_, url, found := p.pick()
	if !found {
		http.Error(w, "no lobby is up", http.StatusBadGateway)
		return
	}
	got, err := p.forward(r.Context(), url, r, body)
	if err != nil {
		http.Error(w, "the lobby did not answer", http.StatusBadGateway)
		return
	}
	got.write(w)
}

// loseAnswer takes the lobby's answer and hangs up.
func (p *Proxy) loseAnswer(r *http.Request, key receipt.Key, body []byte) {
	_, url, found := p.pick()
	if !found {
		p.config.Plan.PutBack(LostAnswer)
		hangUp()
	}
	got, err := p.forward(r.Context(), url, r, body)
	carried, isReceipt := got.receipt()
	if err != nil || !isReceipt || carried.Key != key {
		p.config.Plan.PutBack(LostAnswer)
		hangUp()
	}
	p.expectAgain(key, LostAnswer)
	hangUp()
}

// killLobby kills a lobby that has committed and not answered.
func (p *Proxy) killLobby(w http.ResponseWriter, r *http.Request, key receipt.Key, body []byte) {
	lobby, url, up := p.pick()
	if _, settled := p.stored(r.Context(), key); settled || !up {
		p.config.Plan.PutBack(KillLobby)
		p.pass(w, r, body)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	place := p.nextHold()
	held := r.Clone(ctx)
	held.Header.Set(hold.Header, place)
	answered := make(chan arrival, 1)
	go func() {
		got, err := p.forward(ctx, url, held, body)
		answered <- arrival{url, got, err}
	}()
	stored, committed := p.waitForReceipt(ctx, key, answered)
	if !committed {
		p.config.Plan.PutBack(KillLobby)
		hangUp()
	}
	p.SetLobby(lobby, "")
	signal, err := p.config.Kill(ctx, lobby)
	if err != nil {
		p.config.Logger.Error("proxy: the lobby was not killed", "lobby", lobby, "error", err)
		hangUp()
	}
	if answered := <-answered; answered.err != nil && signal == syscall.SIGKILL {
		p.observe(KillLobby, "lobby %d was reaped with signal %d, held before its %s; the store has the receipt of %s, attempt %s; no answer came", lobby, int(signal), place, key, stored.Attempt)
	}
	hangUp()
}

// nextHold says where the next lobby dies: by turns before it frees the players
// and before it answers.
func (p *Proxy) nextHold() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kills++
	if p.kills%2 == 1 {
		return HoldRelease
	}
	return hold.Answer
}

// waitForReceipt waits until the store has the receipt of key. It gives up when
// the lobby answers, which it does only where it failed.
func (p *Proxy) waitForReceipt(ctx context.Context, key receipt.Key, answered <-chan arrival) (receipt.Receipt, bool) {
	for {
		if stored, found := p.stored(ctx, key); found {
			return stored, true
		}
		select {
		case <-answered:
			return receipt.Receipt{}, false
		case <-time.After(pause):
		}
	}
}

func wait(ctx context.Context) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// storm sends one result to all lobbies many times at once. It was one if more
// than one lobby answered with the receipt, and all receipts are the same, byte
// for byte.
func (p *Proxy) storm(w http.ResponseWriter, r *http.Request, key receipt.Key, body []byte) {
	urls, err := p.waitForAll(r.Context())
	if err != nil {
		p.config.Plan.PutBack(DuplicateStorm)
		hangUp()
	}
	ctx, arrivals := r.Context(), make(chan arrival)
	for _, url := range urls {
		for range copies {
			go func() {
				got, err := p.forward(ctx, url, r, body)
				arrivals <- arrival{url, got, err}
			}()
		}
	}
	var proof answer
	receipts := 0
	different, answering := make(map[string]bool), make(map[string]bool)
	for range copies * len(urls) {
		got := <-arrivals
		carried, isReceipt := got.receipt()
		if got.err != nil || !isReceipt || carried.Key != key {
			continue
		}
		receipts++
		proof = got.answer
		different[string(got.body)], answering[got.url] = true, true
	}
	if len(answering) < 2 || len(different) != 1 {
		p.config.Plan.PutBack(DuplicateStorm)
		hangUp()
	}
	p.observe(DuplicateStorm, "%d of %d copies of %s got a receipt, from %d lobbies, all the same, byte for byte", receipts, copies*len(urls), key, len(answering))
	proof.write(w)
}

// waitForAll waits until every lobby is up.
func (p *Proxy) waitForAll(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if urls := p.up(); len(urls) == len(p.lobbies) && len(urls) > 1 {
			return urls, nil
		}
		if !wait(ctx) {
			return nil, errors.New("faults: not all lobbies are up")
		}
	}
}
