package pgtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func TestMissingServerSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := open("", pgtemp.Config{BinDir: t.TempDir()})
	if !errors.Is(err, pgtemp.ErrNotInstalled) || !strings.Contains(err.Error(), Variable) {
		t.Errorf("error %v", err)
	}
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"host=h dbname=a":                   "host=h dbname=a dbname=new",
		"postgres://u:p@h:1/a?sslmode=off":  "postgres://u:p@h:1/new?sslmode=off",
		"postgresql://h?host=%2Ftmp&port=1": "postgresql://h/new?host=%2Ftmp&port=1",
	} {
		got, err := withDatabase(dsn, "new")
		if err != nil || got != want {
			t.Errorf("withDatabase(%q) = %q, %v, want %q", dsn, got, err, want)
		}
	}
}
