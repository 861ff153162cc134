package outbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// Make a match result durable, then deliver it until its receipt is there.
func Example_putAndDeliver() {
	path, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(path)
	dir, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true})
	if err != nil {
		fmt.Println(err)
		return
	}

	// A node that ends here, and starts again, has lost nothing.
	if err := dir.Put(context.Background(), outboxtest.NewEvent("room-7", "")); err != nil {
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithCancel(context.Background())
	destination := &outboxtest.Sender{Fault: func(e event.Event, n int) outboxtest.Fault {
		fmt.Printf("attempt at %s\n", e.Key.ID)
		stop() // Finishes what is out.
		return outboxtest.Fault{}
	}}
	relay, err := outbox.NewRelay(outbox.RelayConfig{Source: dir, Sender: destination})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := relay.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	stats, err := dir.Stats(context.Background())
	fmt.Printf("%d records left, %v\n", stats.Records, err)
	fmt.Println(dir.Close(context.Background()))
	// Output:
	// attempt at room-7
	// 0 records left, <nil>
	// <nil>
}
