package faults

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/hold"
)

// Headers with which a client of the drill tells the proxy what is to become of
// a request. They go no further.
const (
	// FaultHeader names the fault: [LostAnswer], [PriceMove], [KillAPI], or
	// none. PriceMove too begins with an answer that is lost.
	FaultHeader = "Drill-Fault"
	// APIHeader has the number of the API process. Without it they take
	// turns.
	APIHeader = "Drill-Api"
	// WalletHeader names the wallet of the command, for the store to be asked.
	WalletHeader = "Drill-Wallet"
	// keyHeader has the command's ID. It is the API's own.
	keyHeader = "Idempotency-Key"
)

// patience bounds what the proxy waits for in one request.
const patience = 5 * time.Second

// ProxyConfig makes a proxy. Every field must be set.
type ProxyConfig struct {
	// Tenant is the house's name in keys.
	Tenant string
	Ledger *fault.Ledger
	// Receipt asks the store itself whether a key has a receipt.
	Receipt func(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error)
	// Kill kills an API process, by its number, and returns the signal that
	// it was reaped with. It is brought back later.
	Kill func(ctx context.Context, api int) (syscall.Signal, error)
	// Client talks to the API processes.
	Client *http.Client
	Logger *slog.Logger
}

// Proxy stands between the clients and the API processes, spreads the requests
// over them, and breaks those that ask for it. It is an http.Handler.
type Proxy struct {
	config ProxyConfig

	mu   sync.Mutex
	apis []string // addresses; "" is one that is down
	turn int
	// kills counts the processes that were seen to be killed as they should.
	kills int
	// lost has the receipts whose answers were lost. That the client comes
	// again shows that it has no answer.
	lost map[receipt.Key]receipt.Receipt
}

// NewProxy returns a proxy for so many API processes, all of them down.
func NewProxy(apis int, config ProxyConfig) *Proxy {
	return &Proxy{config: config, apis: make([]string, apis), lost: make(map[receipt.Key]receipt.Receipt)}
}

// SetAPI says where an API process listens; "" takes it out.
func (p *Proxy) SetAPI(api int, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apis[api] = url
}

// pick returns an API process that is up: the one that the request names, if it
// names one, and else the next.
func (p *Proxy) pick(r *http.Request) (api int, url string, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if named, err := strconv.Atoi(r.Header.Get(APIHeader)); err == nil && named >= 0 {
		named %= len(p.apis)
		return named, p.apis[named], p.apis[named] != ""
	}
	for range p.apis {
		p.turn = (p.turn + 1) % len(p.apis)
		if url := p.apis[p.turn]; url != "" {
			return p.turn, url, true
		}
	}
	return 0, "", false
}

// ServeHTTP passes a request on, or breaks it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 2<<20))
	if err != nil {
		hangUp()
	}
	api, url, found := p.pick(r)
	if !found {
		http.Error(w, "no API process is up", http.StatusBadGateway)
		return
	}
	key := acceptance.PlacingKey(p.config.Tenant, r.Header.Get(WalletHeader), r.Header.Get(keyHeader))
	asked := fault.Name(r.Header.Get(FaultHeader))
	request := r.Clone(r.Context())
	for _, name := range []string{FaultHeader, APIHeader, WalletHeader} {
		request.Header.Del(name)
	}
	p.confirm(key)
	switch asked {
	case LostAnswer, PriceMove:
		p.loseAnswer(request, url, asked, key, body)
	case KillAPI:
		p.killAPI(request, api, url, key, body)
	default:
		p.pass(w, request, url, body)
	}
}

// hangUp ends a request without an answer.
func hangUp() { panic(http.ErrAbortHandler) }

// decided reports whether the answer is a final decision.
func (a answer) decided() bool { return a.status == http.StatusOK || a.status == http.StatusCreated }

// pass passes a request on, and the answer back.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, url string, body []byte) {
	got, err := forward(r.Context(), p.config.Client, url, r, body)
	if err != nil {
		http.Error(w, "the API process did not answer", http.StatusBadGateway)
		return
	}
	got.write(w)
}

// loseAnswer takes a decision and hangs up.
func (p *Proxy) loseAnswer(r *http.Request, url string, asked fault.Name, key receipt.Key, body []byte) {
	got, err := forward(r.Context(), p.config.Client, url, r, body)
	if err == nil && got.decided() && asked == LostAnswer {
		if stored, found, err := p.stored(r.Context(), key); found && err == nil {
			p.mu.Lock()
			p.lost[key] = stored
			p.mu.Unlock()
		}
	}
	hangUp()
}

// confirm observes that an answer was lost, now that the client has come again.
func (p *Proxy) confirm(key receipt.Key) {
	p.mu.Lock()
	stored, found := p.lost[key]
	delete(p.lost, key)
	p.mu.Unlock()
	if found {
		p.observe(LostAnswer, "the store has the receipt of %s, attempt %s, and its client came again", key, stored.Attempt)
	}
}

// killAPI kills an API process that stands still in the middle of a decision:
// by turns inside of the transaction and after the commit.
func (p *Proxy) killAPI(r *http.Request, api int, url string, key receipt.Key, body []byte) {
	if _, decided, err := p.stored(r.Context(), key); decided || err != nil {
		hangUp() // nothing is decided any more, or nobody could tell
	}
	place := p.nextHold()
	r.Header.Set(hold.Header, place)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	held := make(chan struct{})
	notified := hold.Notify(ctx, func(string) { close(held) })
	answered := make(chan bool, 1)
	go func() {
		_, err := forward(notified, p.config.Client, url, r, body)
		answered <- err == nil
	}()
	select {
	case <-held:
	case <-answered: // it decided or failed before it came there
		hangUp()
	}
	p.SetAPI(api, "")
	signal, err := p.config.Kill(ctx, api)
	if err != nil {
		p.config.Logger.Error("proxy: the API process was not killed", "api", api, "error", err)
		hangUp()
	}
	stored, found, err := p.stored(ctx, key)
	if !<-answered && err == nil && signal == syscall.SIGKILL && found == (place == hold.Answer) {
		p.mu.Lock()
		p.kills++
		p.mu.Unlock()
		p.observe(KillAPI, "API process %d was reaped with signal %d, held at %q; no answer came; receipt of %s: %v %s", api, int(signal), place, key, found, stored.Attempt)
	}
	hangUp()
}

// nextHold says where the next API process dies: where the last one did not. A
// kill that was not seen is tried again at the same place.
func (p *Proxy) nextHold() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kills%2 == 0 {
		return hold.Answer
	}
	return HoldTransaction
}

func (p *Proxy) observe(name fault.Name, evidence string, args ...any) {
	if err := p.config.Ledger.Observe(name, evidence, args...); err != nil {
		p.config.Logger.Error("proxy: an observation is lost", "fault", name, "error", err)
	}
}

// stored asks the store. An error is no answer: there may be a receipt or not.
func (p *Proxy) stored(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	stored, found, err := p.config.Receipt(ctx, key)
	if err != nil {
		p.config.Logger.Error("proxy: the store does not say whether there is a receipt", "key", key, "error", err)
	}
	return stored, found, err
}
