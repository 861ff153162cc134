// Command sportsbook takes bets over HTTP into a real database while answers are
// lost, prices move and processes die, and then audits the books.
//
//	go run ./examples/sportsbook
//
// It needs no set-up. Read the packages below this directory from the inside
// out: bet, wallet, market, house, api, fact, projection, then faults and audit.
// The program starts itself once for each role: two API processes, the risk
// service, two relays and the projection.
package main

import (
	"context"

	"github.com/settleonce/settleonce/examples/drill/program"
)

func main() {
	program.Main(program.Config[options]{
		Name: "sportsbook",
		Roles: map[string]program.Role{
			apiRole: runAPI, riskRole: runRisk, relayRole: runRelay, projectionRole: runProjection,
		},
		Parse: parseOptions,
		Drill: runServeOrDrill,
	})
}

// runServeOrDrill does what the options ask for. A house that is served has no
// books to judge.
func runServeOrDrill(ctx context.Context, o options) (inOrder bool, err error) {
	if o.serve != "" {
		return true, runServe(ctx, o)
	}
	return runDrill(ctx, o)
}
