package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/event"
)

var errDamaged = errors.New("simulation: what is stored is no event")

// damage is what is stored and no event, from the start until somebody mends it.
type damage struct {
	world *world

	mu     sync.Mutex
	mended map[int64]bool
}

func (d *damage) mend(position int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mended[position] = true
}

// mendPending mends all that is pending where it stands, as an operator does in
// SQL, and as a relay of a newer release does by being able to read it.
func (d *damage) mendPending() {
	for _, position := range d.world.pending() {
		d.mend(position)
	}
}

func (d *damage) is(position int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.world
	return !d.mended[position] && w.dice.look(fmt.Sprintf("damaged %d", position)) < w.plan.settings.damaged
}

// seen returns the rows as somebody reads them.
func (d *damage) seen(rows []lanes.Row) []lanes.Row {
	for i := range rows {
		if row := &rows[i]; d.is(row.Position) {
			row.Event, row.Broken = event.Event{}, errDamaged
			d.world.tally.add(unreadable, 1)
		}
	}
	return rows
}

// Read implements [lanes.Table].
func (t witness) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	rows, open, err := t.Memory.Read(ctx, of, after, limit, into)
	return t.process.world.damage.seen(rows), open, err
}

// ReadOf implements [lanes.Table].
func (t witness) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	rows, err := t.Memory.ReadOf(ctx, orderings, first, last, limit)
	return t.process.world.damage.seen(rows), err
}

// ReadAt implements [lanes.Table].
func (t witness) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	rows, err := t.Memory.ReadAt(ctx, positions)
	return t.process.world.damage.seen(rows), err
}
