package lanestest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func putDemands() []demand {
	return []demand{
		{"positions", "positions are positive and rise with the commits of one ordering key, and within a transaction with the order of its events", checkPositions},
		{"one-lane", "all events of one ordering key are in one lane, those of many in many", checkOneLane},
		{"whole", "an event comes back with all that it had, and its position", checkWhole},
		{"recorded", "a row says when it was written", checkRecorded},
		{"invisible", "what is not committed is in no answer, hides nothing that is, and appears at its commit, be it below what was read", checkInvisible},
	}
}

func checkPositions(t *trial) {
	a, b, c, d := outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"), outboxtest.NewEvent("d", "x")
	t.begin(b, c, a)()
	t.begin(d)()
	rows := t.all()
	var ids []string
	last := int64(0)
	for i := range rows {
		ids = append(ids, rows[i].Event.Key.ID)
		if rows[i].Position <= last {
			t.Errorf("position %d follows %d", rows[i].Position, last)
		}
		last = rows[i].Position
	}
	if want := []string{"b", "c", "a", "d"}; !slices.Equal(ids, want) {
		t.Errorf("the events come in the order %q; want %q", ids, want)
	}
}

func checkOneLane(t *trial) {
	var orderings []string
	for i := range 40 {
		orderings = append(orderings, fmt.Sprintf("ordering-%d", i))
	}
	t.put(orderings...)
	rows := t.put(orderings...)
	laneOf, used := make(map[string]lanes.Lane), make(map[lanes.Lane]bool)
	for _, row := range t.all() {
		if lane, found := laneOf[row.Ordering]; found && lane != row.Lane {
			t.Errorf("%s is in lanes %d and %d", row.Ordering, lane, row.Lane)
		}
		laneOf[row.Ordering], used[row.Lane] = row.Lane, true
	}
	if len(rows) != 40 || len(used) < 20 {
		t.Errorf("40 ordering keys are in %d lanes", len(used))
	}
}

func checkWhole(t *trial) {
	for _, e := range t.manyShapes() {
		t.begin(e)()
		rows := t.all()
		row := rows[len(rows)-1]
		if row.Position != row.Event.Position {
			t.Errorf("the row at position %d has an event of position %d", row.Position, row.Event.Position)
		}
		if row.Ordering != e.Ordering() {
			t.Errorf("the row of %s names the ordering key %q", e.Ordering(), row.Ordering)
		}
		e.Position = row.Position
		t.wantRows("Read", []lanes.Row{row}, lanes.Row{Position: row.Position, Lane: row.Lane, Ordering: e.Ordering(), Event: e, RecordedAt: row.RecordedAt})
		t.wantRows("ReadOf", t.readOf([]string{e.Ordering()}, row.Position, row.Position, 1), row)
		t.wantRows("ReadAt", t.readAt(row.Position), row)
	}
}

// manyShapes returns events that differ in which fields they have.
func (t *trial) manyShapes() []event.Event {
	sum, err := fingerprint.Parse("some.schema/17:" + strings.Repeat("0f", 32))
	if err != nil {
		t.Fatalf("the suite's own fingerprint: %v", err)
	}
	full := event.Event{
		ID:              "0199a1b2-0000-7000-8000-000000000001",
		Source:          "//battle-7.example.com/rooms",
		Type:            "match.finished",
		Subject:         "room/42 – \"<&>\\\u2028",
		Time:            time.Date(2026, 3, 1, 12, 30, 0, 123456789, time.FixedZone("", 5*3600+1800)),
		DataSchema:      "https://example.com/schemas/match-result.json",
		DataContentType: "application/json",
		Data:            []byte(`{"winner":1,"note":"<é>","big":9007199254740993,"twice":1.50}`),
		Key:             event.Key{Tenant: "shop/ä", Scope: "match", Operation: "settle", ID: "42/7"},
		OrderingKey:     "player/7 %",
		Fingerprint:     sum,
		Extensions:      map[string]any{"traceparent": "00-0af7", "sampled": true, "attempts": int32(-3), "empty": ""},
	}
	least := outboxtest.NewEvent("least", "")
	least.Data = nil
	binary := outboxtest.NewEvent("binary", "")
	binary.DataContentType, binary.Data = "application/octet-stream", []byte{0, 1, 0xff, '\n', 0}
	empty := outboxtest.NewEvent("empty", "")
	empty.DataContentType, empty.Data = "application/octet-stream", []byte{}
	null := outboxtest.NewEvent("null", "")
	null.Data = []byte("null")
	large := outboxtest.NewEvent("large", strings.Repeat("o", event.MaxOrderingKey))
	large.Data = []byte(`"` + strings.Repeat("x", 200_000) + `"`)
	large.Subject = strings.Repeat("s", event.MaxText)
	return []event.Event{full, least, binary, empty, null, large}
}

