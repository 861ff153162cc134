package pgstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// controlTexts hold transaction control where PostgreSQL would see it.
var controlTexts = []string{
	"BEGIN", "begin work", "START TRANSACTION", "COMMIT", "commit and chain", "END", "ROLLBACK", "ABORT",
	"SAVEPOINT s", "RELEASE s", "ROLLBACK TO s", "COMMIT PREPARED 'x'", "PREPARE TRANSACTION 'x'",
	"SET TRANSACTION READ ONLY", "SET LOCAL TRANSACTION READ ONLY", "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
	"  \t\r\n\f\v COMMIT", ";;COMMIT", "SELECT 1;COMMIT", "COMMIT;SELECT 1",
	"-- a comment\nCOMMIT", "-- a comment\rCOMMIT", "/* a /* nested */ comment */ COMMIT", "/**/COMMIT", "COMMIT--",
	"SELECT '--'; COMMIT", "SELECT '/*'; COMMIT", "SELECT 'it''s'; COMMIT", `SELECT '\'; COMMIT --'`,
	`SELECT E'\''; COMMIT`, `SELECT e'\\'; COMMIT --'`, `SELECT nameE'\'; COMMIT --'`,
	"SELECT E'a'\n '\\''; COMMIT", "SELECT E'a' -- no line end before it\n'b'; COMMIT",
	"SELECT E'a'\n-- a comment\n'\\''; COMMIT",
	`SELECT "a""b;"; COMMIT`, `SELECT U&"\0061;"; COMMIT`, `SELECT U&'\0061'; COMMIT`,
	"SELECT $$;$$; COMMIT", "SELECT $tag$ $$ $other$ $tag$; COMMIT", "SELECT $1; COMMIT", "SELECT a$b$; COMMIT --$b$",
	"SELECT $ä$;$ä$; COMMIT", "SELECT 1$1; COMMIT", "SELECT $1$a$;$a$; COMMIT",
	"SELECT 1 +--\n2; COMMIT", "SELECT 'a' 'b'; COMMIT",
}

// harmlessTexts only look like it.
var harmlessTexts = []string{
	"", ";", "SELECT 1", "-- COMMIT", "/* COMMIT; */ SELECT 1", "/* /* */ ; COMMIT */ SELECT 1",
	"SELECT 'a; COMMIT'", "SELECT 'it''s; COMMIT'", `SELECT E'\'; COMMIT'`, "SELECT E'a'\n'\\'; COMMIT'",
	"SELECT E'a'\n-- '\n'\\'; COMMIT'", `SELECT "a; COMMIT"`, "SELECT $$; COMMIT$$", "SELECT $a$; $$ COMMIT; $a$",
	"PREPARE transactions AS SELECT 1", "SET LOCAL lock_timeout = 1", "SET SESSION AUTHORIZATION x", "SET x = 'transaction'",
	"SELECT begin FROM commit", "CREATE TABLE rollback ()", "UPDATE t SET commit = 1", "beginning", `"commit"`,
	"DO $$ BEGIN PERFORM 1; END $$", "SELECT CASE WHEN true THEN 1 END",
}

// openTexts leave a literal or a comment open, which goes on in whatever is
// sent behind it.
var openTexts = []string{"SELECT '", "'; COMMIT", `SELECT E'\'; COMMIT`, "/* ; COMMIT", "/* /* */", "$$ ; COMMIT", "$a$ $b$", `"; COMMIT`}

func TestScannerFindsTransactionControl(t *testing.T) {
	t.Parallel()
	for _, sql := range controlTexts {
		if err := pgstore.RefuseTransactionControl(sql, true); !errors.Is(err, receipt.ErrTransactionControl) {
			t.Errorf("%q passed: %v", sql, err)
		}
	}
	for _, sql := range harmlessTexts {
		if err := pgstore.RefuseTransactionControl(sql, true); err != nil {
			t.Errorf("%q was refused: %v", sql, err)
		}
	}
	for _, sql := range openTexts {
		if err := pgstore.RefuseTransactionControl(sql, true); !errors.Is(err, receipt.ErrTransactionControl) {
			t.Errorf("%q passed: %v", sql, err)
		}
	}
}

// With standard_conforming_strings off every string has escapes.
func TestScannerKnowsBackslashesInPlainStrings(t *testing.T) {
	t.Parallel()
	if err := pgstore.RefuseTransactionControl(`SELECT '\''; COMMIT`, false); !errors.Is(err, receipt.ErrTransactionControl) {
		t.Errorf("control behind an escaped quote passed: %v", err)
	}
	if err := pgstore.RefuseTransactionControl(`SELECT '\'; COMMIT'`, false); err != nil {
		t.Errorf("control inside a string with escapes was refused: %v", err)
	}
	// A string of bits has no escapes all the same.
	for _, sql := range []string{`SELECT B'\'; COMMIT; --'`, `SELECT x'\'; COMMIT; --'`} {
		if err := pgstore.RefuseTransactionControl(sql, false); !errors.Is(err, receipt.ErrTransactionControl) {
			t.Errorf("%q passed: %v", sql, err)
		}
	}
}

