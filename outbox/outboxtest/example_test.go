package outboxtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// Lose the answer to a first delivery: the record is sent again, and the
// destination takes it once.
func Example_lostAnswer() {
	ctx, stop := context.WithCancel(context.Background())
	sender := &outboxtest.Sender{Fault: func(_ event.Event, n int) outboxtest.Fault {
		if n == 1 {
			return outboxtest.Fault{Lost: true}
		}
		stop() // Finishes what is out.
		return outboxtest.Fault{}
	}}
	source := &outboxtest.Source{}
	source.Put(outboxtest.NewEvent("room-7", ""))

	relay, err := outbox.NewRelay(outbox.RelayConfig{Source: source, Sender: sender, MinBackoff: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := relay.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d attempts, taken %d times, %d left\n", len(sender.Attempts()), len(sender.Taken()), len(source.Pending()))
	// Output: 2 attempts, taken 1 times, 0 left
}