func checkRecorded(t *trial) {
	for _, row := range t.put("a", "b") {
		if row.RecordedAt.IsZero() {
			t.Errorf("the row at position %d says nothing of when it was written", row.Position)
		}
	}
}

func checkInvisible(t *trial) {
	commitFirst := t.begin(outboxtest.NewEvent("first", "a"), outboxtest.NewEvent("second", "b"))
	t.begin(outboxtest.NewEvent("third", "c"))()
	seen := t.all()
	if len(seen) != 1 || seen[0].Event.Key.ID != "third" {
		t.Fatalf("beside an open transaction Read gives %q; want what is committed", t.texts(seen))
	}
	third := seen[0]
	var between []int64
	for position := max(1, third.Position-10); position <= third.Position; position++ {
		between = append(between, position)
	}
	a, b := outboxtest.NewEvent("", "a"), outboxtest.NewEvent("", "b")
	orderings := []string{a.Ordering(), b.Ordering(), third.Ordering}
	t.wantRows("beside an open transaction ReadOf", t.readOf(orderings, 0, math.MaxInt64, plenty), third)
	t.wantRows("beside an open transaction ReadAt", t.readAt(between...), third)
	if heads := t.heads(allLanes(), 0, math.MaxInt64, plenty); !slices.Equal(heads, headsOf(seen)) {
		t.Errorf("beside an open transaction Heads gives %+v; want %+v", heads, headsOf(seen))
	}
	commitFirst()
	rows := t.all()
	if len(rows) != 3 || rows[1].Position >= third.Position || rows[2].Position != third.Position {
		t.Fatalf("after the commit Read gives %q; want the two before what was there", t.texts(rows))
	}
	t.wantRows("after the commit ReadOf", t.readOf(orderings, 0, math.MaxInt64, plenty), rows...)
	t.wantRows("after the commit ReadAt", t.readAt(positionsOf(rows)...), rows...)
}

func readDemands() []demand {
	return []demand{
		{"read", "Read gives the rows of the lanes, those above a position, in order, up to its limit", checkRead},
		{"read-of", "ReadOf gives the rows of the ordering keys, from first to last and both included, in order, up to its limit", checkReadOf},
		{"read-at", "ReadAt gives the rows at the positions that are there, in order", checkReadAt},
		{"heads", "Heads gives the heads of the rows of the lanes, above after and up to last, in order, up to its limit", checkHeads},
		{"read-nothing", "where nothing is asked for, or nothing is there, every read gives nothing and no error", checkReadNothing},
		{"open", "Read gives the number of every transaction that may still make rows visible, in ascending order, until it has ended", checkOpen},
		{"read-into", "a read takes the place of the rows that it is given, and changes nothing that they point at", checkReadInto},
		{"owned", "the events that a read returned belong to the caller", checkOwned},
	}
}

// checkerboard puts rows of many lanes and returns them with a half of the
// lanes and those of the rows that are of that half.
func (t *trial) checkerboard() (rows []lanes.Row, half []lanes.Lane, ofHalf []lanes.Row) {
	t.Helper()
	var orderings []string
	for i := range 60 {
		orderings = append(orderings, fmt.Sprintf("ordering-%d", i%20))
	}
	rows = t.put(orderings...)
	for lane := range lanes.Count / 2 {
		half = append(half, lanes.Lane(lane*2+int(rows[0].Lane)%2)) //nolint:gosec // There are lanes.Count of them, which a Lane numbers.
	}
	for i := range rows {
		if slices.Contains(half, rows[i].Lane) {
			ofHalf = append(ofHalf, rows[i])
		}
	}
	if len(ofHalf) < 6 || len(ofHalf) == len(rows) {
		t.Fatalf("%d of %d rows are in a half of the lanes: the suite can't tell the halves", len(ofHalf), len(rows))
	}
	return rows, half, ofHalf
}

