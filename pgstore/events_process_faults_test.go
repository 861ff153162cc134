package pgstore_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
)

// lease is that of all relays: short enough to wait for its end, and for the
// looks after others that a relay takes five times in it, and long enough for a
// slow machine to renew it.
const lease = 5 * time.Second

// fewEvents is how many events most relays send at once, so that their calls
// leave some lines to others.
const fewEvents = 3

// scene is a database, a destination, and relays in processes of their own.
type scene struct {
	*destination
	dsn  string
	pool *pgxpool.Pool
}

func newScene(t *testing.T, dsn string) *scene {
	t.Helper()
	s := &scene{destination: newDestination(t), dsn: dsn}
	s.pool = pgtest.PoolOn(t, dsn, func(cfg *pgxpool.Config) { cfg.MaxConns = poolSize })
	if err := pgstore.Migrate(t.Context(), s.pool, ""); err != nil {
		t.Fatal(err)
	}
	execute(t, s.pool, linesSQL)
	return s
}

// startRelay starts a relay, with so many events a call at most.
func (s *scene) startRelay(t *testing.T, name string, events int) *relayProcess {
	t.Helper()
	o := order{Relay: name, DSN: s.dsn, Socket: s.socket, Lease: lease, Concurrency: 4, MaxEvents: events, Deaf: true}
	return &relayProcess{processtest.Start(t, o), name}
}

// awaitTables waits for a condition on the tables.
func (s *scene) awaitTables(t *testing.T, what, condition string, arguments ...any) {
	t.Helper()
	await(t, s.pool, what, condition, arguments...)
}

