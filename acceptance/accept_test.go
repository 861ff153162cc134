package acceptance_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// everyStep configures all optional callbacks.
func everyStep(h *house, c *config) {
	c.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
		h.called("Authorize")
		return acceptance.Ruling{Rules: []acceptance.RuleVersion{{Name: "player", Version: "2"}}}, nil
	}
	c.Risk.Assess = h.approve
	c.Limits = h.limits
	c.Exposure = h.exposure
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, everyStep)
	got := h.accept(single(t, "b1", "10.00"))
	want := answer{
		Verdict: acceptance.Accepted,
		Bet:     placed{ID: "b1", Stake: eur(t, "10.00"), Odds: odds(t, "2.00")},
		Legs: []acceptance.DecidedLeg{{
			Event: "final", Market: "1x2", Selection: "home",
			Requested: acceptance.RequestedQuote{Version: "v1", Odds: odds(t, "2.00")},
			Quote:     new(open(t, "v1", "2.00")),
		}},
		Rules:    []acceptance.RuleVersion{{Name: "player", Version: "2"}, {Name: "stake", Version: "7"}, {Name: "exposure", Version: "3"}},
		Evidence: &acceptance.EvidenceReference{ID: "e1", Version: "model-4"},
		Receipt:  got.Receipt,
	}
	if diff := cmp.Diff(want, got, byValue()...); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if r := got.Receipt; r.Requested != "bet" || r.Outcome != acceptance.Accepted || r.Key != acceptance.PlacingKey("shop", "ann", "b1") {
		t.Errorf("receipt: %+v", r)
	}
	order := []string{"Authorize", "Assess", "LockWallet", "Quote", "Limits", "Exposure", "Place"}
	if diff := cmp.Diff(order, h.calls()); diff != "" {
		t.Errorf("order of the steps (-want +got):\n%s", diff)
	}
	if got := h.available(); got != "90.00 EUR" {
		t.Errorf("available: %s", got)
	}
	if events := h.fake.Events(); len(events) != 1 || events[0].Type != "bet.accepted" {
		t.Errorf("events: %v", events)
	}
}

// byValue compares money as it is meant to be.
func byValue() []cmp.Option {
	return []cmp.Option{
		cmp.Comparer(func(a, b money.Amount) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b money.Odds) bool { return a.Equal(b) }),
	}
}

