package settle_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// Ratings is what the effect needs of its database. In production it wraps a
// pgx.Tx, in tests the transaction of a fake.
type Ratings interface {
	Rating(ctx context.Context, player string) (int, error)
	SetRating(ctx context.Context, player string, rating int) error
}

// memoryRatings is the one for tests.
type memoryRatings struct{ tx *receipttest.MemoryTx[int] }

func (r memoryRatings) Rating(_ context.Context, player string) (int, error) {
	rating, _, err := r.tx.Get(player)
	return rating, err
}

func (r memoryRatings) SetRating(_ context.Context, player string, rating int) error {
	return r.tx.Set(player, rating)
}

// newRunner returns a runner whose callbacks get Ratings. With a pgstore.Store
// in place of the fake it is the one for production.
func newRunner(memory *receipttest.Memory[int]) (*settle.Runner[Ratings], error) {
	fake, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: memory})
	if err != nil {
		return nil, err
	}
	return settle.New(settle.Config[Ratings]{
		Store: receipt.Map(fake, func(tx *receipttest.MemoryTx[int]) Ratings { return memoryRatings{tx} }),
	})
}

// Match is what changes the effect, and so what is fingerprinted.
type Match struct {
	Room   string
	Winner string
}

func matchRequest(winner string) settle.Request {
	match := Match{Room: "0199", Winner: winner}
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "match.result", Version: 1}, match)
	if err != nil {
		panic(err)
	}
	canonical, err := fingerprint.Canonical(match)
	if err != nil {
		panic(err)
	}
	return settle.Request{
		Key:         receipt.Key{Tenant: "game", Scope: "match", Operation: "settle", ID: match.Room},
		Kind:        settle.Settled,
		Fingerprint: sum,
		Canonical:   canonical, // optional: lets a conflict name the fields
	}
}

// A result that is delivered twice takes effect once.
func ExampleDo() {
	memory := new(receipttest.Memory[int])
	runner, err := newRunner(memory)
	if err != nil {
		panic(err)
	}
	for range 2 {
		result, err := settle.Do(context.Background(), runner, matchRequest("alice"),
			func(ctx context.Context, a *settle.Attempt[Ratings]) (int, error) {
				rating, err := a.Tx().Rating(ctx, "alice")
				if err != nil {
					return 0, err
				}
				return rating + 16, a.Tx().SetRating(ctx, "alice", rating+16)
			})
		if err != nil {
			panic(err)
		}
		fmt.Printf("rating %d, replayed %t\n", result.Value, result.Replayed)
	}
	rating, _ := memory.Get("alice")
	fmt.Println("stored:", rating)
	// Output:
	// rating 16, replayed false
	// rating 16, replayed true
	// stored: 16
}

// The same key with another content is a conflict, and changes nothing.
func ExampleDo_conflict() {
	runner, err := newRunner(new(receipttest.Memory[int]))
	if err != nil {
		panic(err)
	}
	for _, winner := range []string{"alice", "bob"} {
		_, err := settle.Do(context.Background(), runner, matchRequest(winner),
			func(ctx context.Context, a *settle.Attempt[Ratings]) (struct{}, error) {
				return struct{}{}, a.Tx().SetRating(ctx, winner, 16)
			})
		var conflict *receipt.ConflictError
		if errors.As(err, &conflict) {
			fmt.Println(winner, "conflicts in", conflict.Paths)
		}
	}
	// Output:
	// bob conflicts in [$.Winner]
}

// A fact that will never be settled is refused, which leaves no receipt.
func ExampleRefuse() {
	runner, err := newRunner(new(receipttest.Memory[int]))
	if err != nil {
		panic(err)
	}
	_, err = settle.Do(context.Background(), runner, matchRequest("alice"),
		func(context.Context, *settle.Attempt[Ratings]) (struct{}, error) {
			return struct{}{}, settle.Refuse("unknown-room", "no room %s is known here", "0199")
		})
	fmt.Println(errors.Is(err, settle.ErrRefused))
	var refused *settle.RefusedError
	if errors.As(err, &refused) {
		fmt.Printf("%s: %s\n", refused.Code, refused.Detail)
	}
	_, err = runner.Lookup(context.Background(), matchRequest("alice").Key)
	fmt.Println("receipt:", errors.Is(err, receipt.ErrNotFound))
	// Output:
	// true
	// unknown-room: no room 0199 is known here
	// receipt: true
}

// What must happen after the commit, even if the process dies in between,
// belongs in OnReceipt: a duplicate runs it again. It compares and clears.
func ExampleConfig_onReceipt() {
	room := map[string]string{"alice": "0199", "bob": "0200"}
	fake, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: new(receipttest.Memory[int])})
	if err != nil {
		panic(err)
	}
	runner, err := settle.New(settle.Config[*receipttest.MemoryTx[int]]{
		Store: fake,
		OnReceipt: func(_ context.Context, r receipt.Receipt, replayed bool) error {
			freed := 0
			for player, current := range room {
				if current == r.Key.ID { // bob plays another match already
					delete(room, player)
					freed++
				}
			}
			fmt.Printf("freed %d, replayed %t\n", freed, replayed)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		_, err := settle.Do(context.Background(), runner, matchRequest("alice"),
			func(context.Context, *settle.Attempt[*receipttest.MemoryTx[int]]) (struct{}, error) {
				return struct{}{}, nil
			})
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// freed 1, replayed false
	// freed 0, replayed true
}
