package receipttest_test

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/receipt/receipttest"
)

// A callback that runs again must not count twice. RerunCallback makes it run
// again.
func Example_rerunCallback() {
	memory := &receipttest.Memory[int]{}
	fake, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{
		World:  memory,
		Faults: []receipttest.Fault{receipttest.RerunCallback},
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
	result, err := service.addWin(context.Background(), "m-1", "ann")
	fmt.Println(result.Value, err)
	fmt.Println("runs:", service.runs, "fired:", fake.Fired(receipttest.RerunCallback), "ratings:", memory.All())
	// Output:
	// 25 <nil>
	// runs: 2 fired: 1 ratings: map[ann:25]
}
