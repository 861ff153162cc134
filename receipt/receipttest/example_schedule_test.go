package receipttest_test

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/receipt/receipttest"
)

// A seed gives a schedule of faults. A sender that sends again until it has a
// receipt gets over all of them, and nothing is lost or counted twice.
func ExampleSchedule() {
	for seed := range uint64(20) {
		memory := &receipttest.Memory[int]{}
		fake, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{
			World:  memory,
			Faults: receipttest.Schedule(seed, 30),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		service, err := newRatings(fake)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, match := range []string{"m-1", "m-2", "m-3"} {
			for sent := false; !sent; {
				_, err := service.addWin(context.Background(), match, "ann")
				sent = err == nil
			}
		}
		if rating, _ := memory.Get("ann"); rating != 75 || len(fake.Receipts()) != 3 {
			fmt.Println("with seed", seed, "the rating is", rating)
		}
	}
	fmt.Println("done")
	// Output:
	// done
}
