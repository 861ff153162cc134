package simulation_test

import (
	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// mutation is a fault put between two parts that are right by themselves. Nil
// changes nothing; so does the zero value.
type mutation struct {
	memory func(*lanestest.MemoryConfig)
	lanes  func(*lanes.Config)
	table  func(*world, lanes.Table) lanes.Table
	clock  func(lanes.Clock) lanes.Clock
	source func(outbox.LeasedSource) outbox.LeasedSource
	sender func(outbox.Sender) outbox.Sender
	// declaresOrder lets the sender declare [outbox.Batching.InOrder] always,
	// and breaksOrder lets the destination take what follows a failed event.
	declaresOrder bool
	breaksOrder   bool
	// deliversTwice lets the network deliver everything twice.
	deliversTwice bool
}

func (m *mutation) configure(cfg *lanes.Config) {
	if m.lanes != nil {
		m.lanes(cfg)
	}
}

func (m *mutation) tableOf(w *world, good lanes.Table) lanes.Table {
	if m.table == nil {
		return good
	}
	return m.table(w, good)
}

func (m *mutation) clockOf(good lanes.Clock) lanes.Clock {
	if m.clock == nil {
		return good
	}
	return m.clock(good)
}

func (m *mutation) sourceOf(good outbox.LeasedSource) outbox.LeasedSource {
	if m.source == nil {
		return good
	}
	return m.source(good)
}

func (m *mutation) senderOf(good outbox.Sender) outbox.Sender {
	if m.sender == nil {
		return good
	}
	return m.sender(good)
}
