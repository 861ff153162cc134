package lanestest_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// mutant is a table with one fault, and the cases that must catch it.
type mutant struct {
	name   string
	caught []string
	open   func(testing.TB) lanestest.Subject
}

func TestSuiteCatches(t *testing.T) {
	t.Parallel()
	caught := make(map[string]bool)
	for _, m := range slices.Concat(membershipMutants(), putMutants(), readMutants(), writeMutants(), deadLetterMutants(), callMutants()) {
		for _, name := range m.caught {
			caught[name] = true
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range m.caught {
				if lanestest.CasePrints(t, name, m.open) == nil {
					t.Errorf("case %q did not catch a table that %s", name, m.name)
				}
			}
		})
	}
	for _, name := range lanestest.CaseNames() {
		if !caught[name] {
			t.Errorf("no mutant shows that case %q can fail", name)
		}
	}
}

// The wrapper that breaks tables breaks nothing by itself.
func TestSuiteAcceptsUnbrokenWrapper(t *testing.T) {
	t.Parallel()
	lanestest.TestTable(t, breakTable(func(*brokenTable) {}))
}

// A case that fails says what it demands.
func TestSuiteExplains(t *testing.T) {
	t.Parallel()
	printed := strings.Join(lanestest.CasePrints(t, "delete", breakTable(func(b *brokenTable) {
		b.remove = func(context.Context, lanes.Ticket, []int64) error { return nil }
	})), "\n")
	if !strings.Contains(printed, "this case demands: Delete removes the rows") {
		t.Errorf("the failing case printed %q", printed)
	}
}

func TestSuiteWantsWholeSubject(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(*lanestest.Subject){
		"Table":       func(s *lanestest.Subject) { s.Table = nil },
		"Begin":       func(s *lanestest.Subject) { s.Begin = nil },
		"Expire":      func(s *lanestest.Subject) { s.Expire = nil },
		"DeadLetters": func(s *lanestest.Subject) { s.DeadLetters = nil },
	} {
		open := breakSubject(func(s *lanestest.Subject, _ *lanestest.Memory) { drop(s) })
		if lanestest.CasePrints(t, "join", open) == nil {
			t.Errorf("a subject without %s passed", name)
		}
	}
}

