package api_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Each verdict has its status, and a replay has the bytes and the status of the
// first answer, whatever has become of prices, wallets and players meanwhile.
func TestDecisionsAndTheirReplays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		body    string
		opinion acceptance.Opinion
		verdict acceptance.Verdict
		status  int
		holds   string
	}{
		{"accepted", single(), "approve", acceptance.Accepted, http.StatusCreated, `"payout":{"amount":"20.00","currency":"EUR"}`},
		{"rejected", single("10.00", "100.01"), "approve", acceptance.Rejected, http.StatusOK, `"code":"insufficient_funds"`},
		{"requoted", single(`"2.00"`, `"2.50"`), "approve", acceptance.Requoted, http.StatusOK, `"odds":"2"`},
		{"pending", single(), "refer", acceptance.Pending, http.StatusAccepted, `"expires_at":`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := open(t)
			v.opinion = c.opinion
			decision, first := v.mustPlace(t, place(`"slip 1"`, c.body), c.verdict)
			if first.Code != c.status || !strings.Contains(string(decision.Decision), c.holds) {
				t.Errorf("%d %s; want %d and %s", first.Code, first.Body, c.status, c.holds)
			}
			if decision.Reference != (bet.Reference{Wallet: "alice", ID: "slip 1"}) {
				t.Errorf("the decision is on %v", decision.Reference)
			}
			wantHeader(t, first.Header(), "Content-Type", "application/json")
			wantHeader(t, first.Header(), "Cache-Control", "no-store")
			wantHeader(t, first.Header(), api.ReplayedHeader, "false")
			location := ""
			if c.status != http.StatusOK {
				location = "/bets/slip%201"
			}
			wantHeader(t, first.Header(), "Location", location)
			stored := v.fake.Receipts()
			if len(stored) != 1 {
				t.Fatalf("%d receipts, want 1", len(stored))
			}
			identity := &api.Receipt{Attempt: stored[0].Attempt, Fingerprint: stored[0].Fingerprint, RecordedAt: stored[0].RecordedAt}
			if diff := cmp.Diff(identity, decision.Receipt); diff != "" {
				t.Errorf("the receipt's identity (-want +got)\n%s", diff)
			}
			if !bytes.Equal(decision.Decision, stored[0].Value) {
				t.Errorf("the decision is\n%s, and the receipt's\n%s", decision.Decision, stored[0].Value)
			}

			v.disturb(t)
			replay := v.send(t, place(`"slip 1"`, c.body))
			wantHeader(t, replay.Header(), api.ReplayedHeader, "true")
			wantHeader(t, replay.Header(), "Location", location)
			if replay.Code != first.Code {
				t.Errorf("the replay has status %d, the first answer %d", replay.Code, first.Code)
			}
			if diff := cmp.Diff(first.Body.String(), replay.Body.String()); diff != "" {
				t.Errorf("the replay is another answer (-first +replay)\n%s", diff)
			}
			read := v.send(t, request{method: "GET", path: "/bets/slip%201"})
			if diff := cmp.Diff(first.Body.String(), read.Body.String()); read.Code != http.StatusOK || diff != "" {
				t.Errorf("GET gives %d and another answer (-first +read)\n%s", read.Code, diff)
			}
		})
	}
}

