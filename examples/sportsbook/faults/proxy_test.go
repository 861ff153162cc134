package faults_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

// shop is a store that two API processes share, and the processes.
type shop struct {
	mu       sync.Mutex
	receipts map[receipt.Key]receipt.Receipt
	failing  bool           // nothing is decided
	forgets  bool           // decisions are not stored
	hasty    bool           // decisions are stored before the transaction is held
	away     bool           // once a process was killed, the store does not answer
	signal   syscall.Signal // that processes are reaped with; 0: the kill fails
	killed   []int
	served   []string // by which process, with the headers of the drill
	apis     []*httptest.Server
}

func (s *shop) api(number int) http.Handler {
	return hold.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or net/http does not see that the client has gone
		key := acceptance.PlacingKey("house", "ann", r.Header.Get("Idempotency-Key"))
		s.mu.Lock()
		s.served = append(s.served, string(rune('0'+number))+r.Header.Get(faults.FaultHeader)+r.Header.Get(faults.APIHeader)+r.Header.Get(faults.WalletHeader))
		failing, hasty := s.failing, s.hasty
		s.mu.Unlock()
		if failing {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		if hasty {
			s.store(key)
		}
		hold.Here(r.Context(), faults.HoldTransaction)
		if r.Context().Err() != nil {
			return // the process is dead
		}
		s.store(key)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "decided")
	}))
}

// locked lets a test look at the shop, or change it.
func (s *shop) locked(work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	work()
}

func (s *shop) store(key receipt.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forgets {
		s.receipts[key] = receipt.Receipt{Key: key, Attempt: "attempt-7"}
	}
}

func (s *shop) receipt(_ context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away && len(s.killed) > 0 {
		return receipt.Receipt{}, false, errors.New("the store is away")
	}
	stored, found := s.receipts[key]
	return stored, found, nil
}

// kill takes an API process from the network, as its death would.
func (s *shop) kill(_ context.Context, api int) (syscall.Signal, error) {
	s.mu.Lock()
	s.killed = append(s.killed, api)
	signal := s.signal
	s.mu.Unlock()
	s.apis[api].CloseClientConnections()
	if signal == 0 {
		return 0, errors.New("not killed")
	}
	return signal, nil
}

// bench is a proxy before two API processes.
type bench struct {
	*shop
	proxy  *faults.Proxy
	url    string
	ledger *fault.Ledger
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{shop: &shop{receipts: make(map[receipt.Key]receipt.Receipt), signal: syscall.SIGKILL}}
	ledger, err := fault.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	b.ledger = ledger
	b.proxy = faults.NewProxy(2, faults.ProxyConfig{
		Tenant: "house", Ledger: ledger, Receipt: b.receipt, Kill: b.kill,
		Client: &http.Client{}, Logger: slog.New(slog.DiscardHandler),
	})
	for i := range 2 {
		server := httptest.NewServer(b.api(i))
		t.Cleanup(server.Close)
		b.apis = append(b.apis, server)
		b.proxy.SetAPI(i, server.URL)
	}
	front := httptest.NewServer(b.proxy)
	t.Cleanup(front.Close)
	b.url = front.URL
	return b
}

// send sends the command "bet" of ann's, and returns the answer; "" is none.
func (b *bench) send(t *testing.T, header ...string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/bets", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	request.GetBody = nil // net/http is not to send it again by itself
	request.Header.Set("Idempotency-Key", "bet")
	request.Header.Set(faults.WalletHeader, "ann")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

func TestProxySpreadsRequestsAndKeepsTheDrillToItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 2 {
		if got := b.send(t); got != "decided" {
			t.Fatalf("answer %q", got)
		}
	}
	b.send(t, faults.APIHeader, "1")
	b.send(t, faults.APIHeader, "1")
	b.locked(func() {
		if got := strings.Join(b.served, " "); got != "1 0 1 1" {
			t.Errorf("served by %q, want 1, 0 and twice the one that was named", got)
		}
	})
	b.proxy.SetAPI(1, "")
	if got := b.send(t, faults.APIHeader, "1"); !strings.Contains(got, "no API process is up") {
		t.Errorf("answer %q of a process that is down", got)
	}
}