func membershipMutants() []mutant {
	return []mutant{
		{"gives every relay the same id", []string{"join", "ids"}, breakTable(func(b *brokenTable) {
			b.join = func(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
				_, err := b.Memory.Join(ctx, lease)
				return lanes.Ticket{ID: 1, Epoch: 1}, err
			}
		})},
		{"counts itself out", []string{"join", "leave"}, breakRoster(func(r *lanes.Roster) { r.Relays-- })},
		{"counts no free lanes", []string{"join", "take", "give"}, breakRoster(func(r *lanes.Roster) { r.Free = 0 })},
		{"does not tell of dead letters that were requeued", []string{"requeued"}, breakRoster(func(r *lanes.Roster) { r.Requeued = 0 })},
		{"takes more than its limit", []string{"take"}, breakTable(func(b *brokenTable) {
			b.take = func(ctx context.Context, t lanes.Ticket, _ int) ([]lanes.Lane, error) {
				return b.Memory.Take(ctx, t, lanes.Count)
			}
		})},
		{"takes lanes that are held", []string{"take", "take-at-once"}, breakTable(func(b *brokenTable) {
			b.take = func(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
				_, err := b.Memory.Take(ctx, t, limit)
				all := make([]lanes.Lane, limit)
				for i := range all {
					all[i] = lanes.Lane(i)
				}
				return all, err
			}
		})},
		{"gives every lane", []string{"give", "give-epoch"}, breakTable(func(b *brokenTable) {
			b.give = func(ctx context.Context, t lanes.Ticket, _ []lanes.Lane) (lanes.Ticket, error) {
				all := make([]lanes.Lane, lanes.Count)
				for i := range all {
					all[i] = lanes.Lane(i)
				}
				return b.Memory.Give(ctx, t, all)
			}
		})},
		{"gives nothing", []string{"give", "give-epoch"}, breakTable(func(b *brokenTable) {
			b.give = func(ctx context.Context, t lanes.Ticket, _ []lanes.Lane) (lanes.Ticket, error) {
				return b.Memory.Give(ctx, t, nil)
			}
		})},
		{"returns the old ticket from Give", []string{"give", "give-epoch"}, breakTable(func(b *brokenTable) {
			b.give = func(ctx context.Context, t lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
				_, err := b.Memory.Give(ctx, t, given)
				return t, err
			}
		})},
		{"lets everybody give every lane", []string{"give-foreign"}, breakEpochs(func(b *brokenTable, newest map[int64]lanes.Ticket) {
			b.give = func(ctx context.Context, t lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
				for id, other := range newest {
					if id != t.ID {
						newest[id], _ = b.Memory.Give(ctx, other, given)
					}
				}
				return b.Memory.Give(ctx, t, given)
			}
		})},
		{"calls it an error to leave twice", []string{"leave"}, breakTable(func(b *brokenTable) {
			b.leave = func(ctx context.Context, t lanes.Ticket) error {
				if _, err := b.Memory.Renew(ctx, t, time.Hour); err != nil {
					return err
				}
				return b.Memory.Leave(ctx, t)
			}
		})},
		{"keeps members whose epoch is another", []string{"leave-old-epoch"}, breakTable(func(b *brokenTable) {
			b.leave = func(ctx context.Context, t lanes.Ticket) error {
				_, err := b.Memory.Renew(ctx, t, time.Hour)
				if errors.Is(err, lanes.ErrFenced) {
					return nil
				}
				return b.Memory.Leave(ctx, t)
			}
		})},
		{"takes part for whoever asks", []string{"no-member", "leave", "expire"}, breakTable(func(b *brokenTable) {
			b.take = func(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
				taken, err := b.Memory.Take(ctx, t, limit)
				if errors.Is(err, lanes.ErrFenced) {
					return nil, nil
				}
				return taken, err
			}
		})},
		{"raises the epoch at Take", []string{"epoch-stays", "take"}, breakTable(func(b *brokenTable) {
			b.take = func(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
				taken, err := b.Memory.Take(ctx, t, limit)
				if err == nil {
					_, err = b.Memory.Give(ctx, t, nil)
				}
				return taken, err
			}
		})},
		{"never removes anybody", []string{"expire", "lease-of-join", "lease-of-renew", "ids"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.Table = &brokenTable{Memory: m, join: func(ctx context.Context, _ time.Duration) (lanes.Ticket, error) {
				return m.Join(ctx, time.Hour)
			}, renew: func(ctx context.Context, t lanes.Ticket, _ time.Duration) (lanes.Roster, error) {
				return m.Renew(ctx, t, time.Hour)
			}}
			s.Expire = func(context.Context, int64) error { return nil }
		})},
		{"does not let a member renew whose time is up", []string{"expire-again"}, breakTable(func(b *brokenTable) {
			b.renew = func(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
				watcher, err := b.Memory.Join(ctx, time.Hour)
				if err == nil {
					_, err = b.Memory.Renew(ctx, watcher, time.Hour)
				}
				if err := errors.Join(err, b.Memory.Leave(ctx, watcher)); err != nil {
					return lanes.Roster{}, err
				}
				return b.Memory.Renew(ctx, t, lease)
			}
		})},
		{"removes members whose time is not up", []string{"join"}, breakTable(func(b *brokenTable) {
			var last lanes.Ticket
			b.renew = func(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
				if last.ID != t.ID {
					b.Memory.Expire(last.ID)
				}
				last = t
				return b.Memory.Renew(ctx, t, lease)
			}
		})},
	}
}

// breakRoster returns an open whose rosters are changed.
func breakRoster(change func(*lanes.Roster)) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.renew = func(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
			roster, err := b.Memory.Renew(ctx, t, lease)
			if err == nil {
				change(&roster)
			}
			return roster, err
		}
	})
}

// breakEpochs is breakTable for faults that need the members' newest tickets.
func breakEpochs(change func(*brokenTable, map[int64]lanes.Ticket)) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		newest := make(map[int64]lanes.Ticket)
		b.join = func(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
			ticket, err := b.Memory.Join(ctx, lease)
			newest[ticket.ID] = ticket
			return ticket, err
		}
		change(b, newest)
	})
}