// disturb changes all that a decision came from.
func (v *venue) disturb(t *testing.T) {
	t.Helper()
	v.opinion = acceptance.RiskRefuse
	for _, err := range []error{
		v.tables.Move(t.Context(), "m1", market.Price{Selection: "home", Odds: odds(t, "1.10")}),
		v.tables.Suspend(t.Context(), "m1"),
		v.tables.Bar(t.Context(), "alice", true),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// storing is a house that has a decision.
type storing struct {
	api.Bets
	value string
}

func (s storing) Accept(_ context.Context, c acceptance.Command) (house.Decision, error) {
	return house.Decision{Verdict: acceptance.Rejected, Receipt: receipt.Receipt{Key: c.Key(), Value: []byte(s.value)}}, nil
}

// What is stored is not written anew, even where two texts mean the same.
func TestStoredBytesStay(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{`{"detail":"a <b> & c"}`, `{"detail":"a \u003cb\u003e"}`, `{"b":1,"a":1.50}`} {
		v := open(t, func(_ *house.Config, a *api.Config) { a.Bets = storing{value: stored} })
		if recorder := v.send(t, place("slip-1", single())); !strings.Contains(recorder.Body.String(), `"decision":`+stored+`,`) {
			t.Errorf("%s was answered as %s", stored, recorder.Body)
		}
	}
}

// The two forms of the header are one key.
func TestQuotedAndBareKeyAreOne(t *testing.T) {
	t.Parallel()
	v := open(t)
	_, first := v.mustPlace(t, place(`"slip-1"`, single()), acceptance.Accepted)
	replay := v.send(t, place(`slip-1`, single()))
	wantHeader(t, replay.Header(), api.ReplayedHeader, "true")
	if diff := cmp.Diff(first.Body.String(), replay.Body.String()); diff != "" {
		t.Errorf("(-quoted +bare)\n%s", diff)
	}
}

func TestConflictNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
	for _, c := range []struct {
		body  string
		paths []string
	}{
		{single("10.00", "11.00"), []string{"$.stake.amount"}},
		{single("home", "away", `"2.00"`, `"3.00"`), []string{"$.legs[0].odds", "$.legs[0].selection"}},
	} {
		recorder := v.send(t, place("slip-1", c.body))
		got := problemOf(t, recorder, http.StatusUnprocessableEntity, api.TypeKeyReused)
		if diff := cmp.Diff(c.paths, got.Paths); diff != "" {
			t.Errorf("paths (-want +got)\n%s", diff)
		}
	}
	if receipts := v.fake.Receipts(); len(receipts) != 1 {
		t.Errorf("%d receipts after conflicts, want 1", len(receipts))
	}
}

// What identifies the request and not the bet is no conflict.
func TestMetaIsNoConflict(t *testing.T) {
	t.Parallel()
	v := open(t)
	_, first := v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
	replay := v.send(t, place("slip-1", single(`"type"`, `"meta":{"device":"another"},"type"`)))
	if diff := cmp.Diff(first.Body.String(), replay.Body.String()); diff != "" {
		t.Errorf("(-first +replay)\n%s", diff)
	}
}

// A requote, the consent to it, and one that comes too late.
func TestConsentAndChain(t *testing.T) {
	t.Parallel()
	v := open(t)
	stale, consent := single(`"2.00"`, `"2.50"`), single(`"type"`, `"consents":"slip-1","type"`)
	v.mustPlace(t, place("slip-1", stale), acceptance.Requoted)
	_, accepted := v.mustPlace(t, place("slip-2", consent), acceptance.Accepted)

	got := problemOf(t, v.send(t, place("slip-3", consent)), http.StatusConflict, api.TypeConsentUsed)
	if got.Successor != "slip-2" {
		t.Errorf("the successor is %q, want slip-2", got.Successor)
	}

	requoted := decoded[api.Decision](t, v.send(t, request{method: "GET", path: "/bets/slip-1"}))
	if requoted.Successor != "slip-2" {
		t.Errorf("the requote names the successor %q, want slip-2", requoted.Successor)
	}
	for _, id := range []string{"slip-1", "slip-2"} {
		chain := decoded[api.Chain](t, v.send(t, request{method: "GET", path: "/bets/" + id + "/chain"}))
		want := []api.Decision{requoted, decoded[api.Decision](t, accepted)}
		if diff := cmp.Diff(want, chain.Chain); diff != "" {
			t.Errorf("the chain of %s (-want +got)\n%s", id, diff)
		}
	}
	problemOf(t, v.send(t, request{method: "GET", path: "/bets/slip-3/chain"}), http.StatusNotFound, api.TypeNotFound)
}

func TestResolution(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.opinion = acceptance.RiskRefer
	resolve := func(id, body string) request {
		return request{method: "POST", path: "/bets/" + id + "/resolution?wallet=alice", as: trader, body: body}
	}
	problemOf(t, v.send(t, resolve("slip-1", `{"ruling":"approve"}`)), http.StatusConflict, api.TypeNotReferred)

	v.mustPlace(t, place("slip-1", single()), acceptance.Pending)
	got := problemOf(t, v.send(t, resolve("slip-1", `{"ruling":"maybe"}`)), http.StatusUnprocessableEntity, api.TypeInvalid)
	if len(got.Errors) != 1 || got.Errors[0].Field != "ruling" {
		t.Errorf("errors %v, want one about the ruling", got.Errors)
	}
	word := resolve("slip-1", `{"ruling":"approve","reason":"a good customer"}`)
	resolved, first := v.mustPlace(t, word, acceptance.Accepted)
	if first.Code != http.StatusCreated || !strings.Contains(string(resolved.Decision), `"by":"trudy"`) {
		t.Errorf("%d %s; want 201 and who decided", first.Code, first.Body)
	}
	for name, q := range map[string]request{"the word": word, "the command": place("slip-1", single())} {
		again := v.send(t, q)
		wantHeader(t, again.Header(), api.ReplayedHeader, "true")
		if diff := cmp.Diff(first.Body.String(), again.Body.String()); diff != "" {
			t.Errorf("%s again (-first +again)\n%s", name, diff)
		}
	}

	v.mustPlace(t, place("slip-2", single()), acceptance.Pending)
	declined, _ := v.mustPlace(t, resolve("slip-2", `{"ruling":"decline"}`), acceptance.Rejected)
	if !strings.Contains(string(declined.Decision), string(acceptance.CodeReferralDeclined)) {
		t.Errorf("declined: %s", declined.Decision)
	}

	// A bet that was decided without a trader keeps its decision.
	v.opinion = acceptance.RiskApprove
	_, placed := v.mustPlace(t, place("slip-3", single()), acceptance.Accepted)
	_, answered := v.mustPlace(t, resolve("slip-3", `{"ruling":"decline"}`), acceptance.Accepted)
	wantHeader(t, answered.Header(), api.ReplayedHeader, "true")
	if diff := cmp.Diff(placed.Body.String(), answered.Body.String()); diff != "" || answered.Code != http.StatusCreated {
		t.Errorf("a trader's word on a decided bet: %d (-decision +answer)\n%s", answered.Code, diff)
	}
}

// A rejection that is not stored says so, and decides nothing.
func TestUnreceiptedRejection(t *testing.T) {
	t.Parallel()
	v := open(t, func(h *house.Config, _ *api.Config) {
		h.Unreceipted = []acceptance.Code{acceptance.CodeMarketSuspended}
	})
	if err := v.tables.Suspend(t.Context(), "m1"); err != nil {
		t.Fatal(err)
	}
	body := single(`"type"`, `"odds_change":{"policy":"any","within_basis_points":1},"type"`)
	recorder := v.send(t, place("slip-1", body))
	want := `{"wallet":"alice","bet":"slip-1","verdict":"rejected","decision":{"verdict":"rejected","code":"market_suspended","detail":"legs[0]"},"receipt":null}` + "\n"
	if diff := cmp.Diff(want, recorder.Body.String()); recorder.Code != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got)\n%s", recorder.Code, diff)
	}
	if err := v.tables.Resume(t.Context(), "m1"); err != nil {
		t.Fatal(err)
	}
	v.mustPlace(t, place("slip-1", body), acceptance.Accepted)
}

