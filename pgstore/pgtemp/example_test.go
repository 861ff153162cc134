package pgtemp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// Start a server, use it, and leave nothing behind.
func ExampleStart() {
	ctx := context.Background()
	server, err := pgtemp.Start(ctx, pgtemp.Config{
		Parameters: map[string]string{"application_name": "demonstration"},
	})
	if err != nil {
		log.Fatal(err) // says how to get PostgreSQL where it is missing
	}
	defer server.Stop(ctx)

	connection, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close(ctx)

	var name, fsync string
	row := connection.QueryRow(ctx, "SELECT current_setting('application_name'), current_setting('fsync')")
	if err := row.Scan(&name, &fsync); err != nil {
		log.Fatal(err)
	}
	fmt.Println(name, fsync)
	// Output: demonstration on
}