func TestOptionalStepsHaveDefaults(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) { c.Events = nil })
	if got := h.accept(single(t, "b1", "100.00")); got.Verdict != acceptance.Accepted || got.Evidence != nil || got.Rules != nil {
		t.Errorf("decision: %+v", got)
	}
	if diff := cmp.Diff([]string{"LockWallet", "Quote", "Place"}, h.calls()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestVerdicts has every way in which a step says no, and the last step that
// ran.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		arrange func(*house, *config)
		change  func(*acceptance.Command)
		verdict acceptance.Verdict
		code    acceptance.Code
		detail  string
		last    string
	}{
		{name: "not authorized", arrange: func(_ *house, c *config) {
			c.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
				return acceptance.Ruling{Code: acceptance.CodeNotAuthorized, Detail: "barred until May"}, nil
			}
		}, verdict: acceptance.Rejected, code: acceptance.CodeNotAuthorized, detail: "barred until May"},
		{name: "wallet unknown", change: func(c *acceptance.Command) { c.Wallet = "bob" }, verdict: acceptance.Rejected, code: acceptance.CodeWalletUnknown, last: "LockWallet"},
		{name: "wallet in another currency", arrange: func(h *house, _ *config) {
			h.put("wallet/ann", record{available: inCurrency(t, "100", "JPY")})
		}, verdict: acceptance.Rejected, code: acceptance.CodeCurrencyMismatch, detail: "the wallet is in JPY, the stake in EUR", last: "LockWallet"},
		{name: "selection unknown", change: func(c *acceptance.Command) { c.Legs[0].Market = "other" }, verdict: acceptance.Rejected, code: acceptance.CodeSelectionUnknown, detail: "legs[0]", last: "Quote"},
		{name: "suspended", arrange: quoted(func(q *acceptance.Quote) { q.Status = acceptance.MarketSuspended }), verdict: acceptance.Rejected, code: acceptance.CodeMarketSuspended, detail: "legs[0]", last: "Quote"},
		{name: "closed", arrange: quoted(func(q *acceptance.Quote) { q.Status = acceptance.MarketClosed }), verdict: acceptance.Rejected, code: acceptance.CodeMarketClosed, detail: "legs[0]", last: "Quote"},
		{name: "cut-off", arrange: quoted(func(q *acceptance.Quote) { q.CutOff = opening }), verdict: acceptance.Rejected, code: acceptance.CodeCutOffPassed, detail: "legs[0]", last: "Quote"},
		{name: "other price", arrange: quoted(func(q *acceptance.Quote) { q.Version, q.Odds = "v2", odds(t, "1.90") }), verdict: acceptance.Requoted, last: "Quote"},
		{name: "limit", change: func(c *acceptance.Command) { c.Stake = eur(t, "91.00") }, verdict: acceptance.Rejected, code: acceptance.CodeLimitExceeded, detail: "at most 90", last: "Limits"},
		{name: "limit comes before funds", arrange: func(h *house, _ *config) {
			h.put("wallet/ann", record{available: eur(t, "1.00")})
		}, change: func(c *acceptance.Command) { c.Stake = eur(t, "91.00") }, verdict: acceptance.Rejected, code: acceptance.CodeLimitExceeded, detail: "at most 90", last: "Limits"},
		{name: "funds", arrange: func(h *house, _ *config) {
			h.put("wallet/ann", record{available: eur(t, "9.99")})
		}, verdict: acceptance.Rejected, code: acceptance.CodeInsufficientFunds, last: "Limits"},
		{name: "exposure", arrange: quoted(func(q *acceptance.Quote) { q.Odds = odds(t, "50.00") }), change: func(c *acceptance.Command) {
			c.Legs[0].Odds = odds(t, "50.00")
		}, verdict: acceptance.Rejected, code: acceptance.CodeExposureExceeded, last: "Exposure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, func(h *house, c *config) {
				c.Limits, c.Exposure = h.limits, h.exposure
				if test.arrange != nil {
					test.arrange(h, c)
				}
			})
			command := single(t, "b1", "10.00")
			if test.change != nil {
				test.change(&command)
			}
			before := h.available()
			got := h.accept(command)
			if got.Verdict != test.verdict || got.Code != test.code || got.Detail != test.detail {
				t.Errorf("got %s %q %q, want %s %q %q", got.Verdict, got.Code, got.Detail, test.verdict, test.code, test.detail)
			}
			if last := lastOf(h.calls()); last != test.last {
				t.Errorf("the last step was %q, want %q", last, test.last)
			}
			if got.Receipt.Outcome != test.verdict || h.available() != before || len(h.bets()) != 0 {
				t.Errorf("receipt %s, available %s (before: %s), bets %v", got.Receipt.Outcome, h.available(), before, h.bets())
			}
			again := h.accept(command)
			if !again.Replayed || string(again.Receipt.Value) != string(got.Receipt.Value) || len(h.calls()) != 0 {
				t.Errorf("the replay: %+v", again)
			}
		})
	}
}

func inCurrency(t *testing.T, text, code string) money.Amount {
	t.Helper()
	amount, err := new(money.Registry).Parse(text, code)
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// quoted changes the market that Ann bets on.
func quoted(change func(*acceptance.Quote)) func(*house, *config) {
	return func(h *house, _ *config) {
		quote := open(h.t, "v1", "2.00")
		change(&quote)
		h.put("market/1x2", record{quote: quote})
	}
}

func lastOf(steps []string) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1]
}

