package receipttest_test

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// ratings is a service of one's own: it adds the points of a match to its
// players, once a match.
type ratings struct {
	runner *settle.Runner[*receipttest.MemoryTx[int]]
	runs   int // of the callback
}

func newRatings(store receipt.Store[*receipttest.MemoryTx[int]]) (*ratings, error) {
	runner, err := settle.New(settle.Config[*receipttest.MemoryTx[int]]{Store: store})
	if err != nil {
		return nil, err
	}
	return &ratings{runner: runner}, nil
}

func (s *ratings) addWin(ctx context.Context, match, player string) (settle.Result[int], error) {
	sum, err := fingerprint.Parse("win/1:a3c0f6e5b1d24789a3c0f6e5b1d24789a3c0f6e5b1d24789a3c0f6e5b1d24789")
	if err != nil {
		return settle.Result[int]{}, err
	}
	return settle.Do(ctx, s.runner, settle.Request{
		Key:         receipt.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: match},
		Kind:        settle.Settled,
		Fingerprint: sum,
	}, func(_ context.Context, attempt *settle.Attempt[*receipttest.MemoryTx[int]]) (int, error) {
		s.runs++
		rating, _, err := attempt.Tx().Get(player)
		if err != nil {
			return 0, err
		}
		return rating + 25, attempt.Tx().Set(player, rating+25)
	})
}

// A service is tested on the fake as it is used on the real store.
func Example_service() {
	memory := &receipttest.Memory[int]{}
	fake, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, err := newRatings(fake)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // The sender delivers twice.
		result, err := service.addWin(context.Background(), "m-1", "ann")
		fmt.Println(result.Value, result.Replayed, err)
	}
	fmt.Println("receipts:", len(fake.Receipts()), "ratings:", memory.All())
	// Output:
	// 25 false <nil>
	// 25 true <nil>
	// receipts: 1 ratings: map[ann:25]
}
