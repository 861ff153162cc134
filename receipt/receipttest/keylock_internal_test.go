package receipttest

import (
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

// A turn that came at the very moment when its waiter gave up passes on.
func TestTurnLeftTooLatePassesOn(t *testing.T) {
	t.Parallel()
	key := receipt.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: "m-1"}
	locks := keyLocks{waiting: make(map[receipt.Key][]chan struct{})}
	locks.queue(key)
	late, next := locks.queue(key), locks.queue(key)
	locks.unlock(key)
	if !came(late) || came(next) {
		t.Fatalf("the first in the queue has its turn: %t, the second: %t; want true, false", came(late), came(next))
	}
	locks.leave(key, late)
	if !came(next) {
		t.Error("the turn did not pass on")
	}
	locks.leave(key, next)
	if last := locks.queue(key); !came(last) {
		t.Error("the key is not free although nobody has it")
	}
}

func came(turn chan struct{}) bool {
	select {
	case <-turn:
		return true
	default:
		return false
	}
}
