package acceptance

import (
	"fmt"
	"strings"
	"time"
)

// Board is what one read of the market state found.
type Board struct {
	// Now is the database's clock (clock_timestamp() in PostgreSQL, not
	// now()), read after the locks were granted: a bet that waited for its
	// locks is judged by when it got them. It must be set: cut-offs and
	// expiries are judged by it.
	Now time.Time
	// Quotes has one quote a leg, in the order of the legs.
	Quotes []Quote
}

// validate reports, in an error that wraps [ErrCallback], every rule that a
// board for so many legs breaks.
func (b *Board) validate(legs int, version FenceVersion) error {
	var broken []string
	if b.Now.IsZero() {
		broken = append(broken, "Now must be set")
	}
	if len(b.Quotes) != legs {
		broken = append(broken, fmt.Sprintf("Quotes must have one quote a leg, has %d for %d legs", len(b.Quotes), legs))
	} else {
		for i := range b.Quotes {
			for _, rule := range b.Quotes[i].brokenRules(version) {
				broken = append(broken, fmt.Sprintf("Quotes[%d].%s", i, rule))
			}
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w: Quote: %s", ErrCallback, strings.Join(broken, "; "))
}

// brokenRules says of every field that breaks a rule which one.
func (q *Quote) brokenRules(version FenceVersion) (broken []string) {
	if q.Refusal != "" {
		return q.brokenRulesOfRefusal()
	}
	// A version is held to the rules of Leg.QuoteVersion, or no player could
	// consent to what a requote offers.
	if rule := requiredRule(q.Version); rule != "" {
		broken = append(broken, "Version "+rule)
	}
	if rule := requiredRule(q.Material); rule != "" && (q.Material != "" || version == FenceMaterial) {
		broken = append(broken, "Material "+rule)
	}
	if !q.Odds.IsSet() {
		broken = append(broken, "Odds must be set")
	}
	if rule := q.Status.brokenRule(); rule != "" {
		broken = append(broken, "Status "+rule)
	}
	return broken
}

// brokenRulesOfRefusal judges what need not be set and is stored: JSON would
// change in silence what is no text.
func (q *Quote) brokenRulesOfRefusal() (broken []string) {
	if rule := q.Refusal.brokenRule(); rule != "" {
		broken = append(broken, "Refusal "+rule)
	}
	if rule := textRule(q.Version, MaxText); rule != "" {
		broken = append(broken, "Version "+rule)
	}
	if rule := textRule(q.Material, MaxText); rule != "" {
		broken = append(broken, "Material "+rule)
	}
	if rule := q.Status.brokenRule(); rule != "" && q.Status != "" {
		broken = append(broken, "Status "+rule)
	}
	return broken
}

// brokenRule says what the status must be and is not, or nothing.
func (s MarketStatus) brokenRule() string {
	switch s {
	case MarketOpen, MarketSuspended, MarketClosed:
		return ""
	default:
		return fmt.Sprintf("must be %s, %s or %s, is %s", MarketOpen, MarketSuspended, MarketClosed, excerpt(string(s)))
	}
}
