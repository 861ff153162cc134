package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

const (
	defaultMaxBody     = 1 << 20
	defaultBodyTimeout = 10 * time.Second
	defaultRetryAfter  = time.Second
)

// Bets is what decides commands, and closes the bets that they placed: a
// [house.House], which says what each method does.
type Bets interface {
	// Accept decides a command, or returns the decision that it has.
	Accept(ctx context.Context, command acceptance.Command) (house.Decision, error)
	// Resolve decides a command that was referred by a trader's word.
	Resolve(ctx context.Context, reference bet.Reference, word acceptance.Resolution) (house.Decision, error)
	// Lookup returns a command's decision as it is stored.
	Lookup(ctx context.Context, reference bet.Reference) (house.Decision, error)
	// Chain returns the requotes and consents that a command stands among.
	Chain(ctx context.Context, reference bet.Reference) ([]acceptance.Link[bet.Bet], error)
	// Settle pays out a bet by the results of its markets.
	Settle(ctx context.Context, reference bet.Reference) (settle.Result[bet.Closing], error)
	// Void gives back the stake of a bet.
	Void(ctx context.Context, reference bet.Reference, version string) (settle.Result[bet.Closing], error)
}

var _ Bets = (*house.House)(nil)

// Config says how a [Handler] works.
type Config struct {
	// Tenant is the house's name. It must be set.
	Tenant string
	// Bets decides. It must be set.
	Bets Bets
	// Books are read. They must be set.
	Books house.Books
	// Trading changes markets. It must be set.
	Trading house.Trading
	// Authenticate says who a request acts for. An error is answered with
	// [TypeUnauthenticated] where it is [ErrUnauthenticated], and otherwise as
	// any other error is. It must be set.
	Authenticate func(r *http.Request) (Principal, error)
	// Unavailable reports whether an error of Bets, Books or Trading has a
	// cause that may pass, such as a database that restarts. It is asked about
	// errors that would be answered with [TypeInternal] otherwise. Nil: none
	// has.
	Unavailable func(err error) bool
	// MaxBody is the greatest length of a body in bytes. Zero: 1 MiB.
	MaxBody int64
	// BodyTimeout is how long a body may take to arrive. Zero: ten seconds.
	BodyTimeout time.Duration
	// RetryAfter is what a client is asked to wait where the cause may pass,
	// in whole seconds, rounded up. Zero: one second.
	RetryAfter time.Duration
	// Logger hears of every answer, by its request id, and never of a body.
	// Nil: silence.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	var broken []error
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"Tenant", c.Tenant != ""},
		{"Bets", c.Bets != nil},
		{"Books", c.Books != nil},
		{"Trading", c.Trading != nil},
		{"Authenticate", c.Authenticate != nil},
	} {
		if !field.set {
			broken = append(broken, fmt.Errorf("api: Config.%s must be set", field.name))
		}
	}
	if c.MaxBody < 0 {
		broken = append(broken, fmt.Errorf("api: Config.MaxBody must not be negative, is %d", c.MaxBody))
	}
	if c.BodyTimeout < 0 {
		broken = append(broken, fmt.Errorf("api: Config.BodyTimeout must not be negative, is %v", c.BodyTimeout))
	}
	if c.RetryAfter < 0 {
		broken = append(broken, fmt.Errorf("api: Config.RetryAfter must not be negative, is %v", c.RetryAfter))
	}
	return errors.Join(broken...)
}

func (c *Config) withDefaults() {
	if c.Unavailable == nil {
		c.Unavailable = func(error) bool { return false }
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = defaultBodyTimeout
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = defaultRetryAfter
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}