func TestRequoteOffersTheCurrentQuotes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quoted(func(q *acceptance.Quote) { q.Version, q.Odds = "v2", odds(t, "1.90") }))
	got := h.accept(single(t, "b1", "10.00"))
	leg := got.Legs[0]
	if leg.Requested.Version != "v1" || !leg.Requested.Odds.Equal(odds(t, "2.00")) {
		t.Errorf("requested: %+v", leg.Requested)
	}
	if leg.Quote.Version != "v2" || !leg.Quote.Odds.Equal(odds(t, "1.90")) {
		t.Errorf("offered: %+v", leg.Quote)
	}
}

// TestReplayOutlivesEverything changes all that a decision depended on, and the
// Config with it.
func TestReplayOutlivesEverything(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		stake string
		want  acceptance.Verdict
	}{
		{"accepted", "10.00", acceptance.Accepted},
		{"rejected", "91.00", acceptance.Rejected},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, everyStep)
			first := h.accept(single(t, "b1", test.stake))
			if first.Verdict != test.want || first.Replayed {
				t.Fatalf("first: %+v", first)
			}

			h.put("wallet/ann", record{available: eur(t, "0.00")})
			h.put("market/1x2", record{quote: acceptance.Quote{Version: "v9", Odds: odds(t, "1.01"), Status: acceptance.MarketClosed}})
			h.wait(24 * time.Hour)
			hostile := h.config
			hostile.UnorderedLegs = true
			hostile.Fence = acceptance.FenceMaterial
			hostile.Rules = acceptance.Rules{
				MaxLegs: 1, MaxLines: 1, Kinds: []acceptance.BetKind{acceptance.System},
				Check: func(*acceptance.Command) []acceptance.FieldError {
					return []acceptance.FieldError{{Field: "stake", Rule: "must be lower today"}}
				},
			}
			hostile.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
				t.Error("Authorize was called")
				return acceptance.Ruling{}, errors.New("away")
			}
			hostile.Risk.Assess = nil
			hostile.Unreceipted = []acceptance.Code{acceptance.CodeLimitExceeded}
			h.runner = h.newRunner(hostile)

			again := h.accept(single(t, "b1", test.stake))
			if !again.Replayed {
				t.Error("the second answer is not a replay")
			}
			again.Replayed = false
			if diff := cmp.Diff(first, again, byValue()...); diff != "" {
				t.Errorf("replay (-first +again):\n%s", diff)
			}
			if n := len(h.receiptsOf(first.Receipt.Key)); n != 1 {
				t.Errorf("%d receipts, want 1", n)
			}
		})
	}
}

func TestSameKeyWithAnotherCommandIsAConflict(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.accept(single(t, "b1", "10.00"))
	_, err := h.runner.Accept(t.Context(), single(t, "b1", "11.00"))
	conflict, ok := errors.AsType[*receipt.ConflictError](err)
	if !ok || !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if len(conflict.Paths) == 0 || !strings.HasPrefix(conflict.Paths[0], "$.stake") {
		t.Errorf("fields that differ: %v", conflict.Paths)
	}
	if h.available() != "90.00 EUR" {
		t.Errorf("available: %s", h.available())
	}
}

func TestOmitCanonical(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) { c.OmitCanonical = true })
	if got := h.accept(single(t, "b1", "10.00")); got.Receipt.Canonical != nil {
		t.Errorf("the receipt holds %d bytes of canonical form", len(got.Receipt.Canonical))
	}
	_, err := h.runner.Accept(t.Context(), single(t, "b1", "11.00"))
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); !ok || conflict.Paths != nil {
		t.Errorf("got %v, want a conflict without fields", err)
	}
}

// TestScopeOfAKey: the same ID is another key under another wallet and another
// tenant (I10).
func TestScopeOfAKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.put("wallet/bob", record{available: eur(t, "50.00")})
	for _, test := range []struct{ tenant, wallet string }{{"shop", "ann"}, {"shop", "bob"}, {"store", "ann"}} {
		command := single(t, "b1", "10.00")
		command.Tenant, command.Wallet = test.tenant, test.wallet
		if got := h.accept(command); got.Replayed || got.Verdict != acceptance.Accepted {
			t.Errorf("%v: %+v", test, got)
		}
	}
	if n := len(h.fake.Receipts()); n != 3 {
		t.Errorf("%d receipts, want 3", n)
	}
}

func TestMetaChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Authorize = func(_ context.Context, c *acceptance.Command) (acceptance.Ruling, error) {
			h.called("meta " + c.Meta["ip"])
			return acceptance.Ruling{}, nil
		}
		place := h.place
		c.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
			if p.Command.Meta != nil {
				t.Error("Place sees Meta")
			}
			return place(ctx, tx, p)
		}
	})
	command := single(t, "b1", "10.00")
	command.Meta = map[string]string{"ip": "192.0.2.1"}
	first := h.accept(command)
	if calls := h.calls(); calls[0] != "meta 192.0.2.1" {
		t.Errorf("Authorize saw %q", calls[0])
	}
	command.Meta = map[string]string{"ip": "192.0.2.99"}
	if again := h.accept(command); !again.Replayed {
		t.Error("other Meta made another command")
	}
	if strings.Contains(string(first.Receipt.Value)+string(first.Receipt.Canonical), "192.0.2.1") {
		t.Error("Meta is stored")
	}
}

// TestRulesOfToday: they are errors and no decisions, name every field, and a
// command may come again when they have changed.
func TestRulesOfToday(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) {
		c.Rules = acceptance.Rules{
			MaxLegs: 1, MaxLines: 1, Kinds: []acceptance.BetKind{acceptance.Single},
			Check: func(*acceptance.Command) []acceptance.FieldError {
				return []acceptance.FieldError{{Field: "stake", Rule: "must be a multiple of 5"}}
			},
		}
	})
	command := single(t, "b1", "11.00")
	command.Legs = append(command.Legs, acceptance.Leg{
		Event: "other", Market: "1x2", Selection: "home", QuoteVersion: "v1", Odds: odds(t, "2.00"),
	})
	command.Type = acceptance.BetType{Kind: acceptance.System, Sizes: []int{1, 2}}
	_, err := h.runner.Accept(t.Context(), command)
	invalid, ok := errors.AsType[*acceptance.InvalidError](err)
	if !ok || !errors.Is(err, acceptance.ErrInvalid) {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	want := []acceptance.FieldError{
		{Field: "legs", Rule: "must have at most 1 entries today, has 2"},
		{Field: "type.kind", Rule: `must be one of ["single"] today, is "system"`},
		{Field: "type.sizes", Rule: "must make at most 1 lines today, makes 3"},
		{Field: "stake", Rule: "must be a multiple of 5"},
	}
	if diff := cmp.Diff(want, invalid.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if calls := h.calls(); len(calls) != 0 || len(h.fake.Receipts()) != 0 {
		t.Errorf("calls %v, receipts %v", calls, h.verdicts())
	}
	relaxed := h.config
	relaxed.Rules = acceptance.Rules{}
	h.runner = h.newRunner(relaxed)
	if got := h.accept(command); got.Verdict != acceptance.Accepted {
		t.Errorf("under other rules: %+v", got)
	}
}

// TestCurrenciesOfTheHouse: a code of the house's own is held to its scale,
// however many decimals were written.
func TestCurrenciesOfTheHouse(t *testing.T) {
	t.Parallel()
	registry, err := money.NewRegistry(money.Definition{Code: "POINTS", Scale: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, func(h *house, c *config) {
		c.Rules.Currencies = registry
		hundred, err := registry.Parse("100", "POINTS")
		if err != nil {
			t.Fatal(err)
		}
		h.put("wallet/ann", record{available: hundred})
	})
	for _, test := range []struct{ id, amount, want string }{
		{"fits", `{"amount":"1.5","currency":"POINTS"}`, "accepted 1.50 POINTS"},
		{"decimals", `{"amount":"1.505","currency":"POINTS"}`, "stake"},
		{"unknown", `{"amount":"1.5","currency":"MILES"}`, "stake"},
	} {
		command := single(t, test.id, "1.00")
		if err := command.Stake.UnmarshalJSON([]byte(test.amount)); err != nil {
			t.Fatal(err)
		}
		decision, err := h.runner.Accept(t.Context(), command)
		got := string(decision.Verdict) + " " + decision.Bet.Stake.String()
		if invalid, ok := errors.AsType[*acceptance.InvalidError](err); ok {
			got = invalid.Fields[0].Field
		}
		if got != test.want {
			t.Errorf("%s: got %q (%v), want %q", test.amount, got, err, test.want)
		}
	}
}

func TestInvalidCommandReachesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, everyStep)
	_, err := h.runner.Accept(t.Context(), acceptance.Command{})
	if !errors.Is(err, acceptance.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	if calls := h.calls(); len(calls) != 0 {
		t.Errorf("calls: %v", calls)
	}
}

// TestUnreceipted: a listed code is answered and not stored, and the same
// command is decided anew.
func TestUnreceipted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) {
		c.Unreceipted = []acceptance.Code{acceptance.CodeInsufficientFunds}
	})
	h.put("wallet/ann", record{available: eur(t, "5.00")})
	command := single(t, "b1", "10.00")
	got := h.accept(command)
	if got.Verdict != acceptance.Rejected || got.Code != acceptance.CodeInsufficientFunds || got.Stored() || got.Replayed {
		t.Errorf("decision: %+v", got)
	}
	if len(h.fake.Receipts()) != 0 || len(h.fake.Events()) != 0 {
		t.Errorf("stored: %v, events %v", h.verdicts(), h.fake.Events())
	}
	h.put("wallet/ann", record{available: eur(t, "50.00")})
	if got := h.accept(command); got.Verdict != acceptance.Accepted || !got.Stored() {
		t.Errorf("with funds: %+v", got)
	}
}

