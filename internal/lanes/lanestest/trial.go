package lanestest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

const (
	// longLease outlasts every case.
	longLease = time.Hour
	// patience is after how long a call counts as stuck.
	patience = 30 * time.Second
	// plenty is a limit that nothing in a case reaches.
	plenty = 10_000
)

// trial is one run of a demand against one subject. Its methods that return
// no error fail the test instead.
type trial struct {
	testing.TB
	Subject
}

// patient returns a context that ends when a call counts as stuck.
func (t *trial) patient() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// cancelled returns a context that has ended.
func (t *trial) cancelled() context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func allLanes() []lanes.Lane {
	all := make([]lanes.Lane, lanes.Count)
	for i := range all {
		all[i] = lanes.Lane(i)
	}
	return all
}

func (t *trial) join() lanes.Ticket {
	t.Helper()
	ticket, err := t.Table.Join(t.patient(), longLease)
	if err != nil {
		t.Fatalf("Join = %v; want a ticket", err)
	}
	return ticket
}

func (t *trial) renew(ticket lanes.Ticket) lanes.Roster {
	t.Helper()
	roster, err := t.Table.Renew(t.patient(), ticket, longLease)
	if err != nil {
		t.Fatalf("Renew(%+v) = %v; want a roster", ticket, err)
	}
	return roster
}

func (t *trial) take(ticket lanes.Ticket, limit int) []lanes.Lane {
	t.Helper()
	taken, err := t.Table.Take(t.patient(), ticket, limit)
	if err != nil {
		t.Fatalf("Take(%+v) = %v; want lanes", ticket, err)
	}
	return taken
}

func (t *trial) give(ticket lanes.Ticket, given []lanes.Lane) lanes.Ticket {
	t.Helper()
	next, err := t.Table.Give(t.patient(), ticket, given)
	if err != nil {
		t.Fatalf("Give(%+v, %d lanes) = %v; want a ticket", ticket, len(given), err)
	}
	return next
}

func (t *trial) leave(ticket lanes.Ticket) {
	t.Helper()
	if err := t.Table.Leave(t.patient(), ticket); err != nil {
		t.Fatalf("Leave(%+v) = %v; want nil", ticket, err)
	}
}

func (t *trial) expire(ticket lanes.Ticket) {
	t.Helper()
	if err := t.Expire(t.patient(), ticket.ID); err != nil {
		t.Fatalf("Expire(%d) = %v; want nil", ticket.ID, err)
	}
}

// wantRoster demands how many members and free lanes there are.
func (t *trial) wantRoster(ticket lanes.Ticket, relays, free int) {
	t.Helper()
	roster := t.renew(ticket)
	if roster.Relays != relays || roster.Free != free {
		t.Errorf("Renew tells of %d relays and %d free lanes; want %d and %d", roster.Relays, roster.Free, relays, free)
	}
}

// holder joins, takes every lane, and returns the ticket.
func (t *trial) holder() lanes.Ticket {
	t.Helper()
	ticket := t.join()
	t.take(ticket, lanes.Count)
	return ticket
}

func (t *trial) begin(events ...event.Event) (commit func()) {
	t.Helper()
	end, err := t.Begin(t.patient(), events...)
	if err != nil {
		t.Fatalf("Begin = %v; want a transaction", err)
	}
	return func() {
		t.Helper()
		if err := end(t.patient()); err != nil {
			t.Fatalf("the commit = %v; want nil", err)
		}
	}
}

// put commits events of the given ordering keys, one transaction each, and
// returns their rows in the order of the commits.
func (t *trial) put(orderings ...string) []lanes.Row {
	t.Helper()
	before := len(t.all())
	for i, ordering := range orderings {
		t.begin(outboxtest.NewEvent(fmt.Sprintf("%d-%d", before, i), ordering))()
	}
	rows := t.all()
	if len(rows) != before+len(orderings) {
		t.Fatalf("%d events were committed and %d more rows are there", len(orderings), len(rows)-before)
	}
	return rows[before:]
}

// all returns every pending row.
func (t *trial) all() []lanes.Row {
	t.Helper()
	return t.read(allLanes(), 0, plenty)
}

func (t *trial) read(of []lanes.Lane, after int64, limit int) []lanes.Row {
	t.Helper()
	rows, _ := t.readOpen(of, after, limit)
	return rows
}

// readOpen returns the numbers of the open transactions, too.
func (t *trial) readOpen(of []lanes.Lane, after int64, limit int) ([]lanes.Row, []uint64) {
	t.Helper()
	rows, open, err := t.Table.Read(t.patient(), of, after, limit, nil)
	if err != nil {
		t.Fatalf("Read = %v; want rows", err)
	}
	if !slices.IsSorted(open) || len(slices.Compact(slices.Clone(open))) < len(open) {
		t.Errorf("Read gives the open transactions %d; want them in ascending order", open)
	}
	return rows, open
}

