package acceptance_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
)

// stakeOf returns an amount as JSON would carry it, so without a registry.
func stakeOf(tb testing.TB, text string) money.Amount {
	tb.Helper()
	var amount money.Amount
	if err := amount.UnmarshalText([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return amount
}

func oddsOf(tb testing.TB, text string) money.Odds {
	tb.Helper()
	odds, err := money.ParseOdds(text)
	if err != nil {
		tb.Fatal(err)
	}
	return odds
}

// leastCommand returns a single with nothing but what it must have.
func leastCommand(tb testing.TB) acceptance.Command {
	tb.Helper()
	return acceptance.Command{
		Tenant: "shop", Wallet: "w-7", ID: "bet-1",
		Legs: []acceptance.Leg{{
			Event: "match-1", Market: "winner", Selection: "home",
			QuoteVersion: "v1", Odds: oddsOf(tb, "2.10"),
		}},
		Type:  acceptance.BetType{Kind: acceptance.Single},
		Stake: stakeOf(tb, "10.00 EUR"),
	}
}

// fullCommand returns a system of three legs with every field set.
func fullCommand(tb testing.TB) acceptance.Command {
	tb.Helper()
	return acceptance.Command{
		Tenant: "shop", Wallet: "w-7", ID: "0199a1b2-0000-7000-8000-000000000001",
		Legs: []acceptance.Leg{
			{Event: "match-1", Market: "winner", Selection: "home", QuoteVersion: "v17", Odds: oddsOf(tb, "2.10"), Proof: "signed-1"},
			{Event: "match-2", Market: "total", Selection: "over", Line: "2.5", QuoteVersion: "v3", Odds: oddsOf(tb, "1.91")},
			{Event: "match-3", Market: "handicap", Selection: "größer", Line: "-1", QuoteVersion: "v9", Odds: oddsOf(tb, "3.4")},
		},
		Type:       acceptance.BetType{Kind: acceptance.System, Sizes: []int{2, 3}},
		Stake:      stakeOf(tb, "2.50 EUR"),
		StakeMode:  acceptance.StakePerLine,
		OddsChange: acceptance.OddsChange{Policy: acceptance.OddsAny, WithinBasisPoints: 500},
		Funding:    "bonus-2026",
		Consents:   "0199a1b2-0000-7000-8000-000000000000",
		Extra:      json.RawMessage(`{"each_way":false,"note":"<b>&</b>"}`),
		Meta:       map[string]string{"trace": "00-af", "device": "phone", "user agent": "x\ny"},
	}
}

func TestKeysOfOneCommandDiffer(t *testing.T) {
	t.Parallel()
	c := leastCommand(t)
	want := receipt.Key{Tenant: "shop", Scope: "w-7", Operation: "place-bet", ID: "bet-1"}
	if diff := cmp.Diff(want, c.Key()); diff != "" {
		t.Errorf("Key (-want +got):\n%s", diff)
	}
	keys := map[receipt.Key]string{}
	for name, make := range map[string]func(tenant, wallet, id string) receipt.Key{
		"placing": acceptance.PlacingKey, "referral": acceptance.ReferralKey,
		"consent": acceptance.ConsentKey, "closing": acceptance.ClosingKey,
	} {
		for _, parts := range [][3]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}} {
			key := make(parts[0], parts[1], parts[2])
			if other, taken := keys[key]; taken {
				t.Errorf("%s and %s keys are the same: %v", name, other, key)
			}
			keys[key] = name
			if err := key.Validate(); err != nil {
				t.Errorf("%s key: %v", name, err)
			}
		}
	}
}
