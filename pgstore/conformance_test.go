package pgstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt/receipttest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	receipttest.TestStore(t, storeSubject(newFixture(t)))
}

func storeSubject(f *fixture) func(testing.TB) receipttest.Subject[pgx.Tx] {
	return func(testing.TB) receipttest.Subject[pgx.Tx] {
		return receipttest.Subject[pgx.Tx]{
			Store: f.store,
			Write: mark,
			Written: func(ctx context.Context) ([]string, error) {
				return f.column(ctx, "SELECT mark FROM marks")
			},
			Emitted: func(ctx context.Context) ([]string, error) {
				return f.column(ctx, "SELECT event_id FROM settleonce.events ORDER BY position")
			},
		}
	}
}
