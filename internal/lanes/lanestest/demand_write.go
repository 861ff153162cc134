package lanestest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func refusal(reason string) outbox.Refusal { return outbox.Refusal{Reason: reason, Attempts: 3} }

func writeDemands() []demand {
	return []demand{
		{"delete", "Delete removes the rows at the positions and no others; those that are gone are no error", checkDelete},
		{"bury", "Bury makes the row a dead letter, with the reason and the attempts; the rest of its ordering key stays readable", checkBury},
		{"bury-gone", "Bury of a row that is gone, or buried already, is no error and changes nothing", checkBuryGone},
		{"bury-reason", "Bury takes whatever reason a destination gave, and keeps every valid text whole", checkBuryReason},
		{"held-back", "HeldBack names each ordering key of the lanes once that a dead letter holds back, until no such dead letter is left", checkHeldBack},
	}
}

func checkDelete(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "b", "a", "c", "a")
	t.remove(ticket)
	t.wantPending(rows...)
	t.remove(ticket, rows[1].Position)
	t.remove(ticket, rows[4].Position, rows[1].Position, rows[0].Position, rows[4].Position+1000)
	t.wantPending(rows[2], rows[3])
	if letters := t.letters(); len(letters) > 0 {
		t.Errorf("Delete left %d dead letters", len(letters))
	}
}

func checkBury(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "b", "a")
	t.bury(ticket, rows[0].Position, outbox.Refusal{Reason: "unknown room – 7", Attempts: 12}, true)
	t.wantPending(rows[1:]...)
	if heads := t.heads(allLanes(), 0, rows[2].Position, plenty); !slices.Equal(heads, headsOf(rows[1:])) {
		t.Errorf("Heads gives %+v; want those of the rows that are pending", heads)
	}
	t.wantRows("ReadOf", t.readOf([]string{rows[0].Ordering}, 0, rows[2].Position, plenty), rows[2])
	letter := t.theLetter()
	if letter.Reason != "unknown room – 7" || letter.Attempts != 12 || !letter.HoldsBack || letter.Time.IsZero() {
		t.Errorf("the dead letter says %+v", letter)
	}
	if got, want := t.text(letter.Event), t.text(&rows[0].Event); got != want {
		t.Errorf("the dead letter is of\n%s\nwant\n%s", got, want)
	}
	t.bury(ticket, rows[1].Position, refusal("no"), false)
	if t.letterAt(rows[1].Position).HoldsBack {
		t.Errorf("a dead letter that was to hold nothing back says that it does")
	}
	t.wantPending(rows[2])
}

func checkBuryGone(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "b")
	t.remove(ticket, rows[0].Position)
	t.bury(ticket, rows[0].Position, refusal("gone"), true)
	t.bury(ticket, rows[1].Position+1000, refusal("never there"), true)
	if letters := t.letters(); len(letters) > 0 {
		t.Errorf("Bury of rows that are gone made %d dead letters", len(letters))
	}
	t.wantHeldBack(allLanes())
	t.bury(ticket, rows[1].Position, refusal("first"), true)
	t.bury(ticket, rows[1].Position, refusal("second"), false)
	if letter := t.theLetter(); letter.Reason != "first" || !letter.HoldsBack {
		t.Errorf("the dead letter says %+v; want what it said first", letter)
	}
	t.remove(ticket, rows[1].Position)
	t.theLetter()
}

func checkBuryReason(t *trial) {
	ticket := t.holder()
	valid := []string{"", " ", "\n\"'\\ – \u2028 %s $1", strings.Repeat("long ", 10_000)}
	broken := []string{"nul \x00 inside", "not UTF-8: \xff\xfe"}
	reasons := slices.Concat(valid, broken)
	for i, row := range t.put(slices.Repeat([]string{"a"}, len(reasons))...) {
		t.bury(ticket, row.Position, refusal(reasons[i]), true)
	}
	letters := t.letters()
	if len(letters) != len(reasons) {
		t.Fatalf("there are %d dead letters; want %d", len(letters), len(reasons))
	}
	for i, reason := range valid {
		if letters[i].Reason != reason {
			t.Errorf("the reason %.40q came back as %.40q", reason, letters[i].Reason)
		}
	}
	for _, letter := range letters[len(valid):] {
		if letter.Reason == "" {
			t.Errorf("nothing is left of a reason that is no valid text")
		}
	}
}

