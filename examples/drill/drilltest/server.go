// Package drilltest runs a drill as its tests see it: as a program, with the
// server that the tests share.
package drilltest

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// patience bounds the start and the end of a server.
const patience = time.Minute

// WithServer runs the tests of a package, usually testing.M's Run, with the
// connection string of a PostgreSQL: the one that SETTLEONCE_TEST_DSN names, or
// a private one for these tests. It returns the exit code. A missing PostgreSQL
// fails, and says how to get one.
func WithServer(run func(dsn string) int) (code int) {
	if dsn := os.Getenv("SETTLEONCE_TEST_DSN"); dsn != "" {
		return run(dsn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := pgtemp.Start(ctx, pgtemp.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = run(server.DSN())
	ending, cancelEnding := context.WithTimeout(context.Background(), patience)
	defer cancelEnding()
	if err := server.Stop(ending); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