func putMutants() []mutant {
	return []mutant{
		{"puts the events of a transaction backwards", []string{"positions"}, breakBegin(func(events []event.Event) { slices.Reverse(events) })},
		{"loses extensions", []string{"whole"}, breakBegin(func(events []event.Event) {
			for i := range events {
				events[i].Extensions = nil
			}
		})},
		{"loses the time", []string{"whole"}, breakBegin(func(events []event.Event) {
			for i := range events {
				events[i].Time = time.Time{}
			}
		})},
		{"takes empty data for none", []string{"whole"}, breakBegin(func(events []event.Event) {
			for i := range events {
				if len(events[i].Data) == 0 {
					events[i].Data = nil
				}
			}
		})},
		{"puts everything in one lane", []string{"one-lane"}, openWith(lanestest.MemoryConfig{
			LaneOf: func(string) lanes.Lane { return 7 },
		})},
		{"puts every event in another lane", []string{"one-lane"}, func(tb testing.TB) lanestest.Subject {
			tb.Helper()
			var last atomic.Uint32
			return openWith(lanestest.MemoryConfig{LaneOf: func(string) lanes.Lane {
				return lanes.Lane(last.Add(1) % lanes.Count)
			}})(tb)
		}},
		{"forgets when it recorded what", []string{"recorded"}, breakRows(func(rows []lanes.Row) []lanes.Row {
			for i := range rows {
				rows[i].RecordedAt = time.Time{}
			}
			return rows
		})},
		{"leaves the position out of the event", []string{"whole"}, breakRows(func(rows []lanes.Row) []lanes.Row {
			for i := range rows {
				rows[i].Event.Position = 0
			}
			return rows
		})},
		{"shows what is not committed", []string{"invisible"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.Begin = func(ctx context.Context, events ...event.Event) (func(context.Context) error, error) {
				_, err := m.Put(ctx, events...)
				return func(context.Context) error { return nil }, err
			}
		})},
		{"takes positions at the commit", []string{"invisible"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.Begin = func(_ context.Context, events ...event.Event) (func(context.Context) error, error) {
				return func(ctx context.Context) error {
					_, err := m.Put(ctx, events...)
					return err
				}, nil
			}
		})},
	}
}

func openWith(cfg lanestest.MemoryConfig) func(testing.TB) lanestest.Subject {
	return func(testing.TB) lanestest.Subject { return subjectOf(lanestest.NewMemory(cfg)) }
}

// breakBegin returns an open that changes events before it puts them.
func breakBegin(change func([]event.Event)) func(testing.TB) lanestest.Subject {
	return breakSubject(func(s *lanestest.Subject, _ *lanestest.Memory) {
		begin := s.Begin
		s.Begin = func(ctx context.Context, events ...event.Event) (func(context.Context) error, error) {
			changed := slices.Clone(events)
			change(changed)
			return begin(ctx, changed...)
		}
	})
}

// breakRows returns an open that changes what Read returns.
func breakRows(change func([]lanes.Row) []lanes.Row) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
			rows, open, err := b.Memory.Read(ctx, of, after, limit, into)
			return change(rows), open, err
		}
	})
}

