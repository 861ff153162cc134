package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// A market as its trader moves it, and what a bet meets after each step.
func TestMarkets(t *testing.T) {
	t.Parallel()
	v := open(t)
	want := market.Market{
		ID: "m1", Event: "e1", Status: acceptance.MarketOpen, Material: 1,
		Selections: []market.Selection{{ID: "away", Odds: odds(t, "3.00"), Tick: 1}, {ID: "home", Odds: odds(t, "2.00"), Tick: 1}},
	}
	var keys int
	step := func(path, body string, verdict acceptance.Verdict, change func()) {
		t.Helper()
		if path != "" {
			change()
			recorder := v.send(t, request{method: "POST", path: "/markets/m1/" + path, as: trader, body: body})
			if diff := cmp.Diff(want, decoded[market.Market](t, recorder)); diff != "" {
				t.Errorf("after %s %s (-want +got)\n%s", path, body, diff)
			}
		}
		if diff := cmp.Diff(want, decoded[market.Market](t, v.send(t, request{method: "GET", path: "/markets/m1"}))); diff != "" {
			t.Errorf("read after %s %s (-want +got)\n%s", path, body, diff)
		}
		keys++
		v.mustPlace(t, place("slip-"+strings.Repeat("1", keys), single()), verdict)
	}
	step("", "", acceptance.Accepted, nil)
	step("prices", `{"prices":[{"selection":"home","odds":"1.90"}]}`, acceptance.Requoted, func() {
		want.Selections[1] = market.Selection{ID: "home", Odds: odds(t, "1.90"), Tick: 2}
	})
	step("suspension", "", acceptance.Rejected, func() { want.Status, want.Material = acceptance.MarketSuspended, 2 })
	step("suspension", "", acceptance.Rejected, func() {})
	step("resumption", "", acceptance.Requoted, func() { want.Status = acceptance.MarketOpen })

	all := decoded[api.Markets](t, v.send(t, request{method: "GET", path: "/markets"}))
	if len(all.Markets) != 2 {
		t.Fatalf("%d markets, want 2", len(all.Markets))
	}
	if diff := cmp.Diff(want, all.Markets[0]); diff != "" {
		t.Errorf("among all (-want +got)\n%s", diff)
	}

	v.send(t, result(`{"market":"m1","version":"feed-1","winner":"home"}`))
	for path, body := range map[string]string{"prices": `{"prices":[{"selection":"home","odds":"1.80"}]}`, "suspension": "", "resumption": ""} {
		problemOf(t, v.send(t, request{method: "POST", path: "/markets/m1/" + path, as: trader, body: body}), http.StatusConflict, api.TypeMarketClosed)
	}
}

func TestWrongPrices(t *testing.T) {
	t.Parallel()
	v := open(t)
	for body, field := range map[string]string{
		`{}`:                           "prices",
		`{"prices":[]}`:                "prices",
		`{"prices":[{"odds":"2.00"}]}`: "prices[0].selection",
		`{"prices":[{"selection":"\u0000","odds":"2.00"}]}`:                                  "prices[0].selection",
		`{"prices":[{"selection":"home"}]}`:                                                  "prices[0].odds",
		`{"prices":[{"selection":"draw","odds":"2.00"}]}`:                                    "prices",
		`{"prices":[{"selection":"home","odds":2.0}]}`:                                       "prices[0].odds",
		`{"prices":[{"selection":"home","odds":"0.9"}]}`:                                     "prices[0].odds",
		`{"prices":[{"selection":"home","odds":"2.00"},{"selection":"home","odds":"3.00"}]}`: "prices[1].selection",
	} {
		recorder := v.send(t, request{method: "POST", path: "/markets/m1/prices", as: trader, body: body})
		problem := decoded[api.Problem](t, recorder)
		if len(problem.Errors) != 1 || problem.Errors[0].Field != field {
			t.Errorf("%s: %d %s; want an error about %s", body, recorder.Code, recorder.Body, field)
		}
	}
}
