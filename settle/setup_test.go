package settle_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

type (
	ratingsTx = *receipttest.MemoryTx[int]
	attempt   = settle.Attempt[ratingsTx]
)

// bench is a runner on a fake, with counts of what ran.
type bench struct {
	memory *receipttest.Memory[int]
	fake   *receipttest.Fake[ratingsTx]
	runner *settle.Runner[ratingsTx]

	calls, hooks, onReceipt, onReplay int
}

// newBench returns a bench whose fake meets faults. configure may be nil.
func newBench(t *testing.T, configure func(*settle.Config[ratingsTx]), faults ...receipttest.Fault) *bench {
	t.Helper()
	b := &bench{memory: new(receipttest.Memory[int])}
	fake, err := receipttest.New(receipttest.Config[ratingsTx]{World: b.memory, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	b.fake = fake
	config := settle.Config[ratingsTx]{
		Store: fake,
		OnReceipt: func(_ context.Context, _ receipt.Receipt, replayed bool) error {
			b.onReceipt++
			if replayed {
				b.onReplay++
			}
			return nil
		},
	}
	if configure != nil {
		configure(&config)
	}
	if b.runner, err = settle.New(config); err != nil {
		t.Fatal(err)
	}
	return b
}

// win is the effect of the tests: the rating rises by 10, one event, one hook.
func (b *bench) win(_ context.Context, a *attempt) (rating int, err error) {
	b.calls++
	rating, _, err = a.Tx().Get("alice")
	if err != nil {
		return 0, err
	}
	a.AfterCommit(func(context.Context) { b.hooks++ })
	if err := a.Emit(settledEvent("alice")); err != nil {
		return 0, err
	}
	return rating + 10, a.Tx().Set("alice", rating+10)
}

func (b *bench) do(ctx context.Context) (settle.Result[int], error) {
	return settle.Do(ctx, b.runner, request(), b.win)
}

// alice returns the committed rating.
func (b *bench) alice() int {
	rating, _ := b.memory.Get("alice")
	return rating
}

func key() receipt.Key {
	return receipt.Key{Tenant: "game", Scope: "match", Operation: "settle", ID: "7"}
}

func request() settle.Request {
	return settle.Request{Key: key(), Kind: settle.Settled, Fingerprint: digest(1, "a")}
}

// digest returns the digest of content under version of the tests' schema.
func digest(version int, content string) fingerprint.Digest {
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "match.result", Version: version}, content)
	if err != nil {
		panic(err)
	}
	return sum
}

func settledEvent(player string) event.Event {
	data, err := json.Marshal(map[string]string{"player": player})
	if err != nil {
		panic(err)
	}
	return event.Event{
		ID:          "rating-" + player,
		Source:      "/lobby",
		Type:        "rating.changed",
		Time:        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Data:        data,
		Key:         receipt.Key{Tenant: "game", Scope: "rating", Operation: "publish", ID: player},
		Fingerprint: digest(1, player),
	}
}