func readMutants() []mutant {
	return []mutant{
		{"reads backwards", []string{"read", "positions"}, breakRows(func(rows []lanes.Row) []lanes.Row {
			slices.Reverse(rows)
			return rows
		})},
		{"reads one too few", []string{"read"}, breakRows(func(rows []lanes.Row) []lanes.Row { return rows[:max(0, len(rows)-1)] })},
		{"reads from a position on", []string{"read", "read-nothing"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				return b.Memory.Read(ctx, of, after-1, limit, into)
			}
		})},
		{"reads everybody's lanes", []string{"read"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, _ []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				all := make([]lanes.Lane, lanes.Count)
				for i := range all {
					all[i] = lanes.Lane(i)
				}
				return b.Memory.Read(ctx, all, after, limit, into)
			}
		})},
		{"reads beyond its limit", []string{"read"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, _ int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				return b.Memory.Read(ctx, of, after, 1000, into)
			}
		})},
		{"reads behind what it is given", []string{"read-into"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				rows, open, err := b.Memory.Read(ctx, of, after, limit, nil)
				return append(into, rows...), open, err
			}
		})},
		{"reads over the data of what it is given", []string{"read-into"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				rows, open, err := b.Memory.Read(ctx, of, after, limit, nil)
				for i := range min(len(rows), len(into)) {
					rows[i].Event.Data = append(into[i].Event.Data[:0], rows[i].Event.Data...)
				}
				return rows, open, err
			}
		})},
		{"hands out what it keeps", []string{"owned"}, breakTable(func(b *brokenTable) {
			kept := make(map[int64]lanes.Row)
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				rows, open, err := b.Memory.Read(ctx, of, after, limit, into)
				for i := range rows {
					if _, found := kept[rows[i].Position]; !found {
						kept[rows[i].Position] = rows[i]
					}
					rows[i] = kept[rows[i].Position]
				}
				return rows, open, err
			}
		})},
		{"knows of no open transaction", []string{"open"}, breakOpen(func([]uint64) []uint64 { return nil })},
		{"knows only of open transactions before a row", []string{"open"}, breakTable(func(b *brokenTable) {
			b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
				rows, open, err := b.Memory.Read(ctx, of, after, limit, into)
				if len(rows) == 0 {
					open = nil
				}
				return rows, open, err
			}
		})},
		{"gives open transactions backwards", []string{"open"}, breakOpen(func(open []uint64) []uint64 {
			slices.Reverse(open)
			return open
		})},
		{"calls ended transactions open", []string{"open"}, func(tb testing.TB) lanestest.Subject {
			tb.Helper()
			ever := make(map[uint64]bool)
			return breakOpen(func(open []uint64) []uint64 {
				for _, number := range open {
					ever[number] = true
				}
				return slices.Sorted(maps.Keys(ever))
			})(tb)
		}},
		{"leaves first out", []string{"read-of"}, breakReadOf(func(first, last *int64, _ *int) { *first++ })},
		{"leaves last out", []string{"read-of"}, breakReadOf(func(first, last *int64, _ *int) { *last-- })},
		{"goes beyond last", []string{"read-of"}, breakReadOf(func(first, last *int64, _ *int) { *last = 1000 })},
		{"begins before first", []string{"read-of"}, breakReadOf(func(first, last *int64, _ *int) { *first = 0 })},
		{"reads ordering keys beyond its limit", []string{"read-of"}, breakReadOf(func(_, _ *int64, limit *int) { *limit = 1000 })},
		{"knows nothing of some positions", []string{"read-at"}, breakTable(func(b *brokenTable) {
			b.readAt = func(ctx context.Context, positions []int64) ([]lanes.Row, error) {
				return b.Memory.ReadAt(ctx, positions[:min(1, len(positions))])
			}
		})},
		{"gives heads from after on", []string{"heads", "read-nothing"}, breakHeads(func(after, _ *int64, _ *int) { *after-- })},
		{"gives heads before last", []string{"heads"}, breakHeads(func(_, last *int64, _ *int) { *last-- })},
		{"gives heads beyond its limit", []string{"heads"}, breakHeads(func(_, _ *int64, limit *int) { *limit = 1000 })},
	}
}

// breakOpen returns an open that changes which transactions are open.
func breakOpen(change func([]uint64) []uint64) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.read = func(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
			rows, open, err := b.Memory.Read(ctx, of, after, limit, into)
			return rows, change(open), err
		}
	})
}

func breakReadOf(change func(first, last *int64, limit *int)) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.readOf = func(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
			change(&first, &last, &limit)
			return b.Memory.ReadOf(ctx, orderings, first, last, limit)
		}
	})
}

func breakHeads(change func(after, last *int64, limit *int)) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.heads = func(ctx context.Context, of []lanes.Lane, after, last int64, limit int) ([]lanes.Head, error) {
			change(&after, &last, &limit)
			return b.Memory.Heads(ctx, of, after, last, limit)
		}
	})
}