func checkRead(t *trial) {
	rows, half, ofHalf := t.checkerboard()
	t.wantRows("Read of all lanes", t.read(allLanes(), 0, plenty), rows...)
	t.wantRows("Read of half the lanes", t.read(half, 0, plenty), ofHalf...)
	t.wantRows("Read with a limit", t.read(half, 0, 4), ofHalf[:4]...)
	t.wantRows("Read with a limit that is met", t.read(half, 0, len(ofHalf)), ofHalf...)
	t.wantRows("Read above a position", t.read(half, ofHalf[2].Position, plenty), ofHalf[3:]...)
	t.wantRows("Read above a position with a limit", t.read(half, ofHalf[1].Position, 2), ofHalf[2:4]...)
	t.wantRows("Read above a position that is another lane's", t.read(half, ofHalf[3].Position-1, 1), ofHalf[3])
	t.wantRows("Read of one lane", t.read([]lanes.Lane{ofHalf[0].Lane}, 0, 1), ofHalf[0])
}

func checkReadInto(t *trial) {
	_, half, ofHalf := t.checkerboard()
	into := t.read(half, 0, 4)
	before := slices.Clone(into)
	for _, c := range []struct {
		what  string
		limit int
		want  []lanes.Row
	}{
		{"fewer rows than it is given", 2, ofHalf[4:6]},
		{"more rows than it is given", plenty, ofHalf[4:]},
		{"no row", 0, nil},
	} {
		rows, _, err := t.Table.Read(t.patient(), half, ofHalf[3].Position, c.limit, into)
		if err != nil {
			t.Fatalf("Read = %v; want rows", err)
		}
		t.wantRows("Read of "+c.what, rows, c.want...)
	}
	t.wantRows("copies of the rows that it was given", before, ofHalf[:4]...)
}

func checkReadOf(t *trial) {
	rows, _, _ := t.checkerboard()
	two := []string{rows[7].Ordering, rows[3].Ordering}
	want := []lanes.Row{rows[3], rows[7], rows[23], rows[27], rows[43], rows[47]}
	t.wantRows("ReadOf", t.readOf(two, 0, math.MaxInt64, plenty), want...)
	t.wantRows("ReadOf from first", t.readOf(two, rows[7].Position, math.MaxInt64, plenty), want[1:]...)
	t.wantRows("ReadOf to last", t.readOf(two, 0, rows[43].Position, plenty), want[:5]...)
	t.wantRows("ReadOf from first to last", t.readOf(two, rows[23].Position, rows[27].Position, plenty), want[2:4]...)
	t.wantRows("ReadOf just inside", t.readOf(two, rows[7].Position+1, rows[43].Position-1, plenty), want[2:4]...)
	t.wantRows("ReadOf with a limit", t.readOf(two, 0, math.MaxInt64, 3), want[:3]...)
	t.wantRows("ReadOf of a stranger", t.readOf([]string{"nobody", rows[0].Ordering}, 0, rows[19].Position, plenty), rows[0])
}

func checkReadAt(t *trial) {
	rows, _, _ := t.checkerboard()
	ticket := t.holder()
	t.remove(ticket, rows[5].Position)
	t.bury(ticket, rows[6].Position, refusal("no"), true)
	t.wantRows("ReadAt", t.readAt(rows[2].Position, rows[5].Position, rows[6].Position, rows[8].Position, rows[59].Position+1000),
		rows[2], rows[8])
}

