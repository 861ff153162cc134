package acceptance

import (
	"context"
	"sync"
)

// gate lets a bounded number of decisions on one wallet run at once in this
// process. Those that wait hold no connection, so one hot wallet cannot drain
// the pool that all others need.
//
// The order is that of arrival.
type gate struct {
	width int

	mu   sync.Mutex
	open map[walletKey]*passage
}

type walletKey struct{ tenant, wallet string }

// passage is the gate of one wallet that is in use.
type passage struct {
	inside  int
	waiting []chan struct{} // closed when its turn has come
}

func newGate(width int) *gate {
	return &gate{width: width, open: make(map[walletKey]*passage)}
}

// enter waits for the wallet's turn. Whoever entered must call leave once.
func (g *gate) enter(ctx context.Context, key walletKey) (leave func(), err error) {
	turn := g.arrive(key)
	if turn != nil {
		select {
		case <-turn:
		case <-ctx.Done():
			g.giveUp(key, turn)
			return nil, context.Cause(ctx)
		}
	}
	return func() { g.leave(key) }, nil
}

// arrive takes a place inside, or returns what tells when there is one.
func (g *gate) arrive(key walletKey) (turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.open[key]
	if p == nil {
		p = &passage{}
		g.open[key] = p
	}
	if p.inside < g.width {
		p.inside++
		return nil
	}
	turn = make(chan struct{})
	p.waiting = append(p.waiting, turn)
	return turn
}

// giveUp leaves the queue. A turn that came at the same time goes to the next.
func (g *gate) giveUp(key walletKey, turn chan struct{}) {
	g.mu.Lock()
	p := g.open[key]
	for i, waiting := range p.waiting {
		if waiting == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	g.leave(key)
}

// leave hands the place to who has waited longest.
func (g *gate) leave(key walletKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.open[key]
	if len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = p.waiting[1:]
		close(next)
		return
	}
	p.inside--
	if p.inside == 0 {
		delete(g.open, key)
	}
}