// TestCallbackErrorsDecideNothing: a technical failure is never stored, its
// error is found, and the command may come again.
func TestCallbackErrorsDecideNothing(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for _, step := range []string{"Authorize", "LockWallet", "Quote", "Limits", "Exposure", "Place", "Events"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, everyStep)
			sound := h.config
			broken := h.config
			switch step {
			case "Authorize":
				broken.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
					return acceptance.Ruling{}, away
				}
			case "LockWallet":
				broken.LockWallet = func(context.Context, houseTx, *acceptance.Command) (acceptance.Wallet, error) {
					return acceptance.Wallet{}, away
				}
			case "Quote":
				broken.Quote = func(context.Context, houseTx, *acceptance.Command) (acceptance.Board, error) {
					return acceptance.Board{}, away
				}
			case "Limits":
				broken.Limits = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
					return acceptance.Ruling{}, away
				}
			case "Exposure":
				broken.Exposure = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
					return acceptance.Ruling{}, away
				}
			case "Place":
				broken.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
					_, _ = h.place(ctx, tx, p)
					return placed{}, away
				}
			case "Events":
				broken.Events = func(*acceptance.Command, *answer) ([]event.Event, error) { return nil, away }
			}
			h.runner = h.newRunner(broken)
			if _, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00")); !errors.Is(err, away) || !strings.Contains(err.Error(), step) {
				t.Errorf("got %v, want the error of %s", err, step)
			}
			if len(h.fake.Receipts()) != 0 || len(h.bets()) != 0 {
				t.Errorf("receipts %v, bets %v", h.verdicts(), h.bets())
			}
			h.runner = h.newRunner(sound)
			if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Accepted {
				t.Errorf("afterwards: %+v", got)
			}
		})
	}
}

