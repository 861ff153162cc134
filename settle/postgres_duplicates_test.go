package settle_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// roleDuplicates settles the same keys with every runner of the process, twice
// each at the same time.
const roleDuplicates role = "duplicates"

// duplicateKeys is the number of keys that the processes settle one after the
// other.
const duplicateKeys = 4

// duplicate is what one call of Do answered.
type duplicate struct {
	Key      int
	Receipt  string // its JSON form
	Replayed bool
	Err      string
}

// sendDuplicates waits until it is told to go, and reports every answer.
func (o order) sendDuplicates(ctx context.Context, runners []*settle.Runner[pgx.Tx], in *bufio.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	const callers = 2
	answers := make(chan duplicate, callers*len(runners)*duplicateKeys)
	var working sync.WaitGroup
	for i := range callers * len(runners) {
		working.Go(func() {
			for key := range duplicateKeys {
				answers <- o.settleDuplicate(ctx, runners[i%len(runners)], key)
			}
		})
	}
	working.Wait()
	close(answers)
	var all []duplicate
	for answer := range answers {
		all = append(all, answer)
	}
	return json.NewEncoder(out).Encode(all)
}

func (o order) settleDuplicate(ctx context.Context, runner *settle.Runner[pgx.Tx], key int) duplicate {
	q := request()
	q.Key.ID = fmt.Sprint(key)
	result, err := settle.Do(ctx, runner, q, func(ctx context.Context, a *pgAttempt) (int, error) {
		return o.meetAtKey(ctx, a, key)
	})
	if err != nil {
		return duplicate{Key: key, Err: err.Error()}
	}
	text, err := result.Receipt.MarshalJSON()
	if err != nil {
		return duplicate{Key: key, Err: err.Error()}
	}
	return duplicate{Key: key, Receipt: string(text), Replayed: result.Replayed}
}

// meetAtKey counts its run, then waits until every runner of every process has
// come to the key: it waits for the key's lock, or ran its callback too because
// nothing stopped it. So no run hides behind another's being late.
func (o order) meetAtKey(ctx context.Context, a *pgAttempt, key int) (run int, err error) {
	if err := a.Emit(settledEvent(fmt.Sprint(key))); err != nil {
		return 0, err
	}
	sequence := fmt.Sprintf("runs_%d", key)
	if err := a.Tx().QueryRow(ctx, "SELECT nextval($1)", sequence).Scan(&run); err != nil {
		return 0, err
	}
	met := fmt.Sprintf("SELECT (SELECT last_value FROM %s) + (SELECT count(*) %s) >= $1", sequence, waiting)
	for all := false; !all; {
		if err := a.Tx().QueryRow(ctx, met, o.Attempts).Scan(&all); err != nil {
			return 0, err
		}
	}
	_, err = a.Tx().Exec(ctx, "INSERT INTO effects VALUES ($1, $2)", key, run)
	return run, err
}

// TestDuplicatesFromManyProcesses has several runners in each of several
// processes settle the same keys at the same time, so that neither the flights
// of one runner nor those of one process can hide a missing lock (I1).
func TestDuplicatesFromManyProcesses(t *testing.T) {
	t.Parallel()
	for _, level := range bothLevels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			const processes, runners = 3, 3
			db := newDatabase(t)
			db.execute(t, "CREATE TABLE effects (key int, run int)")
			for key := range duplicateKeys {
				db.execute(t, fmt.Sprintf("CREATE SEQUENCE runs_%d", key))
			}
			answers := collectDuplicates(t, processes, order{
				Role: roleDuplicates, DSN: db.dsn, Isolation: level, Runners: runners, Attempts: processes * runners,
			})
			for key := range duplicateKeys {
				checkDuplicates(t, answers[key], 2*processes*runners)
				checkRuns(t, db, key, level, processes*runners)
			}
			for table, want := range map[string]int{"effects": duplicateKeys, "settleonce.receipts": duplicateKeys, "settleonce.events": duplicateKeys} {
				if got := db.number(t, "SELECT count(*) FROM "+table); got != want {
					t.Errorf("%d rows in %s, want %d", got, table, want)
				}
			}
		})
	}
}

// collectDuplicates lets the processes loose together and returns the answers
// by key.
func collectDuplicates(t *testing.T, processes int, o order) map[int][]duplicate {
	t.Helper()
	started := make([]*processtest.Process, processes)
	for i := range started {
		started[i] = processtest.Start(t, o)
	}
	for _, p := range started {
		p.Expect(t, "ready")
	}
	for _, p := range started {
		p.Tell(t, "go")
	}
	byKey := make(map[int][]duplicate)
	for _, p := range started {
		var answers []duplicate
		p.Hear(t, &answers)
		for _, answer := range answers {
			byKey[answer.Key] = append(byKey[answer.Key], answer)
		}
	}
	return byKey
}

// checkDuplicates checks that all answers for one key carry the same receipt,
// and that one of them made it.
func checkDuplicates(t *testing.T, answers []duplicate, want int) {
	t.Helper()
	if len(answers) != want {
		t.Fatalf("%d answers, want %d", len(answers), want)
	}
	first := 0
	for _, answer := range answers {
		if answer.Err != "" {
			t.Errorf("key %d: %s", answer.Key, answer.Err)
		}
		if answer.Receipt != answers[0].Receipt {
			t.Errorf("key %d has two receipts:\n%s\n%s", answer.Key, answers[0].Receipt, answer.Receipt)
		}
		if !answer.Replayed {
			first++
		}
	}
	if first != 1 {
		t.Errorf("key %d: %d answers are not replays, want 1", answers[0].Key, first)
	}
}

// checkRuns checks how often the callback ran for key: a sequence counts what
// was rolled back too. At SERIALIZABLE the snapshots are older than the wait,
// so every attempt calls back and all but one fail at their commit.
func checkRuns(t *testing.T, db *database, key int, level receipt.Isolation, attempts int) {
	t.Helper()
	want := 1
	if level == receipt.Serializable {
		want = attempts
	}
	if got := db.number(t, fmt.Sprintf("SELECT last_value FROM runs_%d", key)); got != want {
		t.Errorf("key %d at %s: the callback ran %d times, want %d", key, level, got, want)
	}
}
