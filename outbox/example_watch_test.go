package outbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// Ask a relay how it does, as a health check and an operator's page would.
func ExampleRelay_Frontier() {
	ctx, stop := context.WithCancel(context.Background())
	source := &outboxtest.Source{}
	source.Put(outboxtest.NewEvent("bet-1", "wallet-7"))
	source.Put(outboxtest.NewEvent("bet-2", "wallet-7"))
	destination := &outboxtest.Sender{Fault: func(e event.Event, _ int) outboxtest.Fault {
		if e.Key.ID == "bet-2" {
			stop() // Finishes what is out.
		}
		return outboxtest.Fault{}
	}}
	relay, err := outbox.NewRelay(outbox.RelayConfig{Source: source, Sender: destination})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("running:", !errors.Is(relay.Health(), outbox.ErrStopped))
	if err := relay.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	frontier, err := relay.Frontier(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := outboxtest.NewEvent("any", "wallet-7")
	last, _ := relay.LastAcknowledged(e.Ordering())
	fmt.Printf("%d delivered, %d failed, down: %v\n", frontier.Counts.Delivered, frontier.Counts.Failed, frontier.Down)
	fmt.Println("last of wallet-7:", last.EventID)
	// Output:
	// running: false
	// 2 delivered, 0 failed, down: false
	// last of wallet-7: event-bet-2
}
