package lanestest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
)

func membershipDemands() []demand {
	return []demand{
		{"join", "a relay that joins is a member without lanes, and is counted", checkJoin},
		{"ids", "an id never comes again, though its member has left or was removed", checkIDs},
		{"take", "Take takes lanes that are free, up to its limit, and nobody takes a lane that is held", checkTake},
		{"take-at-once", "no lane is taken twice by relays that take at the same time", checkTakeAtOnce},
		{"give", "lanes that are given are free and can be taken, and those that are kept are not", checkGive},
		{"give-epoch", "Give raises the epoch: the new ticket holds, and the old one nowhere", checkGiveEpoch},
		{"give-foreign", "Give frees no lane of another", checkGiveForeign},
		{"leave", "Leave ends the membership and frees its lanes; again it is no error", checkLeave},
		{"leave-old-epoch", "Leave ends the membership whatever its epoch: whoever doesn't know how a Give ended must be able to leave", checkLeaveOldEpoch},
		{"no-member", "a ticket that was never given, with an id or an epoch of its own, holds nowhere", checkNoMember},
		{"epoch-stays", "nothing but Give raises an epoch: a ticket holds after the relay's own Renew and Take and whatever others do", checkEpochStays},
	}
}

func checkJoin(t *trial) {
	first := t.join()
	t.wantRoster(first, 1, lanes.Count)
	second := t.join()
	if first.ID == second.ID {
		t.Errorf("two relays have the id %d", first.ID)
	}
	if first == (lanes.Ticket{}) || second == (lanes.Ticket{}) {
		t.Errorf("a ticket is the zero Ticket, which is none")
	}
	t.wantRoster(first, 2, lanes.Count)
	t.wantRoster(second, 2, lanes.Count)
}

func checkIDs(t *trial) {
	seen := make(map[int64]bool)
	watcher := t.join()
	seen[watcher.ID] = true
	for i := range 6 {
		ticket := t.join()
		if seen[ticket.ID] {
			t.Errorf("the id %d came again", ticket.ID)
		}
		seen[ticket.ID] = true
		if i%2 == 0 {
			t.leave(ticket)
			continue
		}
		t.expire(ticket)
		t.wantRoster(watcher, 1, lanes.Count)
	}
}

func checkTake(t *trial) {
	first, second := t.join(), t.join()
	held := t.take(first, 100)
	if len(held) != 100 {
		t.Errorf("Take of 100 free lanes took %d", len(held))
	}
	t.wantRoster(second, 2, lanes.Count-100)
	held = append(held, t.take(second, 100)...)
	held = append(held, t.take(first, 100)...)
	t.wantEachLaneOnce(held)
	t.wantRoster(second, 2, 0)
	if more := t.take(second, 1); len(more) != 0 {
		t.Errorf("where no lane is free, Take took %d", more)
	}
}

func (t *trial) wantEachLaneOnce(held []lanes.Lane) {
	t.Helper()
	held = slices.Clone(held)
	slices.Sort(held)
	if !slices.Equal(held, allLanes()) {
		t.Errorf("the relays hold the lanes %d; want each lane once", held)
	}
}

func checkTakeAtOnce(t *trial) {
	const relays = 8
	tickets := make([]lanes.Ticket, relays)
	for i := range tickets {
		tickets[i] = t.join()
	}
	taken := make([][]lanes.Lane, relays)
	var wait sync.WaitGroup
	for i, ticket := range tickets {
		wait.Go(func() {
			for range lanes.Count / 16 {
				more, err := t.Table.Take(t.patient(), ticket, 16)
				if err != nil {
					t.Errorf("Take beside others = %v; want lanes", err)
				}
				taken[i] = append(taken[i], more...)
			}
		})
	}
	wait.Wait()
	t.wantEachLaneOnce(slices.Concat(taken...))
}

func checkGive(t *trial) {
	first, second := t.join(), t.join()
	held := t.take(first, lanes.Count)
	first = t.give(first, held[:10])
	t.wantRoster(second, 2, 10)
	taken := t.take(second, lanes.Count)
	slices.Sort(taken)
	given := slices.Clone(held[:10])
	slices.Sort(given)
	if !slices.Equal(taken, given) {
		t.Errorf("after lanes %d were given, lanes %d could be taken", given, taken)
	}
	t.wantRoster(first, 2, 0)
}

func checkGiveEpoch(t *trial) {
	old := t.join()
	held := t.take(old, 20)
	next := t.give(old, held[:5])
	if next.ID != old.ID || next.Epoch <= old.Epoch {
		t.Errorf("Give made %+v of %+v; want the same id and a higher epoch", next, old)
	}
	t.wantFenced("the ticket from before a Give", old)
	if more := t.take(next, 1); len(more) != 1 {
		t.Errorf("Take by the ticket that Give returned took %d lanes; want 1", len(more))
	}
	t.wantRoster(next, 1, lanes.Count-16)
}

func checkGiveForeign(t *trial) {
	first, second := t.join(), t.join()
	held := t.take(first, 10)
	t.take(second, 10)
	t.give(second, held)
	t.wantRoster(first, 2, lanes.Count-20)
}

func checkLeave(t *trial) {
	first, second := t.join(), t.join()
	t.take(first, 10)
	t.take(second, 20)
	for range 2 {
		t.leave(first)
		t.wantRoster(second, 1, lanes.Count-20)
	}
	t.wantFenced("the ticket of a member that has left", first)
	t.leave(lanes.Ticket{ID: second.ID + 1000, Epoch: 1})
	t.wantRoster(second, 1, lanes.Count-20)
}

