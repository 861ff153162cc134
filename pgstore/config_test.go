package pgstore_test

import (
	"math"
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
	for name, test := range map[string]struct {
		config                    pgstore.Config
		lock, idle, checkInterval string
	}{
		"defaults": {pgstore.Config{}, "5s", "30s", "1s"},
		"set": {pgstore.Config{
			LockTimeout: 1500 * time.Microsecond, IdleTimeout: 7 * time.Second, ClientCheckInterval: 3 * time.Second,
		}, "2ms", "7s", "3s"},
		"the server's own check": {pgstore.Config{ClientCheckInterval: -1}, "5s", "30s", "0"},
	} {
		claim := claimOn(name)
		session, err := newStore(t, f.pool, test.config).Begin(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		for setting, want := range map[string]string{
			"lock_timeout": test.lock, "idle_in_transaction_session_timeout": test.idle,
			"client_connection_check_interval": test.checkInterval,
			"settleonce.attempt":               claim.Attempt, "transaction_isolation": "read committed",
		} {
			var got string
			if setting == "client_connection_check_interval" && serverVersion(t, f.pool) < 14 {
				continue
			}
			if err := session.Tx().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s = %q, %v, want %q", name, setting, got, err, want)
			}
		}
		if err := session.Rollback(t.Context()); err != nil {
			t.Error(err)
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
	claim := receipt.Claim{Revision: math.MaxInt32 + 1, LockTimeout: math.MaxInt64, Beside: make([]receipt.Key, 1)}
	_, err = f.store.Begin(t.Context(), claim)
	if err == nil {
		t.Fatal("Begin took what PostgreSQL does not")
	}
	for _, wrong := range []string{"revision must be at most", "lock timeout must be at most", "beside 1 of 1"} {
		if !strings.Contains(err.Error(), wrong) {
			t.Errorf("error does not name %q:\n%v", wrong, err)
		}
	}
}
