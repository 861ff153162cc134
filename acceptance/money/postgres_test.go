package money_test

import (
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settleonce/settleonce/acceptance/money"
)

const bets = `CREATE TABLE bets (
	id       text PRIMARY KEY DEFAULT gen_random_uuid(),
	stake    numeric NOT NULL,
	currency text    NOT NULL,
	odds     numeric NOT NULL
)`

// TestColumns stores amounts and odds, has the server say what it holds, and
// reads them back.
func TestColumns(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t, bets) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, test := range []struct{ stake, code, odds string }{
				{"10.00", "EUR", "2.5"},
				{"-0.01", "EUR", "1.0000000001"},
				{"0", "JPY", "1000000"},
				{"100000", "JPY", "10"},
				{"10.999", "KWD", "1.01"},
				{"0.000000000000000001", "ETH", "999999.9999999999"},
				{"-99999999999999999999.999999999999999999", "ETH", "3"},
				{strings.Repeat("9", money.MaxDigits), "POINTS", "3"},
				{"1" + strings.Repeat("0", money.MaxDigits-1), "POINTS", "3"},
			} {
				checkColumns(t, db, parse(t, test.stake, test.code), parseOdds(t, test.odds))
			}
			random := rand.New(rand.NewPCG(5, 5))
			for range 20 {
				code := []string{"JPY", "EUR", "KWD", "BTC", "ETH"}[random.IntN(5)]
				checkColumns(t, db, randomAmount(t, random, code), randomOdds(t, random))
			}
		})
	}
}

func checkColumns(t *testing.T, db database, stake money.Amount, odds money.Odds) {
	t.Helper()
	var id, stored, storedOdds string
	must(t, db.Row(t.Context(), `INSERT INTO bets (stake, currency, odds) VALUES ($1, $2, $3) RETURNING id, stake::text, odds::text`,
		stake.Numeric(), stake.Currency().Code(), odds).Scan(&id, &stored, &storedOdds))
	if stored != strings.Fields(stake.String())[0] || storedOdds != odds.String() {
		t.Errorf("%v at %v is stored as %s at %s", stake, odds, stored, storedOdds)
	}

	var number money.Numeric
	var code string
	var oddsBack money.Odds
	must(t, db.Row(t.Context(), `SELECT stake, currency, odds FROM bets WHERE id = $1`, id).Scan(&number, &code, &oddsBack))
	back, err := house(t).FromNumeric(number, code)
	if err != nil || back.String() != stake.String() || !oddsBack.Equal(odds) {
		t.Errorf("%v at %v came back as %v at %v, error %v", stake, odds, back, oddsBack, err)
	}
}

func TestMinorColumn(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t, `CREATE TABLE balances (units bigint NOT NULL)`) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, units := range []int64{0, -1, 1234, math.MaxInt64, math.MinInt64} {
				amount, err := house(t).FromMinor(units, "KWD")
				must(t, err)
				minor, err := amount.Minor()
				must(t, err)
				var number money.Minor
				must(t, db.Row(t.Context(), `INSERT INTO balances VALUES ($1) RETURNING units`, minor).Scan(&number))
				back, err := house(t).FromMinor(int64(number), "KWD")
				if err != nil || !back.Equal(amount) {
					t.Errorf("%v came back as %v, %v", amount, back, err)
				}
			}
		})
	}
}

// TestWrongColumns reads what is no amount, no odds and no minor units.
func TestWrongColumns(t *testing.T) {
	t.Parallel()
	const notText, notInteger = "must come from a NUMERIC column as text", "must come from a bigint column as an integer"
	for name, db := range databases(t, ``) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, test := range []struct{ expression, number, minor string }{
				{`NULL::numeric`, "must not be NULL", "must not be NULL"},
				{`NULL::bigint`, "must not be NULL", "must not be NULL"},
				{`'NaN'::numeric`, "must be digits", notInteger},
				{`'Infinity'::numeric`, "must be digits", notInteger},
				{`'-Infinity'::numeric`, "must be digits", notInteger},
				{`1e130::numeric`, "must have at most 128 bytes", notInteger},
				{`1.5::float8`, notText, notInteger},
				{`1.5::float4`, notText, notInteger},
				{`15000::bigint`, notText, ""},
				{`true`, notText, notInteger},
				{`2::numeric`, "", notInteger},
				{`'1.5 EUR'::text`, "must be digits", notInteger},
			} {
				var number money.Numeric
				var odds money.Odds
				var minor money.Minor
				query := `SELECT ` + test.expression
				checkScan(t, test.expression, db.Row(t.Context(), query).Scan(&number), test.number)
				checkScan(t, test.expression, db.Row(t.Context(), query).Scan(&odds), test.number)
				checkScan(t, test.expression, db.Row(t.Context(), query).Scan(&minor), test.minor)
			}
		})
	}
}

// checkScan expects an ErrInvalid that holds want, or none where want is empty.
func checkScan(t *testing.T, expression string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: error %v", expression, err)
		}
		return
	}
	checkRefusal(t, expression, err, want)
}

func TestNullableColumns(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t, ``) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var none, some sql.Null[money.Numeric]
			var noUnits, units sql.Null[money.Minor]
			var noOdds, odds sql.Null[money.Odds]
			must(t, db.Row(t.Context(), `SELECT NULL::numeric, 1.5::numeric, NULL::bigint, 7::bigint, NULL::numeric, 2.5::numeric`).
				Scan(&none, &some, &noUnits, &units, &noOdds, &odds))
			if none.Valid || noUnits.Valid || noOdds.Valid {
				t.Error("NULL is valid")
			}
			if some.V.String() != "1.5" || units.V != 7 || odds.V.String() != "2.5" {
				t.Errorf("read %v, %v and %v", some, units, odds)
			}
			var null bool
			must(t, db.Row(t.Context(), `SELECT $1::numeric IS NULL`, none).Scan(&null))
			if !null {
				t.Error("an invalid sql.Null was not stored as NULL")
			}
		})
	}
}

