package pgstore_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// What is stored and can't be read becomes a dead letter, with the reason, and
// blocks no other ordering key (I7). What follows in its own is held back where
// the policy is to. An operator who mends the row may requeue it.
func TestBrokenRowIsSetAside(t *testing.T) {
	t.Parallel()
	columns := map[string]string{
		"fingerprint": "fingerprint = 'none'", "event_time": "event_time = 'noon'", "extensions": "extensions = '{\"a\":'",
		"recorded_at": "recorded_at = 'infinity'",
	}
	policies := map[outbox.DeadLetterPolicy]string{outbox.HoldBack: "m1 m4", outbox.GoOn: "m1 m3 m4"}
	for column, damage := range columns {
		for policy, want := range policies {
			t.Run(column+" "+want, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				events := newEvents(t, pgstore.EventsConfig{Store: f.store, DeadLetterPolicy: policy, Logger: slog.New(slog.DiscardHandler)})
				if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "a"), eventOf(keyNamed("m2"), "b"),
					eventOf(keyNamed("m3"), "b"), eventOf(keyNamed("m4"), "c")); err != nil {
					t.Fatal(err)
				}
				execute(t, f.pool, `CREATE TABLE whole AS SELECT * FROM settleonce.events WHERE position = 2;
					UPDATE settleonce.events SET `+damage+` WHERE position = 2`)
				expectTaken(t, events, want)
				letters, err := events.DeadLetters(t.Context(), "", 10)
				if err != nil {
					t.Fatal(err)
				}
				if len(letters) != 1 || letters[0].Event != nil || !strings.Contains(letters[0].Reason, column) {
					t.Fatalf("dead letters = %+v, want the one whose %s can't be read", letters, column)
				}
				if err := events.Requeue(t.Context(), letters[0].ID); err != nil {
					t.Fatal(err)
				}
				expectTaken(t, events, "") // it is as it was
				execute(t, f.pool, "UPDATE settleonce.dead_letters SET ("+column+") = (SELECT "+column+" FROM whole)")
				if err := events.Requeue(t.Context(), letters[0].ID); err != nil {
					t.Fatal(err)
				}
				expectTaken(t, events, map[outbox.DeadLetterPolicy]string{outbox.HoldBack: "m2 m3", outbox.GoOn: "m2"}[policy])
			})
		}
	}
}

// expectTaken takes all that is pending and checks what it was.
func expectTaken(t *testing.T, events *pgstore.Events, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	for range strings.Fields(want) {
		record := nextOne(t, events)
		if err := events.Remove(ctx, []outbox.Record{record}); err != nil {
			t.Fatal(err)
		}
		got = append(got, record.Event.Key.ID)
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if more, err := events.Next(ctx, 1, nil); err != nil || len(more) > 0 {
		t.Errorf("Next then = %d records, %v, want none", len(more), err)
	}
}

// Where it can't be set aside, that is an error, and is tried again.
func TestBrokenRowThatCanNotBeSetAside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store, Logger: slog.New(slog.DiscardHandler)})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "a"), eventOf(keyNamed("m2"), "b"), eventOf(keyNamed("m3"), "a")); err != nil {
		t.Fatal(err)
	}
	execute(t, f.pool, `UPDATE settleonce.events SET fingerprint = 'none' WHERE position = 1;
		ALTER TABLE settleonce.dead_letters ADD CONSTRAINT none CHECK (false)`)
	records, err := events.Next(t.Context(), 10, nil)
	if err == nil || !strings.Contains(err.Error(), "set aside what is no event") || len(records) != 1 || records[0].Event.Key.ID != "m2" {
		t.Errorf("Next = %d records, %v, want the other key's with an error", len(records), err)
	}
	execute(t, f.pool, "ALTER TABLE settleonce.dead_letters DROP CONSTRAINT none")
	if records, err := events.Next(t.Context(), 10, nil); err != nil || len(records) > 0 {
		t.Errorf("Next then = %d records, %v, want none", len(records), err)
	}
	if letters, err := events.DeadLetters(t.Context(), "", 10); err != nil || len(letters) != 1 {
		t.Errorf("%d dead letters, %v, want one", len(letters), err)
	}
}
