package acceptance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// move changes the price of the market that Ann bets on.
func (h *house) move(version, price string) {
	h.t.Helper()
	h.put("market/1x2", record{quote: open(h.t, version, price)})
}

// consenting returns a command that takes the offer of a requote.
func consenting(t *testing.T, id, consents, version, price string) acceptance.Command {
	t.Helper()
	command := single(t, id, "10.00")
	command.Consents = consents
	command.Legs[0].QuoteVersion, command.Legs[0].Odds = version, odds(t, price)
	return command
}

func TestConsentToARequote(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.move("v2", "1.90")
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Requoted {
		t.Fatalf("first: %+v", got)
	}
	h.move("v3", "1.80")
	if got := h.accept(consenting(t, "b2", "b1", "v2", "1.90")); got.Verdict != acceptance.Requoted || got.Consents != "b1" {
		t.Fatalf("second: %+v", got)
	}
	third := h.accept(consenting(t, "b3", "b2", "v3", "1.80"))
	if third.Verdict != acceptance.Accepted || third.Consents != "b2" {
		t.Fatalf("third: %+v", third)
	}
	want := []string{
		"place-bet requoted",
		"place-bet requoted", "consent-to-requote consented",
		"place-bet accepted", "consent-to-requote consented",
	}
	if diff := cmp.Diff(want, h.verdicts()); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
	for _, id := range []string{"b1", "b2", "b3"} {
		chain, err := h.runner.Chain(t.Context(), "shop", "ann", id)
		if err != nil {
			t.Fatal(err)
		}
		var links []string
		for _, link := range chain {
			links = append(links, link.ID+" "+string(link.Decision.Verdict)+" → "+link.Decision.Successor)
		}
		want := []string{"b1 requoted → b2", "b2 requoted → b3", "b3 accepted → "}
		if diff := cmp.Diff(want, links); diff != "" {
			t.Errorf("chain of %s (-want +got):\n%s", id, diff)
		}
	}
	if again := h.accept(consenting(t, "b2", "b1", "v2", "1.90")); !again.Replayed || again.Verdict != acceptance.Requoted {
		t.Errorf("replay of the second: %+v", again)
	}
}

// TestConsentIsUsedOnce: the second command that consents is a conflict,
// whatever became of the first, and leaves nothing.
func TestConsentIsUsedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		funds string
		want  acceptance.Verdict
	}{
		{"by an acceptance", "100.00", acceptance.Accepted},
		{"by a rejection", "1.00", acceptance.Rejected},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			h.move("v2", "1.90")
			h.accept(single(t, "b1", "10.00"))
			h.put("wallet/ann", record{available: eur(t, test.funds)})
			if got := h.accept(consenting(t, "b2", "b1", "v2", "1.90")); got.Verdict != test.want {
				t.Fatalf("first consent: %+v", got)
			}
			h.calls()
			_, err := h.runner.Accept(t.Context(), consenting(t, "b3", "b1", "v2", "1.90"))
			if steps := h.calls(); len(steps) != 0 {
				t.Errorf("steps of the second consent: %v", steps)
			}
			used, ok := errors.AsType[*acceptance.ConsentError](err)
			if !ok || !errors.Is(err, acceptance.ErrConsentUsed) || used.Requoted != "b1" || used.Successor != "b2" {
				t.Errorf("second consent: %v", err)
			}
			if found := h.receiptsOf(acceptance.PlacingKey("shop", "ann", "b3")); len(found) != 0 {
				t.Errorf("receipts of the second consent: %v", found)
			}
		})
	}
}

// TestConsentRace: a rival consents between the read and the commit. The
// primary key of the consent tells, and the callback's work is undone.
func TestConsentRace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.move("v2", "1.90")
	h.accept(single(t, "b1", "10.00"))
	racing := h.config
	raced := false
	racing.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
		if !raced {
			raced = true
			rival := h.newRunner(h.config) // another process has a gate of its own
			if got, err := rival.Accept(t.Context(), consenting(t, "b3", "b1", "v2", "1.90")); err != nil || got.Verdict != acceptance.Accepted {
				t.Errorf("rival: %+v, %v", got, err)
			}
		}
		return h.place(ctx, tx, p)
	}
	h.runner = h.newRunner(racing)
	_, err := h.runner.Accept(t.Context(), consenting(t, "b2", "b1", "v2", "1.90"))
	if used, ok := errors.AsType[*acceptance.ConsentError](err); !ok || used.Successor != "b3" {
		t.Errorf("got %v, want a ConsentError with b3", err)
	}
	if diff := cmp.Diff([]string{"bet/ann/b3"}, h.bets()); diff != "" {
		t.Errorf("bets (-want +got):\n%s", diff)
	}
	if h.available() != "90.00 EUR" {
		t.Errorf("available: %s", h.available())
	}
}

func TestConsentThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*acceptance.Command)
		field  string
	}{
		{"to nothing", func(c *acceptance.Command) { c.Consents = "b0" }, "consents"},
		{"to an accepted bet", func(c *acceptance.Command) { c.Consents = "taken" }, "consents"},
		{"to a requote of another wallet", func(c *acceptance.Command) { c.Wallet = "bob" }, "consents"},
		{"to a requote of another tenant", func(c *acceptance.Command) { c.Tenant = "store" }, "consents"},
		{"on another selection", func(c *acceptance.Command) { c.Legs[0].Selection = "away" }, "legs"},
		{"on another line", func(c *acceptance.Command) { c.Legs[0].Line = "2.5" }, "legs"},
		{"on another event", func(c *acceptance.Command) { c.Legs[0].Event = "semi" }, "legs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			h.put("wallet/bob", record{available: eur(t, "50.00")})
			h.accept(single(t, "taken", "1.00"))
			h.move("v2", "1.90")
			h.accept(single(t, "b1", "10.00"))
			command := consenting(t, "b2", "b1", "v2", "1.90")
			test.change(&command)
			_, err := h.runner.Accept(t.Context(), command)
			if invalid, ok := errors.AsType[*acceptance.InvalidError](err); !ok || invalid.Fields[0].Field != test.field {
				t.Errorf("got %v, want an InvalidError on %s", err, test.field)
			}
			if n := len(h.fake.Receipts()); n != 2 {
				t.Errorf("%d receipts, want 2", n)
			}
		})
	}
}

