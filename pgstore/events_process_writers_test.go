package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// lineCount is the number of lines that all writers share. In the even ones
// they count their events, in a row of the line; in the odd ones nothing but the
// ordering key's lock keeps two writers apart.
const lineCount = 24

const linesSQL = `
CREATE TABLE lines (line int PRIMARY KEY, number int NOT NULL);
INSERT INTO lines SELECT line, 0 FROM generate_series(0, 23) line;
`

// content is the data of a writer's event.
type content struct{ Number int }

// numberOf returns the writer's count of an event, or zero.
func numberOf(e *event.Event) int {
	var c content
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return 0
	}
	return c.Number
}

// writers commit events beside the relays, until they are stopped.
type writers struct {
	runner *settle.Runner[pgx.Tx]
	starts int
	stop   chan struct{}
	done   sync.WaitGroup

	mu        sync.Mutex
	committed map[string]bool
	changed   chan struct{} // closed, and replaced, at every commit
}

// newWriters returns writers of which none is at work yet.
func newWriters(t *testing.T, pool *pgxpool.Pool, isolation receipt.Isolation) *writers {
	t.Helper()
	store, err := pgstore.New(pgstore.Config{Pool: pool, LockTimeout: patience, Allow: allowTestServer})
	if err != nil {
		t.Fatal(err)
	}
	const enough = 100 // under SERIALIZABLE the lines' counts make rivals fail
	runner, err := settle.New(settle.Config[pgx.Tx]{Store: store, Isolation: isolation, MaxAttempts: enough})
	if err != nil {
		t.Fatal(err)
	}
	return &writers{runner: runner, committed: map[string]bool{}, changed: make(chan struct{})}
}

// start has count writers commit one event after the other, in all lines.
func (w *writers) start(t *testing.T, count int) {
	t.Helper()
	w.starts++
	start, stop := w.starts, make(chan struct{})
	w.stop = stop
	for writer := range count {
		w.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					w.mustCommit(t, fmt.Sprintf("%d of writer %d.%d", n, start, writer), (n+writer)%lineCount)
				}
			}
		})
	}
}

// finish stops the writers, which may be started again, and returns the ids of
// all events that are committed.
func (w *writers) finish() map[string]bool {
	close(w.stop)
	w.done.Wait()
	return w.committed
}

// mustCommit commits an event, and tries again for as long as the test has
// patience: the database may be away, and the outcome unknown.
func (w *writers) mustCommit(t *testing.T, id string, line int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := w.commit(ctx, id, line)
		if err == nil {
			break
		}
		if pause(ctx) != nil {
			t.Errorf("event %q: %v", id, err)
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.committed[id] = true
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *writers) commit(ctx context.Context, id string, line int) error {
	key := keyNamed(id)
	request := settle.Request{Key: key, Kind: settle.Settled, Fingerprint: digestOf(id)}
	_, err := settle.Do(ctx, w.runner, request, func(ctx context.Context, a *settle.Attempt[pgx.Tx]) (int, error) {
		var c content
		if line%2 == 0 {
			const count = "UPDATE lines SET number = number + 1 WHERE line = $1 RETURNING number"
			if err := a.Tx().QueryRow(ctx, count, line).Scan(&c.Number); err != nil {
				return 0, err
			}
		}
		data, err := json.Marshal(c)
		if err != nil {
			return 0, err
		}
		e := eventOf(key, fmt.Sprintf("line %d", line))
		e.ID, e.Data = id, data
		return c.Number, a.Emit(e)
	})
	return err
}

// awaitCommits waits until so many events more are committed.
func (w *writers) awaitCommits(t *testing.T, more int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	target := -1
	for {
		w.mu.Lock()
		count, changed := len(w.committed), w.changed
		w.mu.Unlock()
		if target < 0 {
			target = count + more
		}
		if count >= target {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("gave up waiting for %d commits: there are %d", target, count)
		}
	}
}
