package settle_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/settle"
)

// TestCommitOrderOfOneOrderingKey has two keys emit events of one ordering key.
// The first has its position and waits at COMMIT; the second, which would be
// through in no time, waits for it, so that the positions are in the order of
// the commits (I8).
func TestCommitOrderOfOneOrderingKey(t *testing.T) {
	t.Parallel()
	for _, level := range bothLevels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			l := db.newLobby(t, setup{
				runner: settle.Config[pgx.Tx]{Isolation: level},
				store:  pgstore.Config{LockTimeout: patience},
			})
			settleKey := func(id string, statement string, arguments ...any) <-chan error {
				done := make(chan error, 1)
				q := request()
				q.Key.ID = id
				go func() {
					_, err := settle.Do(t.Context(), l.runner, q, func(ctx context.Context, a *pgAttempt) (int, error) {
						e := settledEvent(id)
						e.OrderingKey = "player/alice"
						if err := a.Emit(e); err != nil {
							return 0, err
						}
						_, err := a.Tx().Exec(ctx, statement, arguments...)
						return 0, err
					})
					done <- err
				}()
				return done
			}
			openGate := db.holdGate(t)
			first := settleKey("first", "INSERT INTO gates VALUES ($1)", gate)
			if err := db.await(t.Context(), waitsAtGate); err != nil {
				t.Fatal(err)
			}
			second := settleKey("second", "SELECT 1")
			if err := db.await(t.Context(), waitsForKey+" OR EXISTS (SELECT FROM settleonce.receipts)"); err != nil {
				t.Fatal(err)
			}
			if committed := db.number(t, "SELECT count(*) FROM settleonce.receipts"); committed != 0 {
				t.Error("the second committed while the first, whose position is lower, was still open")
			}
			openGate()
			for _, done := range []<-chan error{first, second} {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			rows, err := db.pool.Query(t.Context(), "SELECT id FROM settleonce.events ORDER BY position")
			if err != nil {
				t.Fatal(err)
			}
			order, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"first", "second"}, order); diff != "" {
				t.Errorf("events by position (-want +got):\n%s", diff)
			}
		})
	}
}
