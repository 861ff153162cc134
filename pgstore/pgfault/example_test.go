package pgfault_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore/pgfault"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// Lose the answer to a COMMIT, and see what the client and the server each
// make of it.
func ExampleProxy_Arm() {
	ctx := context.Background()
	server, err := pgtemp.Start(ctx, pgtemp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop(ctx)
	proxy, err := pgfault.Listen(pgfault.Config{Target: server.DSN()})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()

	connection, err := pgx.Connect(ctx, proxy.DSN())
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close(ctx)
	trap, err := proxy.Arm(pgfault.AnswerLost)
	if err != nil {
		log.Fatal(err)
	}
	tx, err := connection.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the client got an answer:", tx.Commit(ctx) == nil)
	report, err := trap.Report(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the server:", report.Outcome)
	// Output:
	// the client got an answer: false
	// the server: committed
}
