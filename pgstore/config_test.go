package pgstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

func TestNewNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := pgstore.New(pgstore.Config{
		Schema: "no schema", LockTimeout: -1, IdleTimeout: 1 << 62, ClientCheckInterval: 1 << 62, RollbackTimeout: -1,
		Allow: []pgstore.Weakness{"everything"},
	})
	if err == nil {
		t.Fatal("New took it")
	}
	for _, field := range []string{"Pool", "Schema", "LockTimeout", "IdleTimeout", "ClientCheckInterval", "RollbackTimeout", "Allow"} {
		if !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("error does not name %s:\n%v", field, err)
		}
	}
}

func TestNewTakesZeroValuesAndNegativeInterval(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, cfg := range []pgstore.Config{{Pool: pool}, {Pool: pool, ClientCheckInterval: -1}} {
		if _, err := pgstore.New(cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestSettingsReachTheTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := newStore(t, f.pool, pgstore.Config{
		LockTimeout: 1500 * time.Microsecond, IdleTimeout: 7 * time.Second, ClientCheckInterval: 3 * time.Second,
	})
	claim := claimOn("m1")
	session, err := store.Begin(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Rollback(t.Context()) }()
	for setting, want := range map[string]string{
		"lock_timeout": "2ms", "idle_in_transaction_session_timeout": "7s", "client_connection_check_interval": "3s",
		"settleonce.attempt": claim.Attempt, "transaction_isolation": "read committed",
	} {
		var got string
		if err := session.Tx().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", setting, got, err, want)
		}
	}
}

func TestBeginNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.store.Begin(t.Context(), receipt.Claim{Revision: -1, Isolation: 7, LockTimeout: -1})
	if err == nil {
		t.Fatal("Begin took it")
	}
	for _, field := range []string{"tenant", "scope", "operation", "id", "revision", "attempt", "isolation", "lock timeout"} {
		if !strings.Contains(err.Error(), field+" ") {
			t.Errorf("error does not name %s:\n%v", field, err)
		}
	}
	if _, err := f.store.History(t.Context(), receipt.Key{}); err == nil {
		t.Error("History took a key without parts")
	}
}
