package lanestest

import (
	"context"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
)

// Join is [lanes.Table]'s.
func (m *Memory) Join(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return lanes.Ticket{}, failed("join", err)
	}
	m.memberID++
	joined := &member{epoch: 1, expires: m.cfg.Now().Add(lease)}
	m.members[m.memberID] = joined
	return lanes.Ticket{ID: m.memberID, Epoch: joined.epoch}, nil
}

// Renew is [lanes.Table]'s.
func (m *Memory) Renew(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	renewed, err := m.admit(ctx, "renew", t)
	if err != nil {
		return lanes.Roster{}, err
	}
	now := m.cfg.Now()
	renewed.expires = now.Add(lease)
	for id, other := range m.members {
		if !now.Before(other.expires) {
			m.expel(id)
		}
	}
	return lanes.Roster{Relays: len(m.members), Free: len(m.lanesOf(0)), Requeued: m.requeued}, nil
}

// Take is [lanes.Table]'s.
func (m *Memory) Take(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.admit(ctx, "take", t); err != nil {
		return nil, err
	}
	free := m.lanesOf(0)
	taken := free[:min(limit, len(free))]
	for _, lane := range taken {
		m.holders[lane] = t.ID
	}
	return taken, nil
}

// Give is [lanes.Table]'s.
func (m *Memory) Give(ctx context.Context, t lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	giver, err := m.admit(ctx, "give", t)
	if err != nil {
		return lanes.Ticket{}, err
	}
	for _, lane := range given {
		if m.holders[lane] == t.ID {
			m.holders[lane] = 0
		}
	}
	giver.epoch++
	return lanes.Ticket{ID: t.ID, Epoch: giver.epoch}, nil
}

// Leave is [lanes.Table]'s. It goes by the ticket's id alone: whoever does not
// know the outcome of a Give doesn't know its epoch.
func (m *Memory) Leave(ctx context.Context, t lanes.Ticket) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return failed("leave", err)
	}
	m.expel(t.ID)
	return nil
}

// admit returns the member that a ticket is of. The caller holds mu.
func (m *Memory) admit(ctx context.Context, call string, t lanes.Ticket) (*member, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(call, err)
	}
	found := m.members[t.ID]
	if found == nil || found.epoch != t.Epoch {
		return nil, failed(call, fmt.Errorf("relay %d, epoch %d: %w", t.ID, t.Epoch, lanes.ErrFenced))
	}
	return found, nil
}

// expel ends a membership and frees its lanes. The caller holds mu.
func (m *Memory) expel(id int64) {
	if m.members[id] == nil {
		return
	}
	delete(m.members, id)
	for _, lane := range m.lanesOf(id) {
		m.holders[lane] = 0
	}
}

// lanesOf returns the lanes that a member holds, or the free ones for zero.
// The caller holds mu.
func (m *Memory) lanesOf(id int64) []lanes.Lane {
	var held []lanes.Lane
	for lane, holder := range m.holders {
		if holder == id {
			held = append(held, lanes.Lane(lane))
		}
	}
	return held
}

func failed(call string, err error) error {
	return fmt.Errorf("lanestest: %s: %w", call, err)
}
