package acceptance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance/money"
)

var boardNow = time.Date(2026, 5, 9, 14, 30, 0, 0, time.UTC)

func odds(t *testing.T, text string) money.Odds {
	t.Helper()
	parsed, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// seen is the leg of a player who saw a version with these odds.
func seen(t *testing.T, version, at string) Leg {
	t.Helper()
	return Leg{Event: "final", Market: "winner", Selection: "home", Line: "0.5", QuoteVersion: version, Odds: odds(t, at)}
}

// open is the quote of an open market.
func open(t *testing.T, tick, material, at string) Quote {
	t.Helper()
	return Quote{Version: tick, Material: material, Odds: odds(t, at), Status: MarketOpen}
}

// verdict puts the answer of the fence in a word.
func verdict(f fenced) string {
	switch {
	case f.code != "" && f.requote:
		return "both a code and a requote"
	case f.code != "":
		return string(f.code) + " by " + f.detail
	case f.requote:
		return "requote"
	default:
		return "take"
	}
}

func TestFenceComparesVersionAndOdds(t *testing.T) {
	t.Parallel()
	const tick, material = FenceTick, FenceMaterial
	exact, better := OddsChange{Policy: OddsExact}, OddsChange{Policy: OddsBetter}
	within := func(basisPoints int) OddsChange {
		return OddsChange{Policy: OddsAny, WithinBasisPoints: basisPoints}
	}
	for _, test := range []struct {
		name               string
		version            FenceVersion
		change             OddsChange
		saw, sawOdds       string
		now, nowMat, nowAt string
		want               string
	}{
		{"exact: nothing has changed", tick, exact, "t1", "2.00", "t1", "m1", "2", "take"},
		{"no policy is exact", tick, OddsChange{}, "t1", "2.00", "t1", "m1", "2.00", "take"},
		{"no policy takes no better odds", tick, OddsChange{}, "t1", "2.00", "t2", "m1", "2.01", "requote"},
		{"an unknown policy takes no better odds", tick, OddsChange{Policy: "fair"}, "t1", "2.00", "t1", "m1", "2.01", "requote"},
		{"exact: equal odds under another version", tick, exact, "t1", "2.00", "t2", "m1", "2.00", "requote"},
		{"exact: other odds under the same version", tick, exact, "t1", "2.00", "t1", "m1", "2.01", "requote"},
		{"exact: the material version is not the tick", tick, exact, "m1", "2.00", "t1", "m1", "2.00", "requote"},
		{"exact: a house without material versions", tick, exact, "t1", "2.00", "t1", "", "2.00", "take"},
		{"exact: the last decimal counts", tick, exact, "t1", "2.0000000001", "t1", "m1", "2", "requote"},

		{"better: higher odds under another version", tick, better, "t1", "2.00", "t2", "m2", "2.01", "take"},
		{"better: equal odds under another version", tick, better, "t1", "2.00", "t2", "m2", "2.00", "take"},
		{"better: lower odds", tick, better, "t1", "2.00", "t2", "m1", "1.99", "requote"},
		{"better: lower in the last decimal", tick, better, "t1", "2.00", "t1", "m1", "1.9999999999", "requote"},

		{"any: higher odds", tick, within(1), "t1", "2.00", "t2", "m1", "900", "take"},
		{"any: equal odds under another version", tick, within(1), "t1", "2.00", "t2", "m1", "2.00", "take"},
		{"any: at the bound", tick, within(500), "t1", "2.00", "t2", "m1", "1.90", "take"},
		{"any: below the bound in the last decimal", tick, within(500), "t1", "2.00", "t2", "m1", "1.8999999999", "requote"},
		{"any: at a bound that takes four decimals", tick, within(1), "t1", "1.01", "t2", "m1", "1.009899", "take"},
		{"any: just below it", tick, within(1), "t1", "1.01", "t2", "m1", "1.0098989999", "requote"},
		{"any: at a bound that no odds can state", tick, within(1), "t1", "2.0000000001", "t2", "m1", "1.9998", "requote"},
		{"any: the next odds above it", tick, within(1), "t1", "2.0000000001", "t2", "m1", "1.9998000001", "take"},
		{"any: the greatest bound takes whatever is offered", tick, within(10_000), "t1", "1000000", "t2", "m1", "1.0000000001", "take"},
		{"any: one less", tick, within(9_999), "t1", "1000000", "t2", "m1", "99.9999999999", "requote"},
		{"any: that bound itself", tick, within(9_999), "t1", "1000000", "t2", "m1", "100", "take"},

		{"material: other tick with equal odds", material, exact, "m1", "2.00", "t2", "m1", "2.00", "take"},
		{"material: other odds", material, exact, "m1", "2.00", "t2", "m1", "2.01", "requote"},
		{"material: changed with the same odds", material, exact, "m1", "2.00", "t1", "m2", "2.00", "requote"},
		{"material: the tick is not the material version", material, exact, "t1", "2.00", "t1", "m1", "2.00", "requote"},
		{"material, better: higher odds", material, better, "m1", "2.00", "t2", "m1", "2.01", "take"},
		{"material, better: lower odds", material, better, "m1", "2.00", "t2", "m1", "1.99", "requote"},
		{"material, better: changed with higher odds", material, better, "m1", "2.00", "t2", "m2", "2.01", "requote"},
		{"material, any: at the bound", material, within(500), "m1", "2.00", "t2", "m1", "1.90", "take"},
		{"material, any: below the bound", material, within(500), "m1", "2.00", "t2", "m1", "1.89", "requote"},
		{"material, any: changed with equal odds", material, within(500), "m1", "2.00", "t2", "m2", "2.00", "requote"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			leg, quote := seen(t, test.saw, test.sawOdds), open(t, test.now, test.nowMat, test.nowAt)
			got, err := fence([]Leg{leg}, test.change, test.version, &Board{Now: boardNow, Quotes: []Quote{quote}}, false)
			if err != nil {
				t.Fatal(err)
			}
			if verdict(got) != test.want {
				t.Errorf("verdict is %s, want %s", verdict(got), test.want)
			}
			wantLegs := []DecidedLeg{{
				Event: "final", Market: "winner", Selection: "home", Line: "0.5",
				Requested: RequestedQuote{Version: test.saw, Odds: leg.Odds}, Quote: &quote,
			}}
			if diff := cmp.Diff(wantLegs, got.legs); diff != "" {
				t.Errorf("legs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFenceRejects(t *testing.T) {
	t.Parallel()
	at := func(status MarketStatus, cutOff time.Duration, refusal Code) Quote {
		quote := open(t, "t1", "m1", "2")
		quote.Status, quote.CutOff, quote.Refusal = status, boardNow.Add(cutOff), refusal
		return quote
	}
	const later = time.Hour
	for _, test := range []struct {
		name   string
		quotes []Quote
		want   string
	}{
		{"a cut-off to come", []Quote{at(MarketOpen, 1, "")}, "take"},
		{"the cut-off is now", []Quote{at(MarketOpen, 0, "")}, "cut_off_passed by legs[0]"},
		{"the cut-off was before", []Quote{at(MarketOpen, -1, "")}, "cut_off_passed by legs[0]"},
		{"suspended", []Quote{at(MarketSuspended, later, "")}, "market_suspended by legs[0]"},
		{"closed", []Quote{at(MarketClosed, later, "")}, "market_closed by legs[0]"},
		{"refused", []Quote{at(MarketOpen, later, "house.rule")}, "house.rule by legs[0]"},
		{"refused, and nothing else known", []Quote{{Refusal: CodeSelectionUnknown}}, "selection_unknown by legs[0]"},

		{"a cut-off goes before a suspension", []Quote{at(MarketSuspended, 0, "")}, "cut_off_passed by legs[0]"},
		{"a closure goes before a cut-off", []Quote{at(MarketClosed, 0, "")}, "market_closed by legs[0]"},
		{"a refusal goes before a closure", []Quote{at(MarketClosed, 0, "house.rule")}, "house.rule by legs[0]"},

		{"any leg rejects the bet", []Quote{at(MarketOpen, later, ""), at(MarketSuspended, later, "")}, "market_suspended by legs[1]"},
		{
			"a later leg with a higher reason",
			[]Quote{at(MarketSuspended, later, ""), at(MarketOpen, 0, ""), at(MarketClosed, later, ""), at(MarketOpen, later, "b")},
			"b by legs[3]",
		},
		{
			"the first of equals",
			[]Quote{at(MarketSuspended, later, ""), at(MarketOpen, later, "b"), at(MarketOpen, later, "a")},
			"b by legs[1]",
		},
		{
			"the first cut-off of two",
			[]Quote{at(MarketSuspended, later, ""), at(MarketOpen, 0, ""), at(MarketOpen, -1, "")},
			"cut_off_passed by legs[1]",
		},
	} {
		for _, saw := range []string{"t1", "t0"} { // a leg to be requoted, too
			for _, granted := range []bool{false, true} {
				got := fenceAll(t, test.quotes, saw, granted)
				want := test.want
				if want == "take" && saw == "t0" && !granted {
					want = "requote"
				}
				if verdict(got) != want {
					t.Errorf("%s (saw %s, granted %t): verdict is %s, want %s", test.name, saw, granted, verdict(got), want)
				}
				for i, leg := range got.legs {
					if diff := cmp.Diff(&test.quotes[i], leg.Quote); diff != "" {
						t.Errorf("%s: legs[%d].quote (-want +got):\n%s", test.name, i, diff)
					}
				}
			}
		}
	}
}

// fenceAll puts one leg at odds of 2 against each quote.
func fenceAll(t *testing.T, quotes []Quote, saw string, granted bool) fenced {
	t.Helper()
	legs := make([]Leg, len(quotes))
	for i := range legs {
		legs[i] = seen(t, saw, "2")
	}
	got, err := fence(legs, OddsChange{}, FenceTick, &Board{Now: boardNow, Quotes: quotes}, granted)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFenceRequotesTheWholeBet(t *testing.T) {
	t.Parallel()
	quotes := []Quote{open(t, "t1", "", "2"), open(t, "t2", "", "2.5"), open(t, "t1", "", "2")}
	got := fenceAll(t, quotes, "t1", false)
	if verdict(got) != "requote" {
		t.Errorf("verdict is %s", verdict(got))
	}
	for i, leg := range got.legs {
		if diff := cmp.Diff(&quotes[i], leg.Quote); diff != "" {
			t.Errorf("legs[%d].quote (-want +got):\n%s", i, diff)
		}
	}
}

func TestFenceWithGrantTakesTheRequestedOdds(t *testing.T) {
	t.Parallel()
	for _, version := range []FenceVersion{FenceTick, FenceMaterial} {
		legs := []Leg{seen(t, "v1", "2"), seen(t, "v1", "3")}
		quotes := []Quote{open(t, "t7", "m7", "1.2"), open(t, "t8", "m8", "50")}
		got, err := fence(legs, OddsChange{}, version, &Board{Now: boardNow, Quotes: quotes}, true)
		if err != nil {
			t.Fatal(err)
		}
		if verdict(got) != "take" {
			t.Errorf("verdict is %s", verdict(got))
		}
		for i, want := range []Quote{open(t, "t7", "m7", "2"), open(t, "t8", "m8", "3")} {
			if diff := cmp.Diff(&want, got.legs[i].Quote); diff != "" {
				t.Errorf("legs[%d].quote (-want +got):\n%s", i, diff)
			}
		}
		if quotes[0].Odds.String() != "1.2" {
			t.Error("the board was changed")
		}
	}
}
