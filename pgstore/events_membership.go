package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/internal/lanes"
)

// Join implements [lanes.Table].
func (t *table) Join(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
	var ticket lanes.Ticket
	err := t.run(ctx, statement{
		doing: "joining the relays", opening: lasting, sql: t.sql.join, arguments: []any{lease.Seconds()},
	}, readOne(&ticket.ID, &ticket.Epoch))
	if err != nil {
		return lanes.Ticket{}, err
	}
	return ticket, nil
}

// Renew implements [lanes.Table]. It is two transactions where somebody's time
// is up.
func (t *table) Renew(ctx context.Context, ticket lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
	var renewed, expired int
	var roster lanes.Roster
	err := t.run(ctx, statement{
		doing: "renewing a relay's lease", opening: lasting, sql: t.sql.renew,
		arguments: []any{ticket.ID, ticket.Epoch, lease.Seconds()},
	}, readOne(&renewed, &roster.Relays, &roster.Free, &roster.Requeued, &expired))
	switch {
	case err != nil:
		return lanes.Roster{}, err
	case renewed == 0:
		return lanes.Roster{}, lanes.ErrFenced
	case expired == 0:
		return roster, nil
	}
	var expelled, freed int
	err = t.run(ctx, statement{doing: "removing relays whose time is up", opening: lasting, sql: t.sql.expel},
		readOne(&expelled, &freed))
	if err != nil {
		return lanes.Roster{}, err
	}
	roster.Relays -= expelled
	roster.Free += freed
	return roster, nil
}

// Take implements [lanes.Table].
func (t *table) Take(ctx context.Context, ticket lanes.Ticket, limit int) ([]lanes.Lane, error) {
	var held int
	var taken []int16
	err := t.run(ctx, statement{
		doing: "taking lanes", opening: lasting, sql: t.sql.take,
		arguments: []any{ticket.ID, ticket.Epoch, limit},
	}, readOne(&held, &taken))
	switch {
	case err != nil:
		return nil, err
	case held == 0:
		return nil, lanes.ErrFenced
	}
	slices.Sort(taken)
	result := make([]lanes.Lane, len(taken))
	for i, number := range taken {
		result[i] = lanes.Lane(number) //nolint:gosec // lanes_lane_check
	}
	return result, nil
}

// Give implements [lanes.Table].
func (t *table) Give(ctx context.Context, ticket lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
	var raised int
	next := lanes.Ticket{ID: ticket.ID}
	err := t.run(ctx, statement{
		doing: "giving lanes up", opening: lasting, sql: t.sql.give,
		arguments: []any{ticket.ID, ticket.Epoch, numbers(given)},
	}, readOne(&raised, &next.Epoch))
	switch {
	case err != nil:
		return lanes.Ticket{}, err
	case raised == 0:
		return lanes.Ticket{}, lanes.ErrFenced
	default:
		return next, nil
	}
}

// Leave implements [lanes.Table].
func (t *table) Leave(ctx context.Context, ticket lanes.Ticket) error {
	return t.run(ctx, statement{doing: "leaving the relays", opening: lasting, sql: t.sql.leave, arguments: []any{ticket.ID}},
		func(pgx.Rows) error { return nil })
}