// TestServerArithmetic: zeros that PostgreSQL adds change no amount, and what
// it cannot divide is not rounded.
func TestServerArithmetic(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t, ``) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for expression, want := range map[string]string{
				`10.99 * 1.0000000000000000000000`:        "10.99 EUR",
				`21.98 / 2`:                               "10.99 EUR",
				`avg(x) FROM (VALUES (1.5), (2.5)) v(x)`:  "2.00 EUR",
				`sum(x) FROM (VALUES (1.10), (2.2)) v(x)`: "3.30 EUR",
				`1e20`:     "100000000000000000000.00 EUR",
				`10 / 3.0`: "must have at most 2 decimals in EUR",
				`10.999`:   "must have at most 2 decimals in EUR",
				`1e36`:     "must have at most 36 digits before the point in EUR",
			} {
				var number money.Numeric
				must(t, db.Row(t.Context(), `SELECT `+expression).Scan(&number))
				amount, err := house(t).FromNumeric(number, "EUR")
				if strings.HasSuffix(want, " EUR") && err == nil {
					if amount.String() != want {
						t.Errorf("%s is %v, want %s", expression, amount, want)
					}
					continue
				}
				checkRefusal(t, expression, err, want)
			}
		})
	}
}

// TestScaleOfTheColumn shows why the column has no scale of its own, and that
// the CHECK of the package comment refuses what it must.
func TestScaleOfTheColumn(t *testing.T) {
	t.Parallel()
	const tables = `
		CREATE TABLE rounding (stake numeric(10,2) NOT NULL);
		CREATE TABLE checking (
			stake    numeric NOT NULL CHECK (stake = round(stake, 2) AND abs(stake) < 1e36),
			odds     numeric NOT NULL CHECK (odds > 1 AND odds <= 1000000)
		);
		CREATE TABLE mixed (
			currency text    NOT NULL,
			stake    numeric NOT NULL CHECK (
				stake = round(stake, CASE currency WHEN 'JPY' THEN 0 WHEN 'KWD' THEN 3 ELSE 2 END) AND abs(stake) < 1e36)
		)`
	for name, db := range databases(t, tables) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dinars := parse(t, "10.999", "KWD")
			var stored string
			must(t, db.Row(t.Context(), `INSERT INTO rounding VALUES ($1) RETURNING stake::text`, dinars.Numeric()).Scan(&stored))
			if stored != "11.00" {
				t.Errorf("numeric(10,2) holds %s: the documentation is out of date", stored)
			}
			checkViolation(t, db.Exec(t.Context(), `INSERT INTO checking VALUES ($1, 2)`, dinars.Numeric()), "10.999")
			for _, stake := range []string{`10.991`, `'NaN'`, `'Infinity'`, `'-Infinity'`, `1e36`, `-1e36`} {
				checkViolation(t, db.Exec(t.Context(), `INSERT INTO checking VALUES (`+stake+`, 2)`), stake)
			}
			for _, stake := range []string{`10.99`, `10.990`, `-10`, `999999999999999999999999999999999999.99`} {
				must(t, db.Exec(t.Context(), `INSERT INTO checking VALUES (`+stake+`, 1.0000000001)`))
			}
			for _, odds := range []string{`1`, `1000000.01`, `'NaN'`, `'Infinity'`, `'-Infinity'`} {
				checkViolation(t, db.Exec(t.Context(), `INSERT INTO checking VALUES (1, `+odds+`)`), odds)
			}
			for code, refused := range map[string]string{"JPY": "0.1", "KWD": "0.0001", "EUR": "0.001", "USD": "'NaN'"} {
				checkViolation(t, db.Exec(t.Context(), `INSERT INTO mixed VALUES ('`+code+`', `+refused+`)`), code+" "+refused)
			}
			must(t, db.Exec(t.Context(), `INSERT INTO mixed VALUES ('JPY', 1), ('KWD', 1.001), ('EUR', 1.01)`))
		})
	}
}

// checkViolation expects that a CHECK refused value.
func checkViolation(t *testing.T, err error, value string) {
	t.Helper()
	const sqlState = "23514"
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != sqlState {
		t.Errorf("%s is stored, error %v", value, err)
	}
}

// TestAmountIsNoColumn: an amount without its number taken out goes into no
// NUMERIC, and comes out of none.
func TestAmountIsNoColumn(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t, ``) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stored string
			if err := db.Row(t.Context(), `SELECT ($1::numeric)::text`, parse(t, "10", "EUR")).Scan(&stored); err == nil {
				t.Errorf("an amount is stored as %s", stored)
			}
			var amount money.Amount
			if err := db.Row(t.Context(), `SELECT 10.00::numeric`).Scan(&amount); err == nil {
				t.Errorf("a number is read as %v", amount)
			}
			if err := db.Row(t.Context(), `SELECT ($1::numeric)::text`, money.Numeric{}).Scan(&stored); err == nil {
				t.Errorf("a number that is not set is stored as %s", stored)
			}
			if err := db.Row(t.Context(), `SELECT ($1::numeric)::text`, money.Odds{}).Scan(&stored); err == nil {
				t.Errorf("odds that are not set are stored as %s", stored)
			}
		})
	}
}
