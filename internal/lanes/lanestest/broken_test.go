package lanestest_test

import (
	"context"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// brokenTable is a good table in which single calls are replaced. Nil: as the
// good one does it.
type brokenTable struct {
	*lanestest.Memory

	join     func(context.Context, time.Duration) (lanes.Ticket, error)
	renew    func(context.Context, lanes.Ticket, time.Duration) (lanes.Roster, error)
	take     func(context.Context, lanes.Ticket, int) ([]lanes.Lane, error)
	give     func(context.Context, lanes.Ticket, []lanes.Lane) (lanes.Ticket, error)
	leave    func(context.Context, lanes.Ticket) error
	read     func(context.Context, []lanes.Lane, int64, int, []lanes.Row) ([]lanes.Row, []uint64, error)
	readOf   func(context.Context, []string, int64, int64, int) ([]lanes.Row, error)
	readAt   func(context.Context, []int64) ([]lanes.Row, error)
	heads    func(context.Context, []lanes.Lane, int64, int64, int) ([]lanes.Head, error)
	heldBack func(context.Context, []lanes.Lane) ([]string, error)
	remove   func(context.Context, lanes.Ticket, []int64) error
	bury     func(context.Context, lanes.Ticket, int64, outbox.Refusal, bool) error
}

var _ lanes.Table = (*brokenTable)(nil)

// breakTable returns an open whose tables are broken by change.
func breakTable(change func(*brokenTable)) func(testing.TB) lanestest.Subject {
	return func(testing.TB) lanestest.Subject {
		memory := lanestest.NewMemory(lanestest.MemoryConfig{})
		broken := &brokenTable{Memory: memory}
		change(broken)
		subject := subjectOf(memory)
		subject.Table = broken
		return subject
	}
}

// breakSubject returns an open whose subjects are broken by change.
func breakSubject(change func(*lanestest.Subject, *lanestest.Memory)) func(testing.TB) lanestest.Subject {
	return func(testing.TB) lanestest.Subject {
		memory := lanestest.NewMemory(lanestest.MemoryConfig{})
		subject := subjectOf(memory)
		change(&subject, memory)
		return subject
	}
}

func (b *brokenTable) Join(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
	if b.join != nil {
		return b.join(ctx, lease)
	}
	return b.Memory.Join(ctx, lease)
}

func (b *brokenTable) Renew(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
	if b.renew != nil {
		return b.renew(ctx, t, lease)
	}
	return b.Memory.Renew(ctx, t, lease)
}

func (b *brokenTable) Take(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
	if b.take != nil {
		return b.take(ctx, t, limit)
	}
	return b.Memory.Take(ctx, t, limit)
}

func (b *brokenTable) Give(ctx context.Context, t lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
	if b.give != nil {
		return b.give(ctx, t, given)
	}
	return b.Memory.Give(ctx, t, given)
}

func (b *brokenTable) Leave(ctx context.Context, t lanes.Ticket) error {
	if b.leave != nil {
		return b.leave(ctx, t)
	}
	return b.Memory.Leave(ctx, t)
}

func (b *brokenTable) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	if b.read != nil {
		return b.read(ctx, of, after, limit, into)
	}
	return b.Memory.Read(ctx, of, after, limit, into)
}

func (b *brokenTable) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	if b.readOf != nil {
		return b.readOf(ctx, orderings, first, last, limit)
	}
	return b.Memory.ReadOf(ctx, orderings, first, last, limit)
}

func (b *brokenTable) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	if b.readAt != nil {
		return b.readAt(ctx, positions)
	}
	return b.Memory.ReadAt(ctx, positions)
}

func (b *brokenTable) Heads(ctx context.Context, of []lanes.Lane, after, last int64, limit int) ([]lanes.Head, error) {
	if b.heads != nil {
		return b.heads(ctx, of, after, last, limit)
	}
	return b.Memory.Heads(ctx, of, after, last, limit)
}

func (b *brokenTable) HeldBack(ctx context.Context, of []lanes.Lane) ([]string, error) {
	if b.heldBack != nil {
		return b.heldBack(ctx, of)
	}
	return b.Memory.HeldBack(ctx, of)
}

func (b *brokenTable) Delete(ctx context.Context, t lanes.Ticket, positions []int64) error {
	if b.remove != nil {
		return b.remove(ctx, t, positions)
	}
	return b.Memory.Delete(ctx, t, positions)
}

func (b *brokenTable) Bury(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
	if b.bury != nil {
		return b.bury(ctx, t, position, why, holdBack)
	}
	return b.Memory.Bury(ctx, t, position, why, holdBack)
}