// TestConsentInAnotherOrder: the legs of a consent may stand in any order where
// the order counts for nothing else either.
func TestConsentInAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, unordered := range []bool{false, true} {
		h := newHouse(t, func(_ *house, c *config) { c.UnorderedLegs = unordered })
		h.move("v2", "1.90")
		first := single(t, "b1", "10.00")
		away := first.Legs[0]
		away.Selection = "away"
		first.Legs, first.Type.Kind = append(first.Legs, away), acceptance.Accumulator
		h.accept(first)

		second := consenting(t, "b2", "b1", "v2", "1.90")
		away.QuoteVersion, away.Odds = second.Legs[0].QuoteVersion, second.Legs[0].Odds
		second.Legs, second.Type.Kind = []acceptance.Leg{away, second.Legs[0]}, acceptance.Accumulator
		got, err := h.runner.Accept(t.Context(), second)
		if unordered && got.Verdict != acceptance.Accepted || !unordered && !errors.Is(err, acceptance.ErrInvalid) {
			t.Errorf("unordered legs %v: %s, %v", unordered, got.Verdict, err)
		}

		second.Legs[0].Selection = "draw"
		second.ID = "b3"
		if _, err := h.runner.Accept(t.Context(), second); !errors.Is(err, acceptance.ErrInvalid) {
			t.Errorf("unordered legs %v, another selection: %v", unordered, err)
		}
	}
}

// TestUnreceiptedKeepsTheConsent: what is not stored uses nothing up.
func TestUnreceiptedKeepsTheConsent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(_ *house, c *config) { c.Unreceipted = []acceptance.Code{acceptance.CodeInsufficientFunds} })
	h.move("v2", "1.90")
	h.accept(single(t, "b1", "10.00"))
	h.put("wallet/ann", record{available: eur(t, "1.00")})
	h.accept(consenting(t, "b2", "b1", "v2", "1.90"))
	h.put("wallet/ann", record{available: eur(t, "50.00")})
	if got := h.accept(consenting(t, "b3", "b1", "v2", "1.90")); got.Verdict != acceptance.Accepted {
		t.Errorf("another consent: %+v", got)
	}
}

// TestConsentWithoutAnAnswer: the consent's receipt commits with the bet's, also
// where the answer to the COMMIT is lost.
func TestConsentWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, fault := range []receipttest.Fault{receipttest.LoseAnswer, receipttest.UnknownThenFound, receipttest.UnknownThenNotFound, receipttest.RerunCallback} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			h.move("v2", "1.90")
			h.accept(single(t, "b1", "10.00"))
			if err := h.fake.Inject(fault); err != nil {
				t.Fatal(err)
			}
			got := h.accept(consenting(t, "b2", "b1", "v2", "1.90"))
			if got.Verdict != acceptance.Accepted || got.Replayed {
				t.Errorf("decision: %+v", got)
			}
			consent := h.receiptsOf(acceptance.ConsentKey("shop", "ann", "b1"))
			if len(consent) != 1 || consent[0].Attempt != got.Receipt.Attempt {
				t.Errorf("consent: %v", consent)
			}
		})
	}
}

// TestKeysAreValidated: who names a command wrongly learns every wrong field, as
// who sends one does.
func TestKeysAreValidated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	long := strings.Repeat("x", 257)
	for name, ask := range map[string]func() error{
		"Lookup":  func() error { _, err := h.runner.Lookup(t.Context(), "shop", "", long); return err },
		"Chain":   func() error { _, err := h.runner.Chain(t.Context(), "shop", "", long); return err },
		"Resolve": func() error { _, err := h.runner.Resolve(t.Context(), "shop", "", long, approving()); return err },
		"Close": func() error {
			closing := acceptance.Closing{Tenant: "shop", ID: long, Kind: settle.Settled, ResultVersion: "r1"}
			_, err := acceptance.Close(t.Context(), newCloser(h).runner, closing, func(context.Context, *settle.Attempt[houseTx]) (string, error) {
				return "", nil
			})
			return err
		},
	} {
		err := ask()
		invalid, ok := errors.AsType[*acceptance.InvalidError](err)
		if !ok {
			t.Errorf("%s: got %v, want an InvalidError", name, err)
			continue
		}
		want := []acceptance.FieldError{
			{Field: "wallet", Rule: "must not be empty"}, {Field: "id", Rule: "must have at most 256 bytes, has 257"},
		}
		if diff := cmp.Diff(want, invalid.Fields); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	if _, err := h.runner.Lookup(t.Context(), "shop", "ann", "b1"); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if _, err := h.runner.Chain(t.Context(), "shop", "ann", "b1"); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	first := h.accept(single(t, "b1", "10.00"))
	found, err := h.runner.Lookup(t.Context(), "shop", "ann", "b1")
	first.Replayed = true
	if diff := cmp.Diff(first, found, byValue()...); err != nil || diff != "" {
		t.Errorf("%v (-accepted +found):\n%s", err, diff)
	}
}