func writeMutants() []mutant {
	return []mutant{
		{"deletes nothing", []string{"delete", "concurrent"}, breakTable(func(b *brokenTable) {
			b.remove = func(context.Context, lanes.Ticket, []int64) error { return nil }
		})},
		{"deletes only the first", []string{"delete"}, breakTable(func(b *brokenTable) {
			b.remove = func(ctx context.Context, t lanes.Ticket, positions []int64) error {
				return b.Memory.Delete(ctx, t, positions[:min(1, len(positions))])
			}
		})},
		{"deletes up to the last", []string{"delete"}, breakTable(func(b *brokenTable) {
			b.remove = func(ctx context.Context, t lanes.Ticket, positions []int64) error {
				last := int64(0)
				for _, position := range positions {
					last = max(last, position)
				}
				for position := range last {
					positions = append(positions, position)
				}
				return b.Memory.Delete(ctx, t, positions)
			}
		})},
		{"deletes for whoever asks", []string{"give-epoch", "leave", "expire", "no-member", "fenced-gone", "fenced-race"}, breakFence(
			func(ctx context.Context, b *brokenTable, forged lanes.Ticket, positions []int64) error {
				return b.Memory.Delete(ctx, forged, positions)
			}, nil,
		)},
		{"buries for whoever asks", []string{"give-epoch", "leave", "expire", "no-member", "fenced-gone", "fenced-bury-race"}, breakFence(
			nil, func(ctx context.Context, b *brokenTable, forged lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
				return b.Memory.Bury(ctx, forged, position, why, holdBack)
			},
		)},
		{"checks the ticket in a transaction of its own", []string{"fenced-race", "fenced-bury-race"}, breakTable(func(b *brokenTable) {
			// Some writes come when what was checked does not hold any more.
			var writes atomic.Int64
			checked := func(ctx context.Context, t lanes.Ticket, write func(lanes.Ticket) error) error {
				if err := b.Memory.Delete(ctx, t, nil); err != nil {
					return err
				}
				if writes.Add(1)%10 == 0 {
					for ctx.Err() == nil && b.Memory.Delete(ctx, t, nil) == nil {
						runtime.Gosched()
					}
					for range 1000 {
						runtime.Gosched()
					}
				}
				return forge(ctx, b, write)
			}
			b.remove = func(ctx context.Context, t lanes.Ticket, positions []int64) error {
				return checked(ctx, t, func(t lanes.Ticket) error { return b.Memory.Delete(ctx, t, positions) })
			}
			b.bury = func(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
				return checked(ctx, t, func(t lanes.Ticket) error { return b.Memory.Bury(ctx, t, position, why, holdBack) })
			}
		})},
		{"buries nothing", []string{"bury", "requeue", "discard", "held-back"}, breakTable(func(b *brokenTable) {
			b.bury = func(context.Context, lanes.Ticket, int64, outbox.Refusal, bool) error { return nil }
		})},
		{"calls it an error to bury what is gone", []string{"bury-gone"}, breakTable(func(b *brokenTable) {
			b.bury = func(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
				if rows, err := b.Memory.ReadAt(ctx, []int64{position}); err != nil || len(rows) == 0 {
					return errors.New("no such row")
				}
				return b.Memory.Bury(ctx, t, position, why, holdBack)
			}
		})},
		{"cuts reasons", []string{"bury-reason"}, breakWhy(func(why *outbox.Refusal, _ *bool) {
			why.Reason = why.Reason[:min(200, len(why.Reason))]
		})},
		{"forgets the attempts", []string{"bury", "requeue-again"}, breakWhy(func(why *outbox.Refusal, _ *bool) { why.Attempts = 0 })},
		{"holds everything back", []string{"bury", "held-back"}, breakWhy(func(_ *outbox.Refusal, holdBack *bool) { *holdBack = true })},
		{"holds nothing back", []string{"bury", "held-back"}, breakWhy(func(_ *outbox.Refusal, holdBack *bool) { *holdBack = false })},
		{"names what is held back in other lanes", []string{"held-back"}, breakTable(func(b *brokenTable) {
			b.heldBack = func(ctx context.Context, _ []lanes.Lane) ([]string, error) {
				all := make([]lanes.Lane, lanes.Count)
				for i := range all {
					all[i] = lanes.Lane(i)
				}
				return b.Memory.HeldBack(ctx, all)
			}
		})},
	}
}

