package receipttest

import "github.com/settleonce/settleonce/receipt"

// keyLocks holds who has each key and who waits for it, first come first
// served. Its owner guards it.
type keyLocks struct {
	// waiting holds an entry for every key that is held, and in it the turns
	// of those that wait.
	waiting map[receipt.Key][]chan struct{}
}

// queue returns a channel that is closed when the caller has the key: at once
// if the key is free.
func (l *keyLocks) queue(key receipt.Key) chan struct{} {
	turn := make(chan struct{})
	waiting, held := l.waiting[key]
	if !held {
		l.waiting[key] = nil
		close(turn)
		return turn
	}
	l.waiting[key] = append(waiting, turn)
	return turn
}

// unlock gives the key to the next that waits.
func (l *keyLocks) unlock(key receipt.Key) {
	waiting := l.waiting[key]
	if len(waiting) == 0 {
		delete(l.waiting, key)
		return
	}
	l.waiting[key] = waiting[1:]
	close(waiting[0])
}

// leave gives up a turn that queue returned, whether it has come or not.
func (l *keyLocks) leave(key receipt.Key, turn chan struct{}) {
	waiting := l.waiting[key]
	for i := range waiting {
		if waiting[i] == turn {
			l.waiting[key] = append(waiting[:i:i], waiting[i+1:]...)
			return
		}
	}
	l.unlock(key)
}
