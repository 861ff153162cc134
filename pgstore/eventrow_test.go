package pgstore_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// An event leaves the table as it came, whichever way pgx asks for it.
func TestEventLeavesAsItCame(t *testing.T) {
	t.Parallel()
	full := eventOf(keyNamed("full"), "line/ä")
	full.Subject, full.DataSchema, full.DataContentType = "a subject", "https://example.com/schema", "application/octet-stream"
	full.Time = time.Date(2026, 3, 29, 1, 59, 59, 123456789, time.FixedZone("", -(9*60+30)*60))
	full.Data = []byte{0, 1, 0xff, '\\', 'x'}
	full.Extensions = map[string]any{
		"text": "ü \"<&>\u2028", "yes": true, "no": false, "least": int32(math.MinInt32), "most": int32(math.MaxInt32), "zero": int32(0),
		"digits": "1",
	}
	spaced, empty, absent := eventOf(keyNamed("spaced"), ""), eventOf(keyNamed("empty"), ""), eventOf(keyNamed("absent"), "")
	spaced.Data = []byte("{ \"a\" : 1.50 }\n")
	spaced.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	empty.DataContentType, empty.Data = "text/plain", []byte{}
	absent.Data = nil
	sent := []event.Event{full, spaced, empty, absent}

	f := newFixture(t)
	if err := f.settle(t.Context(), sent...); err != nil {
		t.Fatal(err)
	}
	for i := range sent {
		sent[i].Position = int64(i) + 1
	}
	for _, mode := range modes {
		rows, err := pgstore.Table(poolBeside(t, f.pool, inMode(mode)), pgstore.DefaultSchema).ReadAt(t.Context(), []int64{1, 2, 3, 4})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]event.Event, len(rows))
		for i, row := range rows {
			got[i] = row.Event
			if row.Ordering != sent[i].Ordering() || row.Lane != lanes.Lane(pgstore.Lane(row.Ordering)) || row.RecordedAt.IsZero() {
				t.Errorf("%v: row %d is in line %q, lane %d, of %v", mode, i, row.Ordering, row.Lane, row.RecordedAt)
			}
			if !got[i].Time.IsZero() && got[i].Time.Format(time.RFC3339Nano) != sent[i].Time.Format(time.RFC3339Nano) {
				t.Errorf("%v: time %v, want %v", mode, got[i].Time, sent[i].Time)
			}
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("%v: events (-sent +got):\n%s", mode, diff)
		}
	}
}

// Commit checks what it is given itself: a session is not only the runner's.
func TestCommitRefusesAnInvalidEvent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(*event.Event)
		says  string
	}{
		"no id":             {func(e *event.Event) { e.ID = "" }, "id must not be empty"},
		"data is no JSON":   {func(e *event.Event) { e.Data = []byte("{") }, "data of a JSON media type"},
		"has a position":    {func(e *event.Event) { e.Position = 1 }, "position must not be set"},
		"extension's type":  {func(e *event.Event) { e.Extensions = map[string]any{"x": 1.5} }, "extensions.x must be a string"},
		"control character": {func(e *event.Event) { e.Subject = "\x00" }, "subject must not hold control characters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			claim := claimOn("m1")
			valid, invalid := eventOf(claim.Key, ""), eventOf(claim.Key, "")
			test.spoil(&invalid)
			_, err := f.begin(t, claim).Commit(t.Context(), receiptFor(claim), valid, invalid)
			if !errors.Is(err, receipt.ErrNotCommitted) || !strings.Contains(err.Error(), "event 2 of 2") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Commit = %v, want ErrNotCommitted that says %q of event 2 of 2", err, test.says)
			}
			f.expectNothing(t, "m1")
		})
	}
}
