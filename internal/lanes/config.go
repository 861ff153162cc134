package lanes

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// Defaults of [Config].
const (
	DefaultLease   = 15 * time.Second
	DefaultMinPoll = 25 * time.Millisecond
	DefaultMaxPoll = time.Second
	DefaultRescan  = time.Minute
)

// Config configures [New].
type Config struct {
	// Table holds the events and the memberships. Required.
	Table Table
	// Lease is how long the lanes of a relay that died stand still at most.
	// Calls to the sender end with what is left of it, which is between two
	// and three fifths of it while renewals go well, so it must be some times
	// as long as a call takes. Zero means [DefaultLease].
	Lease time.Duration
	// MinPoll and MaxPoll bound the pause between two looks into the table:
	// MinPoll after one that found something, doubled after each that found
	// nothing. Zero means [DefaultMinPoll] and [DefaultMaxPoll].
	MinPoll time.Duration
	MaxPoll time.Duration
	// Rescan is the pause between two rescans, less up to a fifth by chance.
	// Zero means [DefaultRescan].
	Rescan time.Duration
	// HoldBack keeps back what follows a dead letter in its ordering key.
	// False lets it go on.
	HoldBack bool
	// Clock is what leases are judged by. Nil means the system's.
	Clock Clock
	// Random returns numbers from [0, 1), for jitter. It must be safe for
	// concurrent use. Nil means that of math/rand/v2.
	Random func() float64
	// Logger gets what an operator needs to know: lanes taken, given up and
	// lost, renewals that fail. Never an event. Nil means slog.Default.
	Logger *slog.Logger
}

// Validate reports every field that breaks a rule, all at once. errors.Is(err,
// [outbox.ErrConfig]) is true for what it returns.
func (c *Config) Validate() error {
	var broken []string
	if c.Table == nil {
		broken = append(broken, "Table must be set")
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"Lease", c.Lease},
		{"MinPoll", c.MinPoll},
		{"MaxPoll", c.MaxPoll},
		{"Rescan", c.Rescan},
	} {
		if field.value < 0 {
			broken = append(broken, fmt.Sprintf("%s must not be negative, is %v", field.name, field.value))
		}
	}
	if full := c.withDefaults(); full.MinPoll > full.MaxPoll {
		broken = append(broken, fmt.Sprintf("MinPoll must not pass MaxPoll, is %v of %v", full.MinPoll, full.MaxPoll))
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w: lanes: %s", outbox.ErrConfig, strings.Join(broken, "; "))
}

func (c *Config) withDefaults() Config {
	full := *c
	for _, field := range []struct {
		value   *time.Duration
		meaning time.Duration
	}{
		{&full.Lease, DefaultLease},
		{&full.MinPoll, DefaultMinPoll},
		{&full.MaxPoll, DefaultMaxPoll},
		{&full.Rescan, DefaultRescan},
	} {
		if *field.value == 0 {
			*field.value = field.meaning
		}
	}
	if full.Clock == nil {
		full.Clock = newSystemClock()
	}
	if full.Random == nil {
		full.Random = rand.Float64
	}
	if full.Logger == nil {
		full.Logger = slog.Default()
	}
	return full
}
