package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// shop is a store that two lobbies share, and the lobbies.
type shop struct {
	mu       sync.Mutex
	receipts map[receipt.Key]receipt.Receipt
	failures int // deliveries that are to fail
	served   int
	forgets  bool           // receipts are made anew each time
	restamps bool           // receipts tell another time each time
	signal   syscall.Signal // that lobbies are reaped with
	answers  chan struct{}  // closed by a kill, for which answers wait; nil: none does
	lobbies  []*httptest.Server
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != faults.ResultsPath {
		_, _ = io.WriteString(w, "passed on to "+r.URL.Path)
		return
	}
	var e event.Event
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.served++
	if s.failures > 0 {
		s.failures--
		s.mu.Unlock()
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	stored, found := s.receipts[e.Key]
	if !found {
		stored = receipt.Receipt{Key: e.Key, Requested: "settled", Outcome: "settled", Fingerprint: e.Fingerprint, Attempt: receipt.NewID()}
		if !s.forgets {
			s.receipts[e.Key] = stored
		}
	}
	if s.restamps {
		stored.RecordedAt = time.Unix(int64(s.served), 0).UTC()
	}
	s.mu.Unlock()
	if s.answers != nil {
		<-s.answers
	}
	hold.Here(r.Context(), faults.HoldRelease)
	w.Header().Set("Content-Type", receipt.MediaType)
	_ = json.NewEncoder(w).Encode(stored)
}

func (s *shop) receipt(_ context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, found := s.receipts[key]
	return stored, found, nil
}

// kill takes a lobby from the network, as its death would. One that is to
// answer does so at the last moment.
func (s *shop) kill(_ context.Context, lobby int) (syscall.Signal, error) {
	if s.answers != nil {
		close(s.answers)
		return s.signal, nil
	}
	s.lobbies[lobby].CloseClientConnections()
	return s.signal, nil
}

// bench is a proxy before two lobbies.
type bench struct {
	*shop
	proxy  *faults.Proxy
	url    string
	ledger string
}

func newBench(t *testing.T, planned ...faults.Name) *bench {
	t.Helper()
	b := &bench{shop: &shop{receipts: make(map[receipt.Key]receipt.Receipt), signal: syscall.SIGKILL}, ledger: filepath.Join(t.TempDir(), "ledger")}
	ledger, err := fault.OpenLedger(b.ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ledger.Close() })
	b.proxy = faults.NewProxy(2, faults.ProxyConfig{
		Plan: faults.NewPlan(1, 1, planned), Ledger: ledger, Receipt: b.receipt, Kill: b.kill,
		Client: &http.Client{}, Logger: slog.New(slog.DiscardHandler),
	})
	for i := range 2 {
		server := httptest.NewServer(hold.Requests(b.shop))
		t.Cleanup(server.Close)
		b.lobbies = append(b.lobbies, server)
		b.proxy.SetLobby(i, server.URL)
	}
	server := httptest.NewServer(b.proxy)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// delivery is what a sender gets: a status, or "hung up".
func (b *bench) deliver(t *testing.T, room string) (status int, isReceipt bool) {
	t.Helper()
	e, err := result.Result{RoomID: room, Decision: vote.Decision{Winner: vote.TeamOne}}.Event("node-1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(b.url+faults.ResultsPath, event.MediaType, bytes.NewReader(body))
	if errors.Is(err, io.EOF) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("Content-Type") == receipt.MediaType
}

func (b *bench) observed(t *testing.T) map[faults.Name]int {
	t.Helper()
	observations, err := fault.ReadLedger(b.ledger)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[faults.Name]int)
	for _, observation := range observations {
		counts[observation.Fault]++
	}
	return counts
}

func TestProxyBreaksAndObserves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault     faults.Name
		status    int  // of the first delivery; 0: hung up
		isReceipt bool // of the first delivery
		served    int  // deliveries that reached a lobby by then
		atOnce    int  // observations by then
	}{
		{faults.Unavailable, http.StatusServiceUnavailable, false, 0, 0},
		{faults.BareOK, http.StatusOK, false, 0, 0},
		{faults.BareNotFound, http.StatusNotFound, false, 0, 0},
		{faults.LostAnswer, 0, false, 1, 0},
		{faults.KillLobby, 0, false, 1, 1},
		{faults.DuplicateStorm, http.StatusOK, true, 8, 1},
	} {
		t.Run(string(test.fault), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, test.fault)
			status, isReceipt := b.deliver(t, "a")
			if status != test.status || isReceipt != test.isReceipt || b.served != test.served {
				t.Errorf("first: status %d, receipt %v, %d reached a lobby; want %d, %v, %d", status, isReceipt, b.served, test.status, test.isReceipt, test.served)
			}
			if got := b.observed(t)[test.fault]; got != test.atOnce {
				t.Errorf("%d observations after the first delivery, want %d", got, test.atOnce)
			}
			if status, isReceipt := b.deliver(t, "a"); status != http.StatusOK || !isReceipt {
				t.Errorf("second: status %d, receipt %v", status, isReceipt)
			}
			if diff := cmp.Diff(map[faults.Name]int{test.fault: 1}, b.observed(t)); diff != "" {
				t.Errorf("observations in the end (-want +got):\n%s", diff)
			}
		})
	}
}