// Nobody reaches another's keys, wallets and decisions (I10).
func TestNobodyReachesAnothersThings(t *testing.T) {
	t.Parallel()
	v := open(t)
	_, alices := v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)

	forbidden := func(q request) {
		t.Helper()
		problemOf(t, v.send(t, q), http.StatusForbidden, api.TypeForbidden)
	}
	stranger := place("slip-1", single())
	stranger.as = "other/alice:players"
	forbidden(stranger)
	forbidden(request{method: "GET", path: "/wallets/alice", as: "other/alice:players"})
	forbidden(request{method: "GET", path: "/wallets/alice", as: "other/trudy:traders"})
	forbidden(request{method: "GET", path: "/bets/slip-1?wallet=alice", as: "other/trudy:traders"})
	forbidden(request{method: "GET", path: "/bets/slip-1?wallet=alice", as: bob})
	forbidden(request{method: "GET", path: "/wallets/alice", as: bob})
	forbidden(request{method: "GET", path: "/wallets/nobody", as: bob})
	forbidden(place("slip-1", single(`"type"`, `"wallet":"bob","type"`)))
	forbidden(place("slip-1", single(`"type"`, `"tenant":"other","type"`)))
	for _, path := range []string{"/bets/slip-1/resolution", "/bets/slip-1/void", "/results", "/markets/m1/prices", "/markets/m1/suspension", "/markets/m1/resumption"} {
		forbidden(request{method: "POST", path: path, body: `{}`})
	}
	traders := place("slip-1", single())
	traders.as = trader
	forbidden(traders)

	// The same key under another wallet is another key.
	problemOf(t, v.send(t, request{method: "GET", path: "/bets/slip-1", as: bob}), http.StatusNotFound, api.TypeNotFound)
	bobs := place("slip-1", single("10.00", "11.00"))
	bobs.as = bob
	v.mustPlace(t, bobs, acceptance.Accepted)
	if again := v.send(t, place("slip-1", single())); again.Body.String() != alices.Body.String() {
		t.Errorf("alice gets %s after bob's bet, and got %s before", again.Body, alices.Body)
	}
	if receipts := v.fake.Receipts(); len(receipts) != 2 {
		t.Errorf("%d receipts, want alice's and bob's", len(receipts))
	}
}

