package outbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// Give up a dead letter that held back its ordering key.
func ExampleDir_Discard() {
	path, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(path)
	ctx := context.Background()
	dir, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true, DeadLetterPolicy: outbox.HoldBack})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close(ctx)
	for _, room := range []string{"room-7", "room-8"} {
		if err := dir.Put(ctx, outboxtest.NewEvent(room, "lobby-1")); err != nil {
			fmt.Println(err)
			return
		}
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
	show := func() {
		lag, err := dir.Lag(ctx)
		fmt.Printf("%d pending, %d dead letters, %d ordering keys held back, %v\n", lag.Pending, lag.DeadLetters, lag.HeldBack, err)
	}
	show()

	letters, err := dir.DeadLetters(ctx, "", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("discard:", dir.Discard(ctx, letters[0].ID, "the match was played in a test"))
	show()
	records, err = dir.Next(ctx, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("next:", records[0].Event.Key.ID)
	// Output:
	// 1 pending, 1 dead letters, 1 ordering keys held back, <nil>
	// discard: <nil>
	// 1 pending, 0 dead letters, 0 ordering keys held back, <nil>
	// next: room-8
}