// Where the sender does not come again, it took the answer for proof, and the
// fault has not had its effect.
func TestFaultIsNotObservedByBeingOrdered(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Name{faults.Unavailable, faults.BareOK, faults.BareNotFound, faults.LostAnswer} {
		b := newBench(t, fault)
		b.deliver(t, "a")
		b.deliver(t, "another")
		if got := b.observed(t); len(got) != 0 {
			t.Errorf("observed %v, though the sender never came again", got)
		}
	}
}

func TestStormCountsWithOneReceiptFromTwoLobbies(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bench){
		"two receipts":           func(b *bench) { b.forgets = true },
		"one receipt, rewritten": func(b *bench) { b.restamps = true },
		"one lobby":              func(b *bench) { b.lobbies[1].Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, faults.DuplicateStorm)
			spoil(b)
			if status, _ := b.deliver(t, "a"); status != 0 {
				t.Errorf("status %d, want no answer", status)
			}
			if got := b.observed(t); len(got) != 0 {
				t.Errorf("observed %v", got)
			}
		})
	}
}

// A lobby that ended by itself was not killed.
func TestKillCountsWithItsSignal(t *testing.T) {
	t.Parallel()
	b := newBench(t, faults.KillLobby)
	b.signal = syscall.SIGTERM
	b.deliver(t, "a")
	if got := b.observed(t); len(got) != 0 {
		t.Errorf("observed %v, though no process was reaped with signal 9", got)
	}
}

// A lobby that got its answer out did not die between the commit and that.
func TestKillCountsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, faults.KillLobby)
	b.answers = make(chan struct{})
	for i := range b.lobbies {
		unheld := httptest.NewServer(b.shop)
		t.Cleanup(unheld.Close)
		b.proxy.SetLobby(i, unheld.URL)
	}
	b.deliver(t, "a")
	if got := b.observed(t); len(got) != 0 {
		t.Errorf("observed %v, though the lobby had answered", got)
	}
}

// A receipt that the store does not have was not the answer to lose.
func TestLostAnswerCountsWithItsReceipt(t *testing.T) {
	t.Parallel()
	b := newBench(t, faults.LostAnswer)
	b.forgets = true
	for range 2 {
		b.deliver(t, "a")
	}
	if got := b.observed(t); len(got) != 0 {
		t.Errorf("observed %v, though the store has no receipt", got)
	}
}

// A lobby that fails has no answer to lose and nothing committed: the fault
// waits for the next delivery.
func TestFaultWaitsForASettlement(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Name{faults.LostAnswer, faults.KillLobby} {
		b := newBench(t, fault)
		b.failures = 1
		b.deliver(t, "a")
		if got := b.observed(t); len(got) != 0 {
			t.Errorf("%s: observed %v without a settlement", fault, got)
		}
		for range 2 {
			b.deliver(t, "a")
		}
		if diff := cmp.Diff(map[faults.Name]int{fault: 1}, b.observed(t)); diff != "" {
			t.Errorf("observations in the end (-want +got):\n%s", diff)
		}
	}
}

func TestOutageBeginsAsPlannedAndEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.proxy.PlanOutage(1)
	if status, _ := b.deliver(t, "a"); status != http.StatusOK {
		t.Errorf("before the outage: status %d", status)
	}
	for _, room := range []string{"b", "b", "a"} {
		if status, _ := b.deliver(t, room); status != 0 {
			t.Errorf("in the outage: status %d, want no answer", status)
		}
	}
	<-b.proxy.OutageBegan()
	b.proxy.EndOutage()
	if status, _ := b.deliver(t, "b"); status != http.StatusOK {
		t.Errorf("after the outage: status %d", status)
	}
}

func TestProxyPassesOtherRequestsOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, faults.LostAnswer)
	response, err := http.Post(b.url+"/rooms/7/ended", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "passed on to /rooms/7/ended" {
		t.Errorf("answer %q, error %v", text, err)
	}
	b.proxy.SetLobby(0, "")
	b.proxy.SetLobby(1, "")
	response, err = http.Post(b.url+"/rooms/7/ended", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadGateway {
		t.Errorf("without lobbies: %s", response.Status)
	}
}

// The sabotage turns a bare 200 into a receipt, and leaves everything else.
func TestCredulousBelievesABare200(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault faults.Name
		want  bool
	}{{faults.BareOK, true}, {faults.BareNotFound, false}, {faults.Unavailable, false}} {
		b := newBench(t, test.fault)
		e, err := result.Result{RoomID: "a", Decision: vote.Decision{Winner: vote.TeamOne}}.Event("node-1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: faults.Credulous{Transport: http.DefaultTransport}}
		response, err := client.Post(b.url+faults.ResultsPath, event.MediaType, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var forged receipt.Receipt
		err = json.NewDecoder(response.Body).Decode(&forged)
		_ = response.Body.Close()
		if got := err == nil && forged.Key == e.Key && forged.Fingerprint == e.Fingerprint; got != test.want {
			t.Errorf("%s: receipt forged: %v, want %v (error %v)", test.fault, got, test.want, err)
		}
	}
}