// What the body says of itself may repeat what is known, and nothing else.
func TestCommandMayNameItself(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("slip-1", single(`"type"`, `"tenant":"acme","wallet":"alice","id":"slip-1","type"`)), acceptance.Accepted)
	got := problemOf(t, v.send(t, place("slip-2", single(`"type"`, `"id":"slip-1","type"`))), http.StatusUnprocessableEntity, api.TypeInvalid)
	if len(got.Errors) != 1 || got.Errors[0].Field != "id" {
		t.Errorf("errors %v, want one about the id", got.Errors)
	}
}

func wantHeader(t *testing.T, header http.Header, name, want string) {
	t.Helper()
	if got := header.Get(name); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// The clock of the house in memory is the process's, and cut-offs are judged by
// it.
func TestCutOff(t *testing.T) {
	t.Parallel()
	v := open(t)
	err := v.tables.OpenMarket(t.Context(), market.Opening{
		ID: "m3", Event: "e1", CutOff: time.Now().Add(-time.Minute),
		Prices: []market.Price{{Selection: "home", Odds: odds(t, "2.00")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	decision, _ := v.mustPlace(t, place("slip-1", single("m1", "m3")), acceptance.Rejected)
	if !strings.Contains(string(decision.Decision), string(acceptance.CodeCutOffPassed)) {
		t.Errorf("decision %s", decision.Decision)
	}
}

// A bet that could pay more than an amount can hold is a bet that the house does
// not take, and no failure of the server.
func TestPayoutThatIsNoAmount(t *testing.T) {
	t.Parallel()
	v := open(t)
	decision, recorder := v.mustPlace(t, place("slip-1", single(`"10.00"`, `"`+strings.Repeat("9", 36)+`.00"`)), acceptance.Rejected)
	if !strings.Contains(string(decision.Decision), string(acceptance.CodeLimitExceeded)) {
		t.Errorf("decision %s", recorder.Body)
	}
}
