package acceptance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// record is what the house's world holds under one name: a wallet, a market or
// a bet.
type record struct {
	available money.Amount
	quote     acceptance.Quote
	stake     money.Amount
}

type (
	houseTx = *receipttest.MemoryTx[record]
	runner  = acceptance.Runner[houseTx, placed]
	config  = acceptance.Config[houseTx, placed]
	answer  = acceptance.Decision[placed]
)

// placed is the bet type of the tests.
type placed struct {
	ID    string       `json:"id"`
	Stake money.Amount `json:"stake"`
	Odds  money.Odds   `json:"odds"`
}

// house is a bookmaker on the fake store, with a trace of what was called.
type house struct {
	t      *testing.T
	world  *receipttest.Memory[record]
	fake   *receipttest.Fake[houseTx]
	config config
	runner *runner

	mu    sync.Mutex
	trace []string
	now   time.Time
}

var opening = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// newHouse returns a house with a wallet of 100 EUR and an open market at 2.00.
// configure may be nil.
func newHouse(t *testing.T, configure func(*house, *config), faults ...receipttest.Fault) *house {
	t.Helper()
	h := &house{t: t, world: new(receipttest.Memory[record]), now: opening}
	fake, err := receipttest.New(receipttest.Config[houseTx]{World: h.world, Faults: faults, Now: h.clock})
	if err != nil {
		t.Fatal(err)
	}
	h.fake = fake
	h.put("wallet/ann", record{available: eur(t, "100.00")})
	h.put("market/1x2", record{quote: open(t, "v1", "2.00")})
	h.config = config{
		Store:      fake,
		LockWallet: h.lockWallet,
		Quote:      h.quote,
		Place:      h.place,
		Events:     h.events,
	}
	if configure != nil {
		configure(h, &h.config)
	}
	h.runner = h.newRunner(h.config)
	return h
}

func (h *house) newRunner(c config) *runner {
	h.t.Helper()
	made, err := acceptance.New(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) wait(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) called(step string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, step)
}

// calls returns the trace since the last call of calls.
func (h *house) calls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	trace := h.trace
	h.trace = nil
	return trace
}

// put changes the world as another process would.
func (h *house) put(name string, r record) {
	h.t.Helper()
	tx := h.world.Begin()
	if err := errors.Join(tx.Set(name, r), h.world.Commit(tx)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) lockWallet(_ context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
	h.called("LockWallet")
	found, ok, err := tx.Get("wallet/" + c.Wallet)
	if err != nil || !ok {
		return acceptance.Wallet{Refusal: acceptance.CodeWalletUnknown}, err
	}
	return acceptance.Wallet{Available: found.available}, nil
}

func (h *house) quote(_ context.Context, tx houseTx, c *acceptance.Command) (acceptance.Board, error) {
	h.called("Quote")
	board := acceptance.Board{Now: h.clock()}
	for i := range c.Legs {
		found, ok, err := tx.Get("market/" + c.Legs[i].Market)
		if err != nil {
			return acceptance.Board{}, err
		}
		if !ok {
			found.quote.Refusal = acceptance.CodeSelectionUnknown
		}
		board.Quotes = append(board.Quotes, found.quote)
	}
	return board, nil
}

func (h *house) limits(_ context.Context, _ houseTx, p *acceptance.Proposal) (acceptance.Ruling, error) {
	h.called("Limits")
	ruling := acceptance.Ruling{Rules: []acceptance.RuleVersion{{Name: "stake", Version: "7"}}}
	if p.Stake.Decimal().IntPart() > 90 {
		ruling.Code, ruling.Detail = acceptance.CodeLimitExceeded, "at most 90"
	}
	return ruling, nil
}

func (h *house) exposure(_ context.Context, _ houseTx, p *acceptance.Proposal) (acceptance.Ruling, error) {
	h.called("Exposure")
	ruling := acceptance.Ruling{Rules: []acceptance.RuleVersion{{Name: "exposure", Version: "3"}}}
	if p.Legs[0].Quote.Odds.Decimal().IntPart() >= 50 {
		ruling.Code = acceptance.CodeExposureExceeded
	}
	return ruling, nil
}

func (h *house) place(_ context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
	h.called("Place")
	left, err := p.Wallet.Available.Sub(p.Stake)
	if err != nil {
		return placed{}, err
	}
	bet := placed{ID: p.Command.ID, Stake: p.Stake, Odds: p.Legs[0].Quote.Odds}
	return bet, errors.Join(
		tx.Set("wallet/"+p.Command.Wallet, record{available: left}),
		tx.Set("bet/"+p.Command.Wallet+"/"+p.Command.ID, record{stake: p.Stake}),
	)
}

func (h *house) events(c *acceptance.Command, d *answer) ([]event.Event, error) {
	sum, err := c.Fingerprint(false)
	return []event.Event{{
		Source: "/house", Type: "bet." + string(d.Verdict), Key: c.Key(), Fingerprint: sum,
	}}, err
}

// approve is a risk service that approves.
func (h *house) approve(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
	h.called("Assess")
	return h.evidence(sum, acceptance.RiskApprove), nil
}

func (h *house) evidence(sum fingerprint.Digest, opinion acceptance.Opinion) acceptance.Evidence {
	return acceptance.Evidence{
		ID: "e1", Version: "model-4", Fingerprint: sum, Opinion: opinion,
		IssuedAt: h.clock(), ExpiresAt: h.clock().Add(time.Minute),
	}
}

// accept decides a command and fails the test on an error.
func (h *house) accept(c acceptance.Command) answer {
	h.t.Helper()
	decision, err := h.runner.Accept(h.t.Context(), c)
	if err != nil {
		h.t.Fatalf("Accept of %q: %v", c.ID, err)
	}
	return decision
}

// bets returns the names of all bets that were placed.
func (h *house) bets() []string {
	var names []string
	for name := range h.world.All() {
		if len(name) > 4 && name[:4] == "bet/" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// available returns what Ann's wallet has left.
func (h *house) available() string {
	found, _ := h.world.Get("wallet/ann")
	return found.available.String()
}

// verdicts returns the outcomes of all receipts in the order of their commits,
// each with the operation of its key.
func (h *house) verdicts() []string {
	var all []string
	for _, r := range h.fake.Receipts() {
		all = append(all, r.Key.Operation+" "+string(r.Outcome))
	}
	return all
}

func eur(t testing.TB, text string) money.Amount {
	t.Helper()
	amount, err := new(money.Registry).Parse(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func odds(t testing.TB, text string) money.Odds {
	t.Helper()
	parsed, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func open(t testing.TB, version, price string) acceptance.Quote {
	t.Helper()
	return acceptance.Quote{Version: version, Material: "m1", Odds: odds(t, price), Status: acceptance.MarketOpen}
}

// single returns Ann's bet of stake EUR on the home side at 2.00.
func single(t testing.TB, id, stake string) acceptance.Command {
	t.Helper()
	return acceptance.Command{
		Tenant: "shop", Wallet: "ann", ID: id,
		Legs: []acceptance.Leg{{
			Event: "final", Market: "1x2", Selection: "home", QuoteVersion: "v1", Odds: odds(t, "2.00"),
		}},
		Type:  acceptance.BetType{Kind: acceptance.Single},
		Stake: eur(t, stake),
	}
}

// receiptsOf returns the receipts of one key.
func (h *house) receiptsOf(key receipt.Key) []receipt.Receipt {
	h.t.Helper()
	found, err := h.fake.History(h.t.Context(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}
