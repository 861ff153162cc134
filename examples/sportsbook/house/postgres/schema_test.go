package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/settleonce/settleonce/receipt"
)

// Every column of money refuses what is no amount, and rounds nothing.
func TestColumnsRefuseWhatIsNoAmount(t *testing.T) {
	t.Parallel()
	made := newBooks(t, receipt.ReadCommitted)
	const checkViolation = "23514"
	for column, insert := range map[string]string{
		"holds.amount":          `INSERT INTO holds VALUES ('ann', 'b', 'EUR', $1::text::numeric, 'a')`,
		"hold_ends.amount":      `INSERT INTO hold_ends VALUES ('ann', 'b', true, 'EUR', $1::text::numeric, 'a')`,
		"bets.stake":            `INSERT INTO bets VALUES ('ann', 'b', 'single', 'EUR', $1::text::numeric, 1, 'a')`,
		"bets.payout":           `INSERT INTO bets VALUES ('ann', 'b', 'single', 'EUR', 1, $1::text::numeric, 'a')`,
		"closings.payout":       `INSERT INTO closings VALUES ('ann', 'b', 'settled', 'v', 'EUR', $1::text::numeric, 'half-up', 'a')`,
		"journal_entries":       `INSERT INTO journal_entries VALUES ('1', 1, 'house', '', 'EUR', $1::text::numeric)`,
		"takes.amount":          `INSERT INTO takes VALUES ('ann', 'b', 'winner', 'home', 0, 'EUR', $1::text::numeric)`,
		"referrals.stake":       `INSERT INTO referrals VALUES ('ann', 'b', 'EUR', $1::text::numeric, now())`,
		"balances.available":    `WITH w AS (INSERT INTO wallets VALUES ('ann')) INSERT INTO balances VALUES ('ann', 'EUR', $1::text::numeric, 0)`,
		"balances.held":         `WITH w AS (INSERT INTO wallets VALUES ('bob')) INSERT INTO balances VALUES ('bob', 'EUR', 0, $1::text::numeric)`,
		"stripes.limit (no FK)": `INSERT INTO stripes VALUES ('winner', 'home', 'EUR', 0, $1::text::numeric, 0)`,
	} {
		for _, number := range []string{"10.999", "NaN", "Infinity", "1e36"} {
			_, err := made.pool.Exec(t.Context(), insert, number)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != checkViolation {
				t.Errorf("%s takes %s, error %v", column, number, err)
			}
		}
	}
}
