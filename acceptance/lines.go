package acceptance

import "github.com/settleonce/settleonce/acceptance/money"

// Lines returns how many lines the bet has: one for a single and an
// accumulator, and for a system the number of combinations of its sizes. Every
// number above [MaxLines] comes out as MaxLines + 1. It is 0 where the kind of
// the bet is none.
func (c *Command) Lines() int64 {
	switch c.Type.Kind {
	case Single, Accumulator:
		return 1
	case System:
		var lines int64
		for _, size := range c.Type.Sizes {
			lines += combinations(len(c.Legs), size)
			if lines > MaxLines {
				return MaxLines + 1
			}
		}
		return lines
	default:
		return 0
	}
}

// combinations returns in how many ways size of n legs can be chosen, and
// MaxLines + 1 where that is more than MaxLines.
func combinations(n, size int) int64 {
	if size < 0 || size > n {
		return 0
	}
	ways := int64(1)
	for i := 1; i <= size; i++ {
		// The ways to choose i of n-size+i: whole at every step, and rising,
		// so that the product never exceeds MaxLines × n.
		ways = ways * int64(n-size+i) / int64(i)
		if ways > MaxLines {
			return MaxLines + 1
		}
	}
	return ways
}

// TotalStake returns what the whole bet costs: Stake, or under [StakePerLine]
// Stake times the number of lines. errors.Is(err, [money.ErrOverflow]) is true
// where that has too many digits, and errors.Is(err, [money.ErrInvalid]) where
// Stake is not set. A command that [Command.Validate] passes has neither.
func (c *Command) TotalStake() (money.Amount, error) {
	lines := int64(1)
	if c.StakeMode == StakePerLine {
		lines = c.Lines()
	}
	return c.Stake.Times(lines)
}
