package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// createDatabase makes a database on the server that dsn names, has it dropped
// after the test, and returns its connection string.
func createDatabase(t testing.TB, dsn string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	fresh, err := withDatabase(dsn, name)
	if err != nil {
		t.Fatalf("pgtest: %s: %v", Variable, err)
	}
	if err := execute(t.Context(), dsn, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := execute(ctx, dsn, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return fresh
}

// withDatabase returns dsn with another database.
func withDatabase(dsn, name string) (string, error) {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name, nil // the last one counts
	}
	address, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("not a connection URL: %w", err)
	}
	address.Path = "/" + name
	return address.String(), nil
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, dsn, statement string) (err error) {
	connection, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	if _, err := connection.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
