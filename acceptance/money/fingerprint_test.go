package money_test

import (
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
)

// TestFingerprints: how a retry writes its amounts and odds does not count;
// what they are does.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	type bet struct {
		Stake money.Canonical `json:"stake"`
		Odds  money.Odds      `json:"odds"`
	}
	digest := func(stake, odds string) fingerprint.Digest {
		t.Helper()
		sum, err := fingerprint.Of(fingerprint.Schema{Name: "bet", Version: 1}, bet{decodeText(t, stake).Canonical(), parseOdds(t, odds)})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := digest("1.5 BTC", "2.5")
	for _, same := range [][2]string{{"1.50 BTC", "2.5"}, {"1.50000000 BTC", "2.500"}} {
		if digest(same[0], same[1]) != first {
			t.Errorf("%v has another fingerprint", same)
		}
	}
	for _, other := range [][2]string{{"1.5 ETH", "2.5"}, {"1.51 BTC", "2.5"}, {"-1.5 BTC", "2.5"}, {"15 BTC", "2.5"}, {"1.5 BTC", "2.51"}} {
		if digest(other[0], other[1]) == first {
			t.Errorf("%v has the same fingerprint", other)
		}
	}
}
