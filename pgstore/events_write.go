package pgstore

import (
	"context"
	"strings"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
)

// Delete implements [lanes.Table].
func (t *table) Delete(ctx context.Context, ticket lanes.Ticket, positions []int64) error {
	if positions == nil {
		positions = []int64{} // an array, where nil is none
	}
	return t.guarded(ctx, statement{
		doing: "deleting events", opening: fleeting, sql: t.sql.remove,
		arguments: []any{ticket.ID, ticket.Epoch, positions},
	})
}

// Bury implements [lanes.Table].
func (t *table) Bury(ctx context.Context, ticket lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
	return t.guarded(ctx, statement{
		doing: "setting an event aside", opening: lasting, sql: t.sql.bury,
		arguments: []any{ticket.ID, ticket.Epoch, position, storable(why.Reason), why.Attempts, holdBack},
	})
}

// guarded runs a write that says whether the relay's row still had the ticket's
// epoch.
func (t *table) guarded(ctx context.Context, s statement) error {
	var held int
	if err := t.run(ctx, s, readOne(&held)); err != nil {
		return err
	}
	if held == 0 {
		return lanes.ErrFenced
	}
	return nil
}

// storable replaces what the server can't keep in a text, since a destination
// may say anything: a reason that can't be kept would leave its event in the
// way for ever.
func storable(reason string) string {
	const replacement = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(reason, replacement), "\x00", replacement)
}