// relayID returns the membership of the only relay.
func (s *scene) relayID(t *testing.T) (id int64) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), "SELECT id FROM settleonce.relays").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// joins returns how often a relay has joined.
func (s *scene) joins(t *testing.T) (count int) {
	t.Helper()
	const last = "SELECT last_value FROM settleonce.relays_id_seq"
	if err := s.pool.QueryRow(t.Context(), last).Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// isMember holds while the relay $1 is a member or holds a lane.
const isMember = `(EXISTS (SELECT FROM settleonce.relays WHERE id = $1) OR EXISTS (SELECT FROM settleonce.lanes WHERE relay = $1))`

// emptied holds where no event is pending.
const emptied = "NOT EXISTS (SELECT FROM settleonce.events)"

// holdCalls has writers commit events in all lines, and the relay's calls wait
// for their answers from some moment on. When it returns nothing but these calls
// goes on: the writers have finished, and what was answered is removed.
func (s *scene) holdCalls(t *testing.T, relay string, w *writers) {
	t.Helper()
	w.start(t, 3)
	w.awaitCommits(t, 2*lineCount)
	s.shut(relay)
	s.await(t, "a call of the relay is out", func(seen *record) bool { return len(seen.openOf(relay)) > 0 })
	w.awaitCommits(t, 5*lineCount) // of which the relay takes some to have them at hand
	w.finish()
	answered, out := idsOf(s.deliveries()), idsOf(s.unanswered(relay))
	maps.DeleteFunc(answered, func(id string, _ bool) bool { return out[id] })
	s.awaitTables(t, "what was answered is removed",
		"NOT EXISTS (SELECT FROM settleonce.events WHERE event_id = ANY($1))", slices.Collect(maps.Keys(answered)))
}

// expectAgain checks that what was out came again, once, and nothing else.
func expectAgain(t *testing.T, repeats, out []delivery) {
	t.Helper()
	if diff := cmp.Diff(idsOf(out), idsOf(repeats)); diff != "" {
		t.Errorf("events that came again (-those that were out +got):\n%s", diff)
	}
	if len(repeats) != len(out) {
		t.Errorf("%d events came again %d times", len(out), len(repeats))
	}
}

// TestKilledRelay kills a relay with calls out. Another takes its lanes over,
// and delivers again what was out, and nothing else.
func TestKilledRelay(t *testing.T) {
	t.Parallel()
	s := newScene(t, pgtest.DSN(t))
	w := newWriters(t, s.pool, receipt.ReadCommitted)
	first := s.startRelay(t, "first", fewEvents)
	s.awaitTables(t, "the relay has its lanes", evenShares(1))
	dead := s.relayID(t)
	s.holdCalls(t, "first", w)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	second := s.startRelay(t, "second", fewEvents)
	s.awaitTables(t, "the dead relay's membership has ended", "NOT "+isMember, dead)
	s.awaitTables(t, "the second relay has all lanes", evenShares(1))
	s.awaitTables(t, "everything is removed", emptied)
	firsts, repeats := firstsOf(s.deliveries())
	expectEachInOrder(t, firsts, w.committed)
	expectAgain(t, repeats, s.unanswered("first"))
	second.stopInOrder(t)
}

// TestStoppedRelay stops a relay (SIGSTOP) with calls out until it has lost its
// lanes. When it goes on, its calls have answers that it must not act on, and it
// sends nothing of what it had at hand. Then it joins anew.
func TestStoppedRelay(t *testing.T) {
	t.Parallel()
	s := newScene(t, pgtest.DSN(t))
	w := newWriters(t, s.pool, receipt.ReadCommitted)
	first := s.startRelay(t, "first", fewEvents)
	s.awaitTables(t, "the relay has its lanes", evenShares(1))
	stopped := s.relayID(t)
	s.holdCalls(t, "first", w)
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	// The second relay gets no answers either: what was out stays pending.
	s.shut("second")
	second := s.startRelay(t, "second", fewEvents)
	s.awaitTables(t, "the stopped relay's membership has ended", "NOT "+isMember, stopped)
	s.awaitTables(t, "the second relay has all lanes", evenShares(1))
	s.await(t, "the second relay has calls out", func(seen *record) bool { return seen.calls["second"] > 0 })
	out, calls := s.unanswered("first"), s.callsOf("first")
	s.open("first")
	s.await(t, "the stopped relay's calls have answers", func(seen *record) bool { return len(seen.openOf("first")) == 0 })
	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the woken relay has found another's what was out", func(seen *record) bool { return seen.lost["first"] == len(out) })
	s.awaitTables(t, "what was out is still pending",
		"count(*) = $2 FROM settleonce.events WHERE event_id = ANY($1)", slices.Collect(maps.Keys(idsOf(out))), len(out))
	s.open("second")
	s.awaitTables(t, "the woken relay has joined anew, and has its share", evenShares(2))
	s.awaitTables(t, "everything is removed", emptied)

	w.start(t, 3) // in all lines, so for both
	s.await(t, "the woken relay delivers", func(seen *record) bool { return seen.calls["first"] > calls })
	want := w.finish()
	s.awaitTables(t, "everything is removed", emptied)
	firsts, repeats := firstsOf(s.deliveries())
	expectEachInOrder(t, firsts, want)
	expectAgain(t, repeats, out)
	first.stopInOrder(t)
	second.stopInOrder(t)
}

// TestRelayGivesUpNoLaneUnderACall has a second relay come while the first has
// calls out for more than half of the lanes. It must not get the lane of any of
// them before they have answers.
func TestRelayGivesUpNoLaneUnderACall(t *testing.T) {
	t.Parallel()
	const lines, events = 1000, 2000
	s := newScene(t, pgtest.DSN(t))
	fillEvents(t, s.pool, 0, events, lines, 100)
	s.shut("first")
	first := s.startRelay(t, "first", lines/10)
	s.await(t, "more than half of the lanes are in calls", func(seen *record) bool {
		used := map[int16]bool{}
		for _, d := range seen.openOf("first") {
			used[pgstore.Lane(d.Ordering)] = true
		}
		return len(used) > lanes.Count/2+1
	})
	id := s.relayID(t)
	second := s.startRelay(t, "second", lines/10)
	s.awaitTables(t, "the second relay has joined", "count(*) = 2 FROM settleonce.relays")
	for range 3 { // at one of them the first notices the second, and at the next it could give lanes up
		s.awaitRenewal(t, id)
	}
	s.open("first")
	s.awaitTables(t, "the relays share the lanes", evenShares(2))
	s.awaitTables(t, "everything is removed", emptied)
	firsts, repeats := firstsOf(s.deliveries())
	want := map[string]bool{}
	for n := range events {
		want[strconv.Itoa(n)] = true
	}
	expectEachInOrder(t, firsts, want)
	if s.joins(t) == 2 && len(repeats) != 0 { // a machine that is too slow may make one lose its lease
		t.Errorf("came again: %v", repeats)
	}
	first.stopInOrder(t)
	second.stopInOrder(t)
}

// awaitRenewal waits until the relay renews its membership.
func (s *scene) awaitRenewal(t *testing.T, id int64) {
	t.Helper()
	var before time.Time
	if err := s.pool.QueryRow(t.Context(), "SELECT expires_at FROM settleonce.relays WHERE id = $1", id).Scan(&before); err != nil {
		t.Fatal(err)
	}
	s.awaitTables(t, "the relay renews", "expires_at > $2 FROM settleonce.relays WHERE id = $1", id, before)
}

// TestRelaysJoinAndLeave has relays come and go while writers commit. Nobody
// dies, so no event comes twice.
func TestRelaysJoinAndLeave(t *testing.T) {
	t.Parallel()
	for _, isolation := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, pgtest.DSN(t))
			w := newWriters(t, s.pool, isolation)
			w.start(t, 4)
			running := []*relayProcess{s.startRelay(t, "a", fewEvents)}
			s.awaitTables(t, "the first relay has its lanes", evenShares(1))
			joined := 1
			for _, name := range []string{"b", "c", "d"} {
				joined++
				running = append(running, s.startRelay(t, name, fewEvents))
				s.awaitTables(t, "the relays share the lanes", evenShares(2))
				w.awaitCommits(t, 2*lineCount)
				running[0].stopInOrder(t)
				running = running[1:]
				s.awaitTables(t, "the relay that is left has all lanes", evenShares(1))
			}
			want := w.finish()
			s.awaitTables(t, "everything is removed", emptied)
			firsts, repeats := firstsOf(s.deliveries())
			expectEachInOrder(t, firsts, want)
			if s.joins(t) == joined && len(repeats) != 0 { // a machine that is too slow may make one lose its lease
				t.Errorf("came again: %v", repeats)
			}
			running[0].stopInOrder(t)
			s.awaitTables(t, "nobody is left", "NOT EXISTS (SELECT FROM settleonce.relays)")
		})
	}
}