func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		fault   fault.Name
		prepare func(b *bench)
		again   bool
		want    int
	}{
		{"the client comes again", faults.LostAnswer, func(*bench) {}, true, 1},
		{"the client stays away", faults.LostAnswer, func(*bench) {}, false, 0},
		{"nothing was stored", faults.LostAnswer, func(b *bench) { b.locked(func() { b.forgets = true }) }, true, 0},
		{"nothing was decided", faults.LostAnswer, func(b *bench) { b.locked(func() { b.failing = true }) }, true, 0},
		{"it is part of another fault", faults.PriceMove, func(*bench) {}, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			test.prepare(b)
			if got := b.send(t, faults.FaultHeader, string(test.fault)); got != "" {
				t.Errorf("answer %q, want none", got)
			}
			if test.again {
				b.send(t)
				b.send(t) // counts no second time
			}
			if got := b.ledger.Count(faults.LostAnswer); got != test.want {
				t.Errorf("counted %d times, want %d", got, test.want)
			}
		})
	}
}

func TestKillAPI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		inside  bool // the transaction; otherwise before the answer
		prepare func(b *bench)
		kills   int
		want    int
	}{
		{"before its answer", false, func(*bench) {}, 1, 1},
		{"inside the transaction", true, func(*bench) {}, 1, 1},
		{"it ended otherwise", false, func(b *bench) { b.locked(func() { b.signal = syscall.SIGTERM }) }, 1, 0},
		{"it could not be killed", false, func(b *bench) { b.locked(func() { b.signal = 0 }) }, 1, 0},
		{"no receipt after the commit", false, func(b *bench) { b.locked(func() { b.forgets = true }) }, 1, 0},
		{"a receipt before the commit", true, func(b *bench) { b.locked(func() { b.hasty = true }) }, 1, 0},
		{"nobody knows of a receipt", true, func(b *bench) { b.locked(func() { b.away = true }) }, 1, 0},
		{"it failed before it came there", false, func(b *bench) { b.locked(func() { b.failing = true }) }, 0, 0},
		{"decided before", false, func(b *bench) { b.store(acceptance.PlacingKey("house", "ann", "bet")) }, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.inside { // the places take turns
				b.send(t, faults.FaultHeader, string(faults.KillAPI), "Idempotency-Key", "first")
				b.locked(func() { b.killed = nil })
				for i, server := range b.apis {
					b.proxy.SetAPI(i, server.URL)
				}
			}
			before := b.ledger.Count(faults.KillAPI)
			test.prepare(b)
			if got := b.send(t, faults.FaultHeader, string(faults.KillAPI)); got != "" {
				t.Errorf("answer %q, want none", got)
			}
			b.locked(func() {
				if len(b.killed) != test.kills {
					t.Errorf("killed %v, want %d", b.killed, test.kills)
				}
			})
			if got := b.ledger.Count(faults.KillAPI) - before; got != test.want {
				t.Errorf("counted %d times, want %d", got, test.want)
			}
		})
	}
}

// A kill that was not seen leaves its place to the next one, or a run could be
// done without a kill at one of them.
func TestKillThatWasNotSeenIsTriedAtTheSamePlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.locked(func() { b.signal = syscall.SIGTERM })
	b.send(t, faults.FaultHeader, string(faults.KillAPI), "Idempotency-Key", "first")
	b.locked(func() { b.signal = syscall.SIGKILL })
	for i, server := range b.apis {
		b.proxy.SetAPI(i, server.URL)
	}
	b.send(t, faults.FaultHeader, string(faults.KillAPI))
	_, found, err := b.receipt(t.Context(), acceptance.PlacingKey("house", "ann", "bet"))
	if err != nil || !found || b.ledger.Count(faults.KillAPI) != 1 {
		t.Errorf("receipt: %v, error %v, counted %d times; want a kill after the commit", found, err, b.ledger.Count(faults.KillAPI))
	}
}
