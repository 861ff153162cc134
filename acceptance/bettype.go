package acceptance

// BetKind is how the legs of a bet hang together.
type BetKind string

// The kinds of bets.
const (
	// Single is a bet on one leg.
	Single BetKind = "single"
	// Accumulator is one line in which all of at least two legs must win.
	Accumulator BetKind = "accumulator"
	// System is a line for every combination of the sizes in [BetType.Sizes].
	System BetKind = "system"
)

// BetType says how the legs make lines.
type BetType struct {
	// Kind must be set.
	Kind BetKind `json:"kind"`
	// Sizes are the sizes of a system's combinations, ascending and distinct,
	// each from 1 to the number of legs: [2] of three legs makes three
	// doubles, [2 3] a trixie of four lines. There is at least one, and all
	// together make at most [MaxLines]. Nil or empty for the other kinds.
	Sizes []int `json:"sizes,omitempty"`
}

// StakeMode says what a stake counts for.
type StakeMode string

// The stake modes.
const (
	// StakeTotal is the stake of the whole bet, and what the empty mode means.
	StakeTotal StakeMode = "total"
	// StakePerLine is the stake of each line.
	StakePerLine StakeMode = "per_line"
)
