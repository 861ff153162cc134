package acceptance_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
)

// TestLinesAgainstBinomials holds every system of one size against math/big.
func TestLinesAgainstBinomials(t *testing.T) {
	t.Parallel()
	var c acceptance.Command
	for count := 1; count <= acceptance.MaxLegs; count++ {
		legs(t, &c, count)
		for size := -1; size <= count+1; size++ {
			c.Type = acceptance.BetType{Kind: acceptance.System, Sizes: []int{size}}
			want := int64(0)
			if size >= 0 {
				binomial := new(big.Int).Binomial(int64(count), int64(size))
				want = acceptance.MaxLines + 1
				if binomial.IsInt64() {
					want = min(want, binomial.Int64())
				}
			}
			if got := c.Lines(); got != want {
				t.Errorf("%d of %d: %d lines, want %d", size, count, got, want)
			}
		}
	}
}

func TestLinesAndTotalStake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind            acceptance.BetKind
		legs            int
		sizes           []int
		lines           int64
		total, eachLine string
	}{
		"single":      {acceptance.Single, 1, nil, 1, "2.50 EUR", "2.50 EUR"},
		"accumulator": {acceptance.Accumulator, 5, nil, 1, "2.50 EUR", "2.50 EUR"},
		"doubles":     {acceptance.System, 3, []int{2}, 3, "2.50 EUR", "7.50 EUR"},
		"trixie":      {acceptance.System, 3, []int{2, 3}, 4, "2.50 EUR", "10.00 EUR"},
		"yankee":      {acceptance.System, 4, []int{2, 3, 4}, 11, "2.50 EUR", "27.50 EUR"},
		"goliath":     {acceptance.System, 8, []int{2, 3, 4, 5, 6, 7, 8}, 247, "2.50 EUR", "617.50 EUR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := leastCommand(t)
			legs(t, &c, test.legs)
			c.Type = acceptance.BetType{Kind: test.kind, Sizes: test.sizes}
			c.Stake = stakeOf(t, "2.50 EUR")
			if got := c.Lines(); got != test.lines {
				t.Errorf("%d lines, want %d", got, test.lines)
			}
			for mode, want := range map[acceptance.StakeMode]string{
				"": test.total, acceptance.StakeTotal: test.total, acceptance.StakePerLine: test.eachLine,
			} {
				c.StakeMode = mode
				if got, err := c.TotalStake(); err != nil || got.String() != want {
					t.Errorf("total stake under %q: %v, %v; want %v", mode, got, err, want)
				}
			}
		})
	}
}

func TestLinesAndTotalStakeBeyondTheRules(t *testing.T) {
	t.Parallel()
	var unset acceptance.Command
	if _, err := unset.TotalStake(); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("an unset stake has a total: %v", err)
	}
	if got := unset.Lines(); got != 0 {
		t.Errorf("a bet of no kind has %d lines", got)
	}
	c := leastCommand(t)
	system(t, &c, 22, 10, 11) // 646,646 and 705,432 lines
	if got := c.Lines(); got != acceptance.MaxLines+1 {
		t.Errorf("%d lines, want one more than the most", got)
	}
	system(t, &c, 3, 2)
	c.Stake, c.StakeMode = stakeOf(t, "99999999999999999999999999999999999999 PTS"), acceptance.StakePerLine
	if _, err := c.TotalStake(); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("a total of 39 digits is an amount: %v", err)
	}
}
