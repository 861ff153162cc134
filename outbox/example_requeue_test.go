package outbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// List what was set aside and, when the cause is mended, have it delivered
// after all.
func ExampleDir_Requeue() {
	path, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(path)
	ctx := context.Background()
	dir, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close(ctx)
	if err := dir.Put(ctx, outboxtest.NewEvent("room-7", "")); err != nil {
		fmt.Println(err)
		return
	}
	// A relay does this when the receiver refuses.
	records, err := dir.Next(ctx, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := dir.SetAside(ctx, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1}); err != nil {
		fmt.Println(err)
		return
	}

	letters, err := dir.DeadLetters(ctx, "", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, letter := range letters {
		fmt.Printf("room: %s, attempts: %d, reason: %s\n", letter.Event.Key.ID, letter.Attempts, letter.Reason)
		fmt.Println("requeue:", dir.Requeue(ctx, letter.ID))
	}
	stats, err := dir.Stats(ctx)
	fmt.Printf("%d pending, %d set aside, %v\n", stats.Records, stats.DeadLetters, err)
	// Output:
	// room: room-7, attempts: 1, reason: unknown room
	// requeue: <nil>
	// 1 pending, 0 set aside, <nil>
}
