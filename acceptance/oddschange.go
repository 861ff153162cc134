package acceptance

// OddsPolicy says which odds are taken in place of the requested ones.
type OddsPolicy string

// The policies. Each holds for every leg by itself.
const (
	// OddsExact takes no other odds, and is what the empty policy means.
	OddsExact OddsPolicy = "exact"
	// OddsBetter takes odds that are better for the player.
	OddsBetter OddsPolicy = "better"
	// OddsAny takes better odds, and worse ones within a bound.
	OddsAny OddsPolicy = "any"
)

// OddsChange says which other odds the player takes without being asked.
type OddsChange struct {
	// Policy says which. Empty is [OddsExact].
	Policy OddsPolicy `json:"policy,omitempty"`
	// WithinBasisPoints bounds how much worse the odds may be under
	// [OddsAny], in hundredths of a percent of the requested odds, 1 to
	// 10,000: with 500, odds of 2.00 are taken down to 1.90. Zero for the
	// other policies.
	WithinBasisPoints int `json:"within_basis_points,omitempty"`
}