// TestDatabaseCrashUnderRelays crashes and restarts the database while relays
// and writers are at work. Nothing is lost, and no event passes another.
func TestDatabaseCrashUnderRelays(t *testing.T) {
	t.Parallel()
	s, server := newCrashingScene(t)
	w := newWriters(t, s.pool, receipt.ReadCommitted)
	relays := []*relayProcess{s.startRelay(t, "first", fewEvents), s.startRelay(t, "second", fewEvents)}
	s.awaitTables(t, "the relays share the lanes", evenShares(2))
	w.start(t, 3)
	for range 2 {
		w.awaitCommits(t, 3*lineCount)
		crash(t, server)
		w.awaitCommits(t, 3*lineCount)
	}
	want := w.finish()
	s.awaitTables(t, "everything is removed", emptied)
	firsts, repeats := firstsOf(s.deliveries())
	expectEachInOrder(t, firsts, want)
	t.Logf("%d of %d events came again", len(idsOf(repeats)), len(want))
	for _, p := range relays {
		p.stopInOrder(t)
	}
}

// TestDatabaseCrashBringsBackWhatWasRemoved crashes the database when a relay has
// nothing left to do. Deletions that had not reached the disk are undone, and
// the relay, which has read on, delivers again what they had removed.
func TestDatabaseCrashBringsBackWhatWasRemoved(t *testing.T) {
	t.Parallel()
	s, server := newCrashingScene(t)
	w := newWriters(t, s.pool, receipt.ReadCommitted)
	relay := s.startRelay(t, "first", fewEvents)
	s.awaitTables(t, "the relay has its lanes", evenShares(1))
	deadline, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for again := 0; again == 0; { // something else may just have made all durable
		if deadline.Err() != nil {
			t.Fatal("no crash brought anything back")
		}
		w.start(t, 3)
		w.awaitCommits(t, lineCount)
		w.finish()
		s.awaitTables(t, "everything is removed", emptied)
		crash(t, server)
		s.pool.Reset() // None of its connections has survived.
		s.awaitTables(t, "everything is removed again", emptied)
		firsts, repeats := firstsOf(s.deliveries())
		expectEachInOrder(t, firsts, w.committed)
		again = len(repeats)
	}
	relay.stopInOrder(t)
}

// newCrashingScene has a server of its own, which leaves deletions in memory for
// as long as it can.
func newCrashingScene(t *testing.T) (*scene, *pgtemp.Server) {
	t.Helper()
	server := pgtest.Server(t, pgtemp.Config{Parameters: map[string]string{"wal_writer_delay": "10s"}})
	return newScene(t, server.DSN()), server
}

func crash(t *testing.T, server *pgtemp.Server) {
	t.Helper()
	if err := server.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}
