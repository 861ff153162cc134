package memory_test

import (
	"testing"

	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/lobbytest"
	"github.com/settleonce/settleonce/examples/match/lobby/memory"
)

func TestLobby(t *testing.T) {
	t.Parallel()
	lobbytest.Test(t, func(t *testing.T, players []string) lobbytest.Subject {
		t.Helper()
		database := memory.New(players)
		fake, err := receipttest.New(receipttest.Config[lobby.Repository]{World: database})
		if err != nil {
			t.Fatal(err)
		}
		return lobbytest.Subject{Store: fake, Rooms: database}
	})
}