func (t *trial) readOf(orderings []string, first, last int64, limit int) []lanes.Row {
	t.Helper()
	rows, err := t.Table.ReadOf(t.patient(), orderings, first, last, limit)
	if err != nil {
		t.Fatalf("ReadOf = %v; want rows", err)
	}
	return rows
}

func (t *trial) readAt(positions ...int64) []lanes.Row {
	t.Helper()
	rows, err := t.Table.ReadAt(t.patient(), positions)
	if err != nil {
		t.Fatalf("ReadAt = %v; want rows", err)
	}
	return rows
}

func (t *trial) heads(of []lanes.Lane, after, last int64, limit int) []lanes.Head {
	t.Helper()
	heads, err := t.Table.Heads(t.patient(), of, after, last, limit)
	if err != nil {
		t.Fatalf("Heads = %v; want heads", err)
	}
	return heads
}

func (t *trial) wantHeldBack(of []lanes.Lane, want ...string) {
	t.Helper()
	got, err := t.Table.HeldBack(t.patient(), of)
	if err != nil {
		t.Fatalf("HeldBack = %v; want ordering keys", err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("HeldBack = %q; want %q", got, want)
	}
}

func (t *trial) remove(ticket lanes.Ticket, positions ...int64) {
	t.Helper()
	if err := t.Table.Delete(t.patient(), ticket, positions); err != nil {
		t.Fatalf("Delete(%+v, %d) = %v; want nil", ticket, positions, err)
	}
}

func (t *trial) bury(ticket lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) {
	t.Helper()
	if err := t.Table.Bury(t.patient(), ticket, position, why, holdBack); err != nil {
		t.Fatalf("Bury(%+v, %d) = %v; want nil", ticket, position, err)
	}
}

// letters returns every dead letter.
func (t *trial) letters() []outbox.DeadLetter {
	t.Helper()
	letters, err := t.DeadLetters.DeadLetters(t.patient(), "", plenty)
	if err != nil {
		t.Fatalf("DeadLetters = %v; want dead letters", err)
	}
	return letters
}

// theLetter returns the one dead letter that there must be.
func (t *trial) theLetter() outbox.DeadLetter {
	t.Helper()
	letters := t.letters()
	if len(letters) != 1 || letters[0].Event == nil {
		t.Fatalf("there are %d dead letters; want one, with its event", len(letters))
	}
	return letters[0]
}

// letterAt returns the dead letter of the event at a position.
func (t *trial) letterAt(position int64) outbox.DeadLetter {
	t.Helper()
	for _, letter := range t.letters() {
		if letter.Event != nil && letter.Event.Position == position {
			return letter
		}
	}
	t.Fatalf("no dead letter is of position %d", position)
	return outbox.DeadLetter{}
}

func (t *trial) requeue(id string) {
	t.Helper()
	if err := t.DeadLetters.Requeue(t.patient(), id); err != nil {
		t.Fatalf("Requeue(%s) = %v; want nil", id, err)
	}
}

func (t *trial) discard(id string) {
	t.Helper()
	if err := t.DeadLetters.Discard(t.patient(), id, "nobody wants it"); err != nil {
		t.Fatalf("Discard(%s) = %v; want nil", id, err)
	}
}

// wantRows compares rows with those that an earlier call returned.
func (t *trial) wantRows(what string, got []lanes.Row, want ...lanes.Row) {
	t.Helper()
	if diff := cmp.Diff(t.texts(want), t.texts(got)); diff != "" {
		t.Errorf("%s gives other rows (-want +got):\n%s", what, diff)
	}
}

// wantPending demands that those rows are pending and no others.
func (t *trial) wantPending(want ...lanes.Row) {
	t.Helper()
	t.wantRows("Read of all lanes", t.all(), want...)
}

// texts returns rows in a form that can be compared and read.
func (t *trial) texts(rows []lanes.Row) []string {
	t.Helper()
	var texts []string
	for i := range rows {
		row := &rows[i]
		texts = append(texts, fmt.Sprintf("%d in lane %d of %q, recorded at %v: %s",
			row.Position, row.Lane, row.Ordering, row.RecordedAt.UTC(), t.text(&row.Event)))
	}
	return texts
}

// text returns an event in the form that travels.
func (t *trial) text(e *event.Event) string {
	t.Helper()
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatalf("an event of the table cannot be written: %v", err)
	}
	return string(text)
}

func positionsOf(rows []lanes.Row) []int64 {
	var positions []int64
	for i := range rows {
		positions = append(positions, rows[i].Position)
	}
	return positions
}

func headsOf(rows []lanes.Row) []lanes.Head {
	var heads []lanes.Head
	for i := range rows {
		heads = append(heads, lanes.Head{Position: rows[i].Position, Lane: rows[i].Lane, Ordering: rows[i].Ordering})
	}
	return heads
}