func checkLeaveOldEpoch(t *trial) {
	watcher := t.join()
	old := t.join()
	next := t.give(old, t.take(old, 20)[:5])
	t.leave(old)
	t.wantRoster(watcher, 1, lanes.Count)
	t.wantFenced("the ticket of a member that has left by an older one", next)
}

func checkNoMember(t *trial) {
	member := t.holder()
	t.wantFenced("the zero ticket", lanes.Ticket{})
	t.wantFenced("a ticket with another id", lanes.Ticket{ID: member.ID + 1000, Epoch: member.Epoch})
	t.wantFenced("a ticket with another epoch", lanes.Ticket{ID: member.ID, Epoch: member.Epoch + 1})
	t.wantRoster(member, 1, 0)
}

// wantFenced demands that every call by the ticket is ErrFenced, and that none
// changes anything.
func (t *trial) wantFenced(what string, ticket lanes.Ticket) {
	t.Helper()
	row := t.put("fenced")[0]
	before := t.letters()
	for name, call := range t.calls(ticket, row.Position) {
		if err := call(); !errors.Is(err, lanes.ErrFenced) {
			t.Errorf("%s by %s = %v; want ErrFenced", name, what, err)
		}
	}
	t.wantRows("after calls by "+what+" Read", t.read([]lanes.Lane{row.Lane}, row.Position-1, 1), row)
	if after := t.letters(); len(after) != len(before) {
		t.Errorf("after calls by %s there are %d dead letters; want %d", what, len(after), len(before))
	}
}

// calls returns the calls that a ticket guards.
func (t *trial) calls(ticket lanes.Ticket, position int64) map[string]func() error {
	ctx := t.patient()
	return map[string]func() error{
		"Renew": func() error {
			_, err := t.Table.Renew(ctx, ticket, longLease)
			return err
		},
		"Take": func() error {
			_, err := t.Table.Take(ctx, ticket, 1)
			return err
		},
		"Give": func() error {
			_, err := t.Table.Give(ctx, ticket, allLanes())
			return err
		},
		"Delete": func() error { return t.Table.Delete(ctx, ticket, []int64{position}) },
		"Bury":   func() error { return t.Table.Bury(ctx, ticket, position, refusal("no"), true) },
	}
}

func checkEpochStays(t *trial) {
	ticket := t.join()
	rows := t.put("a", "b", "c")
	t.take(ticket, 100)
	t.renew(ticket)
	t.take(ticket, 100)
	t.remove(ticket, rows[0].Position)
	t.bury(ticket, rows[1].Position, refusal("no"), false)
	other, third := t.join(), t.join()
	other = t.give(other, t.take(other, 10))
	t.take(other, 10)
	t.leave(other)
	t.expire(third)
	t.wantRoster(ticket, 1, lanes.Count-200)
	t.remove(ticket, rows[2].Position)
	t.wantPending()
}

func expiryDemands() []demand {
	return []demand{
		{"expire", "a member whose time is up is removed by another's Renew, its lanes are free, and its ticket holds nowhere", checkExpire},
		{"expire-again", "a member whose time is up and whom nobody has removed is one still, and its own Renew makes its time begin anew", checkExpireAgain},
		{"lease-of-join", "the membership lasts for the lease that Join is given", checkLeaseOfJoin},
		{"lease-of-renew", "the membership lasts for the lease that Renew is given, from then on", checkLeaseOfRenew},
	}
}

func checkExpire(t *trial) {
	watcher := t.join()
	late, punctual := t.join(), t.join()
	t.take(late, 100)
	t.take(punctual, 100)
	t.expire(late)
	t.wantRoster(watcher, 2, lanes.Count-100)
	t.wantFenced("the ticket of a member that was removed", late)
	t.wantRoster(punctual, 2, lanes.Count-100)
	if more := t.take(watcher, lanes.Count); len(more) != lanes.Count-100 {
		t.Errorf("after the removal Take took %d lanes; want %d", len(more), lanes.Count-100)
	}
}

func checkExpireAgain(t *trial) {
	row := t.put("a")[0]
	late, other := t.join(), t.join()
	t.take(late, lanes.Count)
	t.expire(late)
	t.remove(late, row.Position)
	t.wantPending()
	t.wantRoster(late, 2, 0)
	t.wantRoster(other, 2, 0)
}

// shortLease is over before a few calls have passed.
const shortLease = time.Microsecond

func checkLeaseOfJoin(t *trial) {
	watcher := t.join()
	if _, err := t.Table.Join(t.patient(), shortLease); err != nil {
		t.Fatalf("Join = %v; want a ticket", err)
	}
	t.join()
	t.wantRelaysAtLast(watcher, 2)
}

// wantRelaysAtLast demands that there are so many relays after a few calls.
func (t *trial) wantRelaysAtLast(watcher lanes.Ticket, relays int) {
	t.Helper()
	var roster lanes.Roster
	for range 100 {
		if roster = t.renew(watcher); roster.Relays == relays {
			return
		}
	}
	t.Fatalf("there are still %d relays; want %d", roster.Relays, relays)
}

func checkLeaseOfRenew(t *trial) {
	watcher, brief := t.join(), t.join()
	if _, err := t.Table.Renew(t.patient(), brief, shortLease); err != nil {
		t.Fatalf("Renew = %v; want a roster", err)
	}
	t.wantRelaysAtLast(watcher, 1)
	t.wantFenced("the ticket of a member whose short lease is over", brief)
}
