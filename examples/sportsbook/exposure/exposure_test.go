package exposure_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
)

func eur(t *testing.T, number string) money.Amount {
	t.Helper()
	amount, err := (*money.Registry)(nil).Parse(number, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func TestCut(t *testing.T) {
	t.Parallel()
	parts, err := exposure.Cut(nil, eur(t, "10.02"), 4)
	want := []money.Amount{eur(t, "2.51"), eur(t, "2.51"), eur(t, "2.50"), eur(t, "2.50")}
	if diff := cmp.Diff(want, parts); diff != "" || err != nil {
		t.Errorf("parts (-want +got), error %v:\n%s", err, diff)
	}
	if _, err := exposure.Cut(nil, eur(t, "-0.01"), 4); err == nil {
		t.Error("a negative limit was cut")
	}
	if _, err := exposure.Cut(nil, eur(t, "10.00"), 0); err == nil {
		t.Error("a limit was cut into nothing")
	}
}

// stripes returns stripes of 1.00 each, of which so much is taken.
func stripes(t *testing.T, taken ...string) []exposure.Stripe {
	t.Helper()
	made := make([]exposure.Stripe, len(taken))
	for i := range taken {
		made[i] = exposure.Stripe{Number: i, Limit: eur(t, "1.00"), Taken: eur(t, taken[i])}
	}
	return made
}

// homeAt returns a home at a number of three stripes.
func homeAt(t *testing.T, number int64) exposure.Home {
	t.Helper()
	for i := 0; ; i++ {
		if home := (exposure.Home{Wallet: strconv.Itoa(i)}); home.Number()%3 == number {
			return home
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, amount string
		home         int64
		taken, want  []string // by stripe; nil: it does not fit
	}{
		{"the home suffices", "1.00", 1, []string{"0.00", "0.00", "0.00"}, []string{"0.00", "1.00", "0.00"}},
		{"the next one helps out", "1.50", 1, []string{"0.00", "0.00", "0.00"}, []string{"0.00", "1.00", "0.50"}},
		{"and after the last the first", "1.50", 2, []string{"0.00", "0.00", "0.00"}, []string{"0.50", "0.00", "1.00"}},
		{"full ones are left out", "0.60", 0, []string{"1.00", "1.00", "0.40"}, []string{"0.00", "0.00", "0.60"}},
		{"one that is over its limit too", "0.60", 0, []string{"1.20", "1.00", "0.40"}, []string{"0.00", "0.00", "0.60"}},
		{"the last cent", "1.01", 0, []string{"0.50", "0.50", "0.99"}, []string{"0.50", "0.50", "0.01"}},
		{"one cent too much", "1.02", 0, []string{"0.50", "0.50", "0.99"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			takes, fits, err := exposure.Spread(stripes(t, test.taken...), homeAt(t, test.home), eur(t, test.amount))
			if err != nil || fits != (test.want != nil) {
				t.Fatalf("fits %v, error %v", fits, err)
			}
			if !fits {
				return
			}
			got := []string{"0.00", "0.00", "0.00"}
			for i, take := range takes {
				got[take.Number] = take.Amount.Numeric().String()
				if i > 0 && takes[i-1].Number >= take.Number {
					t.Errorf("takes are not in the order of their stripes: %+v", takes)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("takes by stripe (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is taken in whatever order, no stripe passes its part, and what does
// not fit is more than all stripes together have room for.
func TestSpreadKeepsTheLimit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		limits := stripes(t, "0.00", "0.00", "0.00", "0.00")
		left := int64(400)
		for range 30 {
			cents := random.Int64N(120) + 1
			amount, err := (*money.Registry)(nil).FromMinor(cents, "EUR")
			if err != nil {
				t.Fatal(err)
			}
			takes, fits, err := exposure.Spread(limits, exposure.Home{Wallet: strconv.FormatInt(random.Int64(), 10)}, amount)
			if err != nil || fits != (cents <= left) {
				t.Fatalf("%s with %d cents left: fits %v, error %v", amount, left, fits, err)
			}
			for _, take := range takes {
				stripe := &limits[take.Number]
				if stripe.Taken, err = stripe.Taken.Add(take.Amount); err != nil {
					t.Fatal(err)
				}
				if order, err := stripe.Taken.Cmp(stripe.Limit); err != nil || order > 0 {
					t.Fatalf("stripe %+v passes its part", stripe)
				}
			}
			if fits {
				left -= cents
			}
		}
	}
}

// Homes are stored in what has been taken: the numbers must not change.
func TestHomesStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	for wallet, want := range map[string]int64{"": 2166136261, "a": 3826002220, "foobar": 3214735720} {
		if got := (exposure.Home{Wallet: wallet}).Number(); got != want {
			t.Errorf("the home of %q is %d, want %d", wallet, got, want)
		}
	}
}
