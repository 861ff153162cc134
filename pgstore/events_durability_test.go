package pgstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// A deletion does not wait for the disk, and everything that an operator may
// rely on does, whatever the pool's sessions begin with.
func TestHowDurableWritesAre(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, `CREATE TABLE observed (setting text);
		CREATE FUNCTION observe() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO observed VALUES (TG_TABLE_NAME || ' ' || lower(TG_OP) || ': ' || current_setting('synchronous_commit')); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER observe AFTER DELETE ON settleonce.events DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION observe();
		CREATE CONSTRAINT TRIGGER observe AFTER UPDATE OR DELETE ON settleonce.dead_letters DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION observe();
		CREATE CONSTRAINT TRIGGER observe AFTER INSERT OR UPDATE ON settleonce.relays DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION observe()`)
	hasty := poolBeside(t, f.pool, synchronousCommitOff)
	table := pgstore.Table(hasty, pgstore.DefaultSchema)
	operator := newEvents(t, pgstore.EventsConfig{Store: f.store, Pool: hasty})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), ""), eventOf(keyNamed("m2"), ""), eventOf(keyNamed("m3"), "")); err != nil {
		t.Fatal(err)
	}
	ticket := join(t, table)
	no := outbox.Refusal{Reason: "no"}
	for name, err := range map[string]error{
		"Bury 1":  table.Bury(t.Context(), ticket, 1, no, true),
		"Bury 2":  table.Bury(t.Context(), ticket, 2, no, true),
		"Delete":  table.Delete(t.Context(), ticket, []int64{3}),
		"Requeue": operator.Requeue(t.Context(), "1"),
		"Discard": operator.Discard(t.Context(), "2", "nobody wants it"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	observed, err := f.column(t.Context(), "SELECT setting FROM observed ORDER BY setting")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"dead_letters delete: on", "dead_letters update: on",
		"events delete: off", "events delete: on", "events delete: on", "relays insert: on",
	}
	if diff := cmp.Diff(want, observed); diff != "" {
		t.Errorf("synchronous_commit at COMMIT (-want +got):\n%s", diff)
	}
}