// TestBrokenContracts: what a callback must not return is an error that names
// it, and nothing is stored.
func TestBrokenContracts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		arrange func(*config)
		want    string
	}{
		{"wallet without a balance", func(c *config) {
			c.LockWallet = func(context.Context, houseTx, *acceptance.Command) (acceptance.Wallet, error) {
				return acceptance.Wallet{}, nil
			}
		}, "LockWallet: Available must be set"},
		{"wallet with a bad code", func(c *config) {
			c.LockWallet = func(context.Context, houseTx, *acceptance.Command) (acceptance.Wallet, error) {
				return acceptance.Wallet{Refusal: "No Way"}, nil
			}
		}, "LockWallet: Refusal"},
		{"board without quotes", func(c *config) {
			c.Quote = func(context.Context, houseTx, *acceptance.Command) (acceptance.Board, error) {
				return acceptance.Board{Now: opening}, nil
			}
		}, "Quotes must have one quote a leg"},
		{"ruling with a bad code", func(c *config) {
			c.Limits = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
				return acceptance.Ruling{Code: "!"}, nil
			}
		}, "Limits: Ruling.Code"},
		{"ruling with an unnamed rule", func(c *config) {
			c.Exposure = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
				return acceptance.Ruling{Rules: []acceptance.RuleVersion{{Name: "x"}}}, nil
			}
		}, "Exposure: Ruling.Rules[0].Version"},
		{"authorizer with a long detail", func(c *config) {
			c.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
				return acceptance.Ruling{Detail: strings.Repeat("x", acceptance.MaxDetail+1)}, nil
			}
		}, "Authorize: Ruling.Detail"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, func(_ *house, c *config) { test.arrange(c) })
			_, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
			if !errors.Is(err, acceptance.ErrCallback) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ErrCallback with %q", err, test.want)
			}
			if len(h.fake.Receipts()) != 0 {
				t.Errorf("receipts: %v", h.verdicts())
			}
		})
	}
}

func TestCallbackPanicLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
			_, _ = h.place(ctx, tx, p)
			panic("place")
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not go on its way")
			}
		}()
		_, _ = h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
	}()
	if len(h.fake.Receipts()) != 0 || h.available() != "100.00 EUR" {
		t.Errorf("receipts %v, available %s", h.verdicts(), h.available())
	}
	h.runner = h.newRunner(func() config { c := h.config; c.Place = h.place; return c }())
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Accepted {
		t.Errorf("afterwards, with the wallet's gate and the key free: %+v", got)
	}
}

func TestNestedAcceptIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Place = func(ctx context.Context, _ houseTx, _ *acceptance.Proposal) (placed, error) {
			_, err := h.runner.Accept(ctx, single(t, "b2", "1.00"))
			return placed{}, err
		}
	})
	if _, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00")); !errors.Is(err, receipt.ErrNested) {
		t.Errorf("got %v, want ErrNested", err)
	}
}

// TestCauseIsNoVerdict: what a callback has from elsewhere says nothing about
// the command's own key.
func TestCauseIsNoVerdict(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for _, verdict := range []error{
		receipt.ErrWithheld, receipt.ErrOutcomeUnknown, receipt.ErrFingerprintMismatch, receipt.ErrInFlight,
		acceptance.ErrCallback, acceptance.ErrNotPending, acceptance.ErrNotAccepted, acceptance.ErrValue,
		&acceptance.InvalidError{}, &acceptance.ConsentError{},
	} {
		for _, step := range []string{"Authorize", "Limits"} {
			h := newHouse(t, func(_ *house, c *config) {
				failure := errors.Join(verdict, away)
				if step == "Authorize" {
					c.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
						return acceptance.Ruling{}, failure
					}
					return
				}
				c.Limits = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
					return acceptance.Ruling{}, failure
				}
			})
			_, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
			_, invalid := errors.AsType[*acceptance.InvalidError](err)
			_, consent := errors.AsType[*acceptance.ConsentError](err)
			if errors.Is(err, verdict) || invalid || consent || errors.Is(err, acceptance.ErrInvalid) || !errors.Is(err, away) {
				t.Errorf("%s with %q: got %v, want the cause without its verdict", step, verdict, err)
			}
		}
	}
}