func checkHeads(t *trial) {
	rows, half, ofHalf := t.checkerboard()
	for _, c := range []struct {
		what        string
		of          []lanes.Lane
		after, last int64
		limit       int
		want        []lanes.Row
	}{
		{"of all lanes", allLanes(), 0, math.MaxInt64, plenty, rows},
		{"of half the lanes", half, 0, math.MaxInt64, plenty, ofHalf},
		{"above after", half, ofHalf[0].Position, math.MaxInt64, plenty, ofHalf[1:]},
		{"up to last", half, 0, ofHalf[3].Position, plenty, ofHalf[:4]},
		{"between", half, ofHalf[1].Position, ofHalf[4].Position, plenty, ofHalf[2:5]},
		{"with a limit", half, ofHalf[1].Position, ofHalf[4].Position, 2, ofHalf[2:4]},
		{"where last is not above after", half, ofHalf[1].Position, ofHalf[1].Position, plenty, nil},
	} {
		if got, want := t.heads(c.of, c.after, c.last, c.limit), headsOf(c.want); !slices.Equal(got, want) {
			t.Errorf("Heads %s gives\n%+v\nwant\n%+v", c.what, got, want)
		}
	}
}

func checkReadNothing(t *trial) {
	for range 2 {
		t.wantRows("Read of no lane", t.read(nil, 0, plenty))
		t.wantRows("ReadOf of no ordering key", t.readOf(nil, 0, math.MaxInt64, plenty))
		t.wantRows("ReadAt no position", t.readAt())
		if heads := t.heads(nil, 0, math.MaxInt64, plenty); len(heads) > 0 {
			t.Errorf("Heads of no lane gives %+v", heads)
		}
		t.wantHeldBack(nil)
		last := int64(0)
		for _, row := range t.all() {
			last = row.Position
		}
		t.wantRows("Read above all", t.read(allLanes(), last, plenty))
		if heads := t.heads(allLanes(), last, math.MaxInt64, plenty); len(heads) > 0 {
			t.Errorf("Heads above all gives %+v", heads)
		}
		t.put("a", "b")
		t.bury(t.holder(), t.all()[0].Position, refusal("no"), true)
	}
}

func checkOpen(t *trial) {
	_, before := t.readOpen(allLanes(), 0, plenty)
	commitFirst := t.begin(outboxtest.NewEvent("first", "a"))
	_, withFirst := t.readOpen(allLanes(), 0, plenty)
	commitSecond := t.begin(outboxtest.NewEvent("second", "b"))
	_, withBoth := t.readOpen(nil, math.MaxInt64, 1)
	commitFirst()
	rows, withSecond := t.readOpen(allLanes(), 0, plenty)
	if len(rows) != 1 {
		t.Errorf("when the first of two has committed, %d rows are there; want one", len(rows))
	}
	commitSecond()
	_, after := t.readOpen(allLanes(), 0, plenty)
	first := without(without(withFirst, before), withSecond)
	second := without(without(withBoth, withFirst), after)
	if len(common(first, withBoth)) == 0 || len(common(second, withSecond)) == 0 {
		t.Errorf("the open transactions were %d, %d with one more, %d with a second, %d without the first, and then %d; want one number more, two, one and none",
			before, withFirst, withBoth, withSecond, after)
	}
	for _, open := range [][]uint64{before, withFirst, withBoth, withSecond, after} {
		if !slices.IsSorted(open) {
			t.Errorf("the open transactions are %d; want them in ascending order", open)
		}
	}
}

// without returns those of the numbers that are not among the others. A server
// may have transactions of its own, which come and go.
func without(numbers, others []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(numbers), func(number uint64) bool { return slices.Contains(others, number) })
}

// common returns those of the numbers that are among the others.
func common(numbers, others []uint64) []uint64 { return without(numbers, without(numbers, others)) }

func checkOwned(t *trial) {
	e := outboxtest.NewEvent("1", "a")
	e.Extensions = map[string]any{"traceparent": "00-0af7"}
	t.begin(e)()
	want := t.texts(t.all())
	position := t.all()[0].Position
	for _, row := range slices.Concat(t.all(), t.readAt(position), t.readOf([]string{e.Ordering()}, 0, position, 1)) {
		row.Event.Data[0] = 'X'
		clear(row.Event.Extensions)
	}
	if got := t.texts(t.all()); !slices.Equal(got, want) {
		t.Errorf("a change of what was read reached the table: %q; want %q", got, want)
	}
}