func checkHeldBack(t *trial) {
	ticket := t.holder()
	rows := t.put("a", "a", "b", "c", "d", "a")
	a, b, c := rows[0], rows[2], rows[3]
	t.wantHeldBack(allLanes())
	t.bury(ticket, a.Position, refusal("no"), true)
	t.bury(ticket, rows[1].Position, refusal("no"), true)
	t.bury(ticket, b.Position, refusal("no"), true)
	t.bury(ticket, c.Position, refusal("no"), false)
	t.wantHeldBack(allLanes(), a.Ordering, b.Ordering)
	t.wantHeldBack(slices.DeleteFunc(allLanes(), func(lane lanes.Lane) bool { return lane == b.Lane }), a.Ordering)
	t.wantHeldBack([]lanes.Lane{b.Lane, c.Lane}, b.Ordering)
	t.requeue(t.letterAt(a.Position).ID)
	t.wantHeldBack(allLanes(), a.Ordering, b.Ordering)
	t.discard(t.letterAt(rows[1].Position).ID)
	t.wantHeldBack(allLanes(), b.Ordering)
	t.requeue(t.letterAt(b.Position).ID)
	t.wantHeldBack(allLanes())
}

func fenceDemands() []demand {
	return []demand{
		{"fenced-gone", "a ticket that holds no more is ErrFenced for rows that are gone, too", checkFencedGone},
		{"fenced-race", "no Delete takes effect after a Give, a Leave or a removal of its member has returned, though it was sent before", checkFencedRace},
		{"fenced-bury-race", "no Bury takes effect after a Give, a Leave or a removal of its member has returned, though it was sent before", checkFencedBuryRace},
	}
}

func checkFencedGone(t *trial) {
	old := t.holder()
	row := t.put("a")[0]
	t.remove(old, row.Position)
	t.give(old, nil)
	if err := t.Table.Delete(t.patient(), old, []int64{row.Position}); !errors.Is(err, lanes.ErrFenced) {
		t.Errorf("Delete of a row that is gone by a ticket that holds no more = %v; want ErrFenced", err)
	}
	if err := t.Table.Delete(t.patient(), old, nil); !errors.Is(err, lanes.ErrFenced) {
		t.Errorf("Delete of nothing by a ticket that holds no more = %v; want ErrFenced", err)
	}
	if err := t.Table.Bury(t.patient(), old, row.Position, refusal("no"), true); !errors.Is(err, lanes.ErrFenced) {
		t.Errorf("Bury of a row that is gone by a ticket that holds no more = %v; want ErrFenced", err)
	}
}

func checkFencedRace(t *trial) {
	t.race(func(ctx context.Context, ticket lanes.Ticket, position int64) error {
		return t.Table.Delete(ctx, ticket, []int64{position})
	})
}

func checkFencedBuryRace(t *trial) {
	t.race(func(ctx context.Context, ticket lanes.Ticket, position int64) error {
		return t.Table.Bury(ctx, ticket, position, refusal("no"), false)
	})
}

// race lets several goroutines write by a ticket whose hold ends meanwhile, in
// each of the ways in which it can. Each has some writes left when it has ended.
func (t *trial) race(write func(context.Context, lanes.Ticket, int64) error) {
	watcher := t.join()
	for name, end := range map[string]func(lanes.Ticket){
		"Give":  func(ticket lanes.Ticket) { t.leave(t.give(ticket, allLanes())) },
		"Leave": t.leave,
		"the removal": func(ticket lanes.Ticket) {
			t.expire(ticket)
			for t.renew(watcher).Relays > 1 { // it may be left alone while it writes
			}
		},
	} {
		t.raceWith(name, end, write)
	}
}

func (t *trial) raceWith(name string, end func(lanes.Ticket), write func(context.Context, lanes.Ticket, int64) error) {
	t.Helper()
	const writers, each, afterwards = 4, 100, 10
	ticket := t.holder()
	var events []event.Event
	for i := range writers * each {
		events = append(events, outboxtest.NewEvent(fmt.Sprintf("%s-%d", strings.Fields(name)[0], i), fmt.Sprintf("ordering-%d", i)))
	}
	t.begin(events...)()
	positions := positionsOf(t.all())
	ctx := t.patient()
	var written, fenced atomic.Int64
	underWay, over := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	for mine := range slices.Chunk(positions, each) {
		wait.Go(func() {
			for i, position := range mine {
				if i == each-afterwards {
					select {
					case <-over:
					case <-ctx.Done():
					}
				}
				err := write(ctx, ticket, position)
				switch {
				case errors.Is(err, lanes.ErrFenced):
					fenced.Add(1)
				case err != nil:
					t.Errorf("a write beside %s = %v; want nil or ErrFenced", name, err)
				case written.Add(1) == writers:
					close(underWay)
				}
			}
		})
	}
	select {
	case <-underWay:
	case <-ctx.Done():
		t.Fatalf("no write by a ticket that holds had an effect")
	}
	end(ticket)
	left := positionsOf(t.all())
	close(over)
	wait.Wait()
	if after := positionsOf(t.all()); !slices.Equal(left, after) {
		t.Errorf("after %s had returned, %d rows were pending; then writes from before took %d of them", name, len(left), len(left)-len(after))
	}
	if got, want := int64(len(left)), fenced.Load(); got != want {
		t.Errorf("%d writes were ErrFenced, and %d rows are still there", want, got)
	}
	cleaner := t.join()
	t.remove(cleaner, left...)
	t.leave(cleaner)
}