// TestRulesDoNotOvertakeADecision: a retry that breaks a rule of today waits
// for the call that is on its way, and is answered with its decision.
func TestRulesDoNotOvertakeADecision(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	slow, tightened := h.config, h.config
	var retry sync.WaitGroup
	var answered atomic.Bool
	slow.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
		retry.Go(func() {
			defer answered.Store(true)
			got, err := h.newRunner(tightened).Accept(t.Context(), single(t, "b1", "10.00"))
			if err != nil || got.Verdict != acceptance.Accepted || !got.Replayed {
				t.Errorf("the retry: %+v, %v", got, err)
			}
		})
		for h.fake.Waiting(p.Command.Key()) == 0 && !answered.Load() {
			runtime.Gosched()
		}
		return h.place(ctx, tx, p)
	}
	tightened.Rules.Check = func(*acceptance.Command) []acceptance.FieldError {
		return []acceptance.FieldError{{Field: "stake", Rule: "must be lower today"}}
	}
	h.runner = h.newRunner(slow)
	h.accept(single(t, "b1", "10.00"))
	retry.Wait()
}

// TestCallbacksThatChangeTheirCommand change neither what is decided nor what
// the caller holds.
func TestCallbacksThatChangeTheirCommand(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) {
		c.Authorize = func(_ context.Context, c *acceptance.Command) (acceptance.Ruling, error) {
			c.Legs[0].Odds, c.Stake = odds(t, "9.00"), eur(t, "1.00")
			return acceptance.Ruling{}, nil
		}
	})
	command := single(t, "b1", "10.00")
	got := h.accept(command)
	if !got.Bet.Odds.Equal(odds(t, "2.00")) || !got.Bet.Stake.Equal(eur(t, "10.00")) || !command.Legs[0].Odds.Equal(odds(t, "2.00")) {
		t.Errorf("bet %+v, command %+v", got.Bet, command.Legs[0])
	}
}

// TestAttemptsAtSerializable: the default bound is higher where rivals on other
// wallets can fail a bet.
func TestAttemptsAtSerializable(t *testing.T) {
	t.Parallel()
	for level, want := range map[receipt.Isolation]int{
		receipt.ReadCommitted: 5, receipt.Serializable: acceptance.DefaultSerializableAttempts,
	} {
		faults := make([]receipttest.Fault, 100)
		for i := range faults {
			faults[i] = receipttest.RerunCallback
		}
		h := newHouse(t, func(_ *house, c *config) { c.Isolation = level }, faults...)
		if _, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00")); !errors.Is(err, receipt.ErrNotCommitted) {
			t.Errorf("%v: %v", level, err)
		}
		if got := h.fake.Fired(receipttest.RerunCallback); got != want {
			t.Errorf("%v: %d attempts, want %d", level, got, want)
		}
	}
}

// TestTotalAtTheHousesScale: what fits as it was written may not fit with the
// decimals of the house's currency, and that shows at the door.
func TestTotalAtTheHousesScale(t *testing.T) {
	t.Parallel()
	registry, err := money.NewRegistry(money.Definition{Code: "POINTS", Scale: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, func(_ *house, c *config) { c.Rules.Currencies = registry })
	command := single(t, "b1", "1.00")
	command.Legs = append(command.Legs, acceptance.Leg{
		Event: "other", Market: "1x2", Selection: "home", QuoteVersion: "v1", Odds: odds(t, "2.00"),
	})
	command.Type = acceptance.BetType{Kind: acceptance.System, Sizes: []int{1, 2}}
	command.StakeMode = acceptance.StakePerLine
	text := `{"amount":"` + strings.Repeat("9", money.MaxDigits-2) + `","currency":"POINTS"}`
	if err := command.Stake.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	_, err = h.runner.Accept(t.Context(), command)
	invalid, ok := errors.AsType[*acceptance.InvalidError](err)
	if !ok || invalid.Fields[0].Field != "stake" || !strings.Contains(invalid.Fields[0].Rule, "must make a total") {
		t.Errorf("got %v, want an InvalidError about the total", err)
	}
}
