package settle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// postgresRatings is the [Ratings] for production.
type postgresRatings struct{ tx pgx.Tx }

func (r postgresRatings) Rating(ctx context.Context, player string) (rating int, err error) {
	err = r.tx.QueryRow(ctx, "SELECT rating FROM ratings WHERE player = $1 FOR UPDATE", player).Scan(&rating)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return rating, err
}

func (r postgresRatings) SetRating(ctx context.Context, player string, rating int) error {
	const upsert = "INSERT INTO ratings VALUES ($1, $2) ON CONFLICT (player) DO UPDATE SET rating = excluded.rating"
	_, err := r.tx.Exec(ctx, upsert, player, rating)
	return err
}

// stage is a place to settle on, and what is committed there.
type stage struct {
	runner *settle.Runner[Ratings]
	rating func(player string) int
}

func memoryStage(t *testing.T) stage {
	t.Helper()
	memory := new(receipttest.Memory[int])
	runner, err := newRunner(memory)
	if err != nil {
		t.Fatal(err)
	}
	return stage{runner, func(player string) int {
		rating, _ := memory.Get(player)
		return rating
	}}
}

func postgresStage(t *testing.T) stage {
	t.Helper()
	db := newDatabase(t)
	store, err := pgstore.New(pgstore.Config{Pool: db.pool})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := settle.New(settle.Config[Ratings]{
		Store: receipt.Map(store, func(tx pgx.Tx) Ratings { return postgresRatings{tx} }),
	})
	if err != nil {
		t.Fatal(err)
	}
	return stage{runner, func(player string) int {
		return db.number(t, "SELECT coalesce(max(rating), 0) FROM ratings WHERE player = '"+player+"'")
	}}
}

// scene is what one call of Do came to.
type scene struct {
	Call     string
	Value    int
	Replayed bool
	Errors   []string // the sentinels that are true
	Receipt  receipt.Receipt
	Calls    int // runs of the callback
	Hooks    int
	Alice    int // committed afterwards
}

// play makes the same calls on any stage.
func (s stage) play(t *testing.T) (played []scene) {
	t.Helper()
	errOwn := errors.New("own")
	call := func(name string, q settle.Request, fail error) {
		now := scene{Call: name}
		result, err := settle.Do(t.Context(), s.runner, q, func(ctx context.Context, a *settle.Attempt[Ratings]) (int, error) {
			now.Calls++
			a.AfterCommit(func(context.Context) { now.Hooks++ })
			rating, err := a.Tx().Rating(ctx, "alice")
			if err != nil {
				return 0, err
			}
			if err := a.Tx().SetRating(ctx, "alice", rating+16); err != nil {
				return 0, err
			}
			return rating + 16, fail
		})
		for name, sentinel := range map[string]error{
			"own": errOwn, "refused": settle.ErrRefused, "not committed": receipt.ErrNotCommitted,
			"fingerprint": receipt.ErrFingerprintMismatch, "kind": receipt.ErrKindMismatch,
		} {
			if errors.Is(err, sentinel) {
				now.Errors = append(now.Errors, name)
			}
		}
		slices.Sort(now.Errors)
		if (err != nil) != (len(now.Errors) > 0) {
			t.Errorf("%s: err = %v", name, err)
		}
		now.Value, now.Replayed, now.Receipt, now.Alice = result.Value, result.Replayed, result.Receipt, s.rating("alice")
		now.Receipt.Attempt, now.Receipt.RecordedAt = "", time.Time{} // these differ by right
		played = append(played, now)
	}
	first, otherContent, otherKind, next := matchRequest("alice"), matchRequest("bob"), matchRequest("alice"), matchRequest("alice")
	otherKind.Kind = settle.Voided
	next.Key.ID = "0200"
	call("fails", first, errOwn)
	call("is refused", first, settle.Refuse("unknown-room", "no room is known"))
	call("settles", first, nil)
	call("is sent again", first, nil)
	call("has another content", otherContent, nil)
	call("has another kind", otherKind, nil)
	call("settles another key", next, nil)
	return played
}

// TestSameCallbackOnFakeAndPostgres plays the same calls on the fake and on
// PostgreSQL, through [receipt.Map], and compares what they come to.
func TestSameCallbackOnFakeAndPostgres(t *testing.T) {
	t.Parallel()
	fake, postgres := memoryStage(t).play(t), postgresStage(t).play(t)
	if diff := cmp.Diff(fake, postgres); diff != "" {
		t.Errorf("calls (-fake +PostgreSQL):\n%s", diff)
	}
	if last := postgres[len(postgres)-1]; last.Alice != 32 {
		t.Errorf("rating %d in the end, want 32", last.Alice)
	}
}
