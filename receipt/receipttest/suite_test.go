package receipttest_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

type memoryTx = *receipttest.MemoryTx[int]

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	receipttest.TestStore(t, openFake)
}

// repository is what a caller makes of a transaction.
type repository struct{ tx memoryTx }

// A mapped store keeps the contract of the one that it maps.
func TestMappedFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	receipttest.TestStore(t, func(tb testing.TB) receipttest.Subject[repository] {
		tb.Helper()
		subject := openFake(tb)
		return receipttest.Subject[repository]{
			Store: receipt.Map(subject.Store, func(tx memoryTx) repository { return repository{tx} }),
			Write: func(ctx context.Context, repo repository, mark string) error {
				return subject.Write(ctx, repo.tx, mark)
			},
			Written: subject.Written,
			Emitted: subject.Emitted,
		}
	})
}

func openFake(tb testing.TB) receipttest.Subject[memoryTx] {
	tb.Helper()
	memory := &receipttest.Memory[int]{}
	fake, err := receipttest.New(receipttest.Config[memoryTx]{World: memory})
	if err != nil {
		tb.Fatal(err)
	}
	return subjectOf(fake, memory)
}

func subjectOf(fake *receipttest.Fake[memoryTx], memory *receipttest.Memory[int]) receipttest.Subject[memoryTx] {
	return receipttest.Subject[memoryTx]{
		Store: fake,
		Write: func(_ context.Context, tx memoryTx, mark string) error { return tx.Set(mark, 1) },
		Written: func(context.Context) ([]string, error) {
			return slices.Collect(maps.Keys(memory.All())), nil
		},
		Emitted: func(context.Context) ([]string, error) {
			var ids []string
			for _, e := range fake.Events() {
				ids = append(ids, e.ID)
			}
			return ids, nil
		},
	}
}
