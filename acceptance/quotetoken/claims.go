package quotetoken

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
)

// Claims are what an owner of market state says of one selection. Texts are
// UTF-8 of at most [acceptance.MaxText] bytes without control characters, as in
// [acceptance.Leg]. Instants lie in the years 1678 to 2261 and count to the
// nanosecond.
type Claims struct {
	// Tenant is in whose book the quote may be used: 1 to 128 bytes.
	Tenant string
	// Event, Market, Selection and Line name what is quoted, exactly as a leg
	// does. All but Line must be set.
	Event     string
	Market    string
	Selection string
	Line      string
	// Version and Material are those of [acceptance.Quote]. Version must be
	// set; Material must be where the fence compares it.
	Version  string
	Material string
	// Odds must be set, whatever the status.
	Odds money.Odds
	// Status is the market's: open, suspended or closed.
	Status acceptance.MarketStatus
	// CutOff is when the market stops to take bets. Zero: never.
	CutOff time.Time
	// IssuedAt is what the owner's clock showed before the state was read, not
	// when it was signed. It must be set.
	IssuedAt time.Time
	// ExpiresAt is when the offer ends, by the accepting database's clock: at
	// that instant it has. It must be after IssuedAt.
	ExpiresAt time.Time
	// MaxStaleness is for how long after IssuedAt the owner stands by the
	// statement. It must be positive.
	MaxStaleness time.Duration
}

// brokenRules says of every field that breaks a rule which one.
func (c *Claims) brokenRules() (broken []string) {
	add := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	for _, text := range []struct {
		field, value string
		least, most  int
	}{
		{"Tenant", c.Tenant, 1, event.MaxKeyPart},
		{"Event", c.Event, 1, acceptance.MaxText},
		{"Market", c.Market, 1, acceptance.MaxText},
		{"Selection", c.Selection, 1, acceptance.MaxText},
		{"Line", c.Line, 0, acceptance.MaxText},
		{"Version", c.Version, 1, acceptance.MaxText},
		{"Material", c.Material, 0, acceptance.MaxText},
	} {
		if rule := textRule(text.value, text.least, text.most); rule != "" {
			add("%s %s", text.field, rule)
		}
	}
	if !c.Odds.IsSet() {
		add("Odds must be set")
	}
	switch c.Status {
	case acceptance.MarketOpen, acceptance.MarketSuspended, acceptance.MarketClosed:
	default:
		add("Status must be open, suspended or closed")
	}
	if !c.CutOff.IsZero() && !countable(c.CutOff) {
		add("CutOff must be in the years 1678 to 2261")
	}
	switch {
	case c.IssuedAt.IsZero():
		add("IssuedAt must be set")
	case !countable(c.IssuedAt) || !countable(c.ExpiresAt):
		add("IssuedAt and ExpiresAt must be in the years 1678 to 2261")
	case !c.ExpiresAt.After(c.IssuedAt):
		add("ExpiresAt must be after IssuedAt")
	}
	if c.MaxStaleness <= 0 {
		add("MaxStaleness must be positive, is %v", c.MaxStaleness)
	}
	return broken
}

// textRule returns the rule that a text breaks, or "". A command may not hold
// other texts: such a claim would fit no leg, and such a version no consent.
func textRule(text string, least, most int) string {
	switch {
	case len(text) < least || len(text) > most:
		return fmt.Sprintf("must have %d to %d bytes, has %d", least, most, len(text))
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not hold control characters"
	default:
		return ""
	}
}

// countable reports whether the instant is a count of nanoseconds in 64 bits.
func countable(t time.Time) bool { return time.Unix(0, t.UnixNano()).Equal(t) }

// quote returns what the claims say as a quote for a board.
func (c *Claims) quote() acceptance.Quote {
	return acceptance.Quote{
		Version:  c.Version,
		Material: c.Material,
		Odds:     c.Odds,
		Status:   c.Status,
		CutOff:   c.CutOff,
	}
}