func TestRefusalNamesTheCommand(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"select 1; commit and chain": "pgstore: COMMIT:", "prepare transaction 'x'": "pgstore: PREPARE TRANSACTION:",
		"set local transaction read only": "pgstore: SET LOCAL TRANSACTION:",
	} {
		if err := pgstore.RefuseTransactionControl(sql, true); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("refusal of %q = %v, want it to begin with %q", sql, err, want)
		}
	}
}

// FuzzTransactionControl hides any text in every kind of literal and comment,
// where nothing of it counts, and puts control behind it, which does.
func FuzzTransactionControl(f *testing.F) {
	for _, sql := range slices.Concat(controlTexts, harmlessTexts, openTexts) {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = pgstore.RefuseTransactionControl(text, true)
		_ = pgstore.RefuseTransactionControl(text, false)
		_, _ = pgstore.Deferrable("DELETE "+text, true)
		escaped := strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `'`, `\'`)
		for _, hidden := range []string{
			"'" + strings.ReplaceAll(text, "'", "''") + "'",
			"E'" + escaped + "'",
			`"` + strings.ReplaceAll(text, `"`, `""`) + `"`,
			"$fuzz$" + strings.ReplaceAll(text, "$fuzz$", "") + "$FUZZ$ $fuzz$",
			"-- " + strings.NewReplacer("\n", " ", "\r", " ").Replace(text) + "\n",
			"/*" + strings.NewReplacer("*", "+", "/", "+").Replace(text) + "*/",
		} {
			sql := "SELECT " + hidden
			if strings.Contains(strings.TrimSuffix(strings.TrimPrefix(hidden, "$fuzz$"), "$fuzz$"), "$fuzz$") {
				continue // removing one tag may have made another
			}
			if err := pgstore.RefuseTransactionControl(sql, true); err != nil {
				t.Errorf("%q was refused: %v", sql, err)
			}
			if err := pgstore.RefuseTransactionControl(sql+" ; COMMIT", true); err == nil {
				t.Errorf("COMMIT behind %q passed", sql)
			}
		}
	})
}

func TestDeferrableForms(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"INSERT INTO t VALUES (1)":                                     "INSERT INTO t VALUES (1)",
		"update t set a = 1;":                                          "update t set a = 1",
		"/* why */ DELETE FROM t WHERE a = ';' -- all":                 "/* why */ DELETE FROM t WHERE a = ';' -- all",
		"DELETE FROM t ; -- all":                                       "DELETE FROM t",
		`UPDATE t SET "returning" = 1`:                                 `UPDATE t SET "returning" = 1`,
		"INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x":           "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2": "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2",
	} {
		got, err := pgstore.Deferrable(sql, true)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Deferrable(%q): %v (-want +got):\n%s", sql, err, diff)
		}
	}
	for sql, rule := range map[string]string{
		"":                                   "must begin with",
		"SELECT 1":                           "must begin with",
		"WITH x AS (SELECT 1) DELETE FROM t": "must begin with",
		"MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE": "must begin with",
		"TRUNCATE t":                    "must begin with",
		"DELETE FROM t RETURNING a":     "RETURNING",
		"DELETE FROM t; DELETE FROM u":  "single statement",
		"DELETE FROM t) SELECT (1":      "parentheses",
		"DELETE FROM t WHERE (a = 1":    "parentheses",
		"DELETE FROM t WHERE a = 'open": "without an end",
		"DELETE FROM t /* open":         "without an end",
	} {
		if _, err := pgstore.Deferrable(sql, true); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("Deferrable(%q) = %v, want a word about %q", sql, err, rule)
		}
	}
}

// What the scanner lets pass must not end a transaction on a real server, be
// it that the server runs it or that it refuses it.
func TestServerAgreesWithTheScanner(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, sql := range harmlessTexts {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw := conn.Conn().PgConn()
		if err := raw.Exec(t.Context(), "BEGIN").Close(); err != nil {
			t.Fatal(err)
		}
		_ = raw.Exec(t.Context(), sql).Close() // many of them are no valid SQL
		if raw.TxStatus() == 'I' {
			t.Errorf("%q ended the transaction", sql)
		}
		conn.Release() // closes the connection, as its transaction is open
	}
}
