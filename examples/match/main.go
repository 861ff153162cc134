// Command match moves the results of simulated matches from a battle node's
// disk to receipts in a lobby's database, while it breaks what lies between,
// and then audits the books.
//
//	go run ./examples/match
//
// It needs no set-up. Read the packages below this directory from the inside
// out: vote, room, result, battle, lobby, then faults and audit. The program
// starts itself once for each role: the battle node and two lobbies.
package main

import "github.com/settleonce/settleonce/examples/drill/program"

func main() {
	program.Main(program.Config[options]{
		Name:  "match",
		Roles: map[string]program.Role{lobbyRole: runLobby, battleRole: runBattle},
		Parse: parseOptions,
		Drill: runDrill,
	})
}