// forge lets write go by the ticket of a member that has nothing to do with it.
func forge(ctx context.Context, b *brokenTable, write func(lanes.Ticket) error) error {
	forged, err := b.Memory.Join(ctx, time.Hour)
	if err != nil {
		return err
	}
	return errors.Join(write(forged), b.Memory.Leave(ctx, forged))
}

// breakFence returns an open that writes though the ticket holds no more.
func breakFence(
	remove func(context.Context, *brokenTable, lanes.Ticket, []int64) error,
	bury func(context.Context, *brokenTable, lanes.Ticket, int64, outbox.Refusal, bool) error,
) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		if remove != nil {
			b.remove = func(ctx context.Context, _ lanes.Ticket, positions []int64) error {
				return forge(ctx, b, func(forged lanes.Ticket) error { return remove(ctx, b, forged, positions) })
			}
		}
		if bury != nil {
			b.bury = func(ctx context.Context, _ lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
				return forge(ctx, b, func(forged lanes.Ticket) error { return bury(ctx, b, forged, position, why, holdBack) })
			}
		}
	})
}

func breakWhy(change func(*outbox.Refusal, *bool)) func(testing.TB) lanestest.Subject {
	return breakTable(func(b *brokenTable) {
		b.bury = func(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
			change(&why, &holdBack)
			return b.Memory.Bury(ctx, t, position, why, holdBack)
		}
	})
}

// brokenLetters are dead letters in which single calls are replaced.
type brokenLetters struct {
	*lanestest.Memory
	requeue func(context.Context, string) error
	discard func(context.Context, string, string) error
}

func (b *brokenLetters) Requeue(ctx context.Context, id string) error {
	if b.requeue != nil {
		return b.requeue(ctx, id)
	}
	return b.Memory.Requeue(ctx, id)
}

func (b *brokenLetters) Discard(ctx context.Context, id, reason string) error {
	if b.discard != nil {
		return b.discard(ctx, id, reason)
	}
	return b.Memory.Discard(ctx, id, reason)
}

func deadLetterMutants() []mutant {
	return []mutant{
		{"requeues at the end", []string{"requeue", "requeue-again"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.DeadLetters = &brokenLetters{Memory: m, requeue: func(ctx context.Context, id string) error {
				letters, err := m.DeadLetters(ctx, "", 1000)
				if err == nil {
					err = m.Discard(ctx, id, "moved")
				}
				for _, letter := range letters {
					if err == nil && letter.ID == id {
						_, err = m.Put(ctx, *letter.Event)
					}
				}
				return err
			}}
		})},
		{"discards by requeueing", []string{"discard"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.DeadLetters = &brokenLetters{Memory: m, discard: func(ctx context.Context, id, _ string) error {
				return m.Requeue(ctx, id)
			}}
		})},
		{"requeues what is none", []string{"no-dead-letter"}, breakSubject(func(s *lanestest.Subject, m *lanestest.Memory) {
			s.DeadLetters = &brokenLetters{Memory: m, requeue: func(ctx context.Context, id string) error {
				if err := m.Requeue(ctx, id); !errors.Is(err, outbox.ErrNoDeadLetter) {
					return err
				}
				return nil
			}}
		})},
	}
}

func callMutants() []mutant {
	return []mutant{
		{"calls what was cancelled fenced", []string{"cancelled"}, breakTable(func(b *brokenTable) {
			b.remove = func(ctx context.Context, t lanes.Ticket, positions []int64) error {
				if ctx.Err() != nil {
					return lanes.ErrFenced
				}
				return b.Memory.Delete(ctx, t, positions)
			}
		})},
		{"does what was cancelled", []string{"cancelled"}, breakTable(func(b *brokenTable) {
			b.remove = func(ctx context.Context, t lanes.Ticket, positions []int64) error {
				return errors.Join(ctx.Err(), b.Memory.Delete(context.WithoutCancel(ctx), t, positions))
			}
		})},
	}
}
