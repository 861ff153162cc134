package acceptance

import "testing"

// TestTurnThatIsGivenUp: who gives up may have got the turn at that moment. It
// goes to the next, and the wallet's gate is forgotten when nobody is left.
func TestTurnThatIsGivenUp(t *testing.T) {
	t.Parallel()
	g, wallet := newGate(1), walletKey{"shop", "ann"}
	if turn := g.arrive(wallet); turn != nil {
		t.Fatal("the first has to wait")
	}
	gone, next := g.arrive(wallet), g.arrive(wallet)
	g.leave(wallet) // its turn comes
	g.giveUp(wallet, gone)
	select {
	case <-next:
	default:
		t.Fatal("the turn was lost")
	}
	g.leave(wallet)
	if len(g.open) != 0 {
		t.Errorf("%d gates are kept", len(g.open))
	}
}
