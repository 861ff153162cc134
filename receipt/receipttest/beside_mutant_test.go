package receipttest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

func besideMutants() []mutant {
	return slices.Concat(readBesideMutants(), commitBesideMutants(), claimBesideMutants())
}

func readBesideMutants() []mutant {
	return []mutant{
		{"forgets the receipts beside", []string{"beside-read", "beside-after-wait", "beside-instead"}, breakBeside(
			func(receipt.Claim, []receipt.Receipt) []receipt.Receipt { return nil },
		)},
		{"gives the receipts beside backwards", []string{"beside-read"}, breakBeside(
			func(_ receipt.Claim, beside []receipt.Receipt) []receipt.Receipt {
				slices.Reverse(beside)
				return beside
			},
		)},
		{"leaves gaps in the receipts beside", []string{"beside-read", "beside-after-wait"}, breakBeside(
			func(claim receipt.Claim, beside []receipt.Receipt) []receipt.Receipt {
				return slices.Grow(beside, len(claim.Beside))[:len(claim.Beside)]
			},
		)},
		{"takes the newest receipts beside for the first", []string{"beside-read"}, openWithNewestBeside},
		{"reads the receipts beside before it waits", []string{"beside-after-wait"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				claim.Isolation = receipt.Serializable
				return b.store.Begin(ctx, claim)
			}
		})},
		{"decides on an old snapshot", []string{"beside-serializable"}, breakStore(func(b *brokenStore) {
			b.session = func(claim receipt.Claim, opened session) session {
				broken := &brokenSession{session: opened}
				broken.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					if err := opened.Rollback(ctx); err != nil {
						return receipt.Receipt{}, err
					}
					claim.Isolation = receipt.ReadCommitted
					fresh, err := b.store.Begin(ctx, claim)
					if err != nil {
						return receipt.Receipt{}, err
					}
					return fresh.Commit(ctx, r, events...)
				}
				return broken
			}
		})},
	}
}

// openWithNewestBeside returns a store that reads the newest receipts beside.
func openWithNewestBeside(tb testing.TB) subject {
	tb.Helper()
	return breakStore(func(b *brokenStore) {
		b.session = func(claim receipt.Claim, opened session) session {
			var newest []receipt.Receipt
			for _, key := range claim.Beside {
				history, err := b.store.History(tb.Context(), key)
				if err != nil {
					tb.Fatal(err)
				}
				newest = append(newest, history[max(0, len(history)-1):]...)
			}
			return &brokenSession{session: opened, beside: func() []receipt.Receipt { return newest }}
		}
	})(tb)
}

func commitBesideMutants() []mutant {
	return []mutant{
		{"loses the added receipts", []string{"beside-commit", "beside-instead"}, breakAdded(
			func(receipt.Claim, *receipt.Receipt, []receipt.Receipt) []receipt.Receipt { return nil },
		)},
		{"loses all but one of the added receipts", []string{"beside-commit"}, breakAdded(
			func(_ receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				return added[:min(1, len(added))]
			},
		)},
		{"commits the added receipts by themselves", []string{"beside-commit"}, breakStore(func(b *brokenStore) {
			b.session = func(_ receipt.Claim, opened session) session {
				return &brokenSession{session: opened, add: func(receipts []receipt.Receipt) {
					for _, r := range receipts {
						alone, err := b.store.Begin(context.Background(), receipt.Claim{Key: r.Key, Attempt: r.Attempt})
						if err == nil {
							_, _ = alone.Commit(context.Background(), r)
						}
					}
				}}
			}
		})},
		{"keeps the caller's slices until Commit", []string{"beside-commit"}, breakSession(func(_ receipt.Claim, b *brokenSession) {
			var added []receipt.Receipt
			b.add = func(receipts []receipt.Receipt) { added = append(added, receipts...) }
			b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
				b.session.Add(added...)
				return b.session.Commit(ctx, r, events...)
			}
		})},
		{"commits the claimed receipt whichever it is given", []string{"beside-instead"}, breakCommit(
			func(ctx context.Context, claim receipt.Claim, r *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				r.Key, r.Revision = claim.Key, claim.Revision
				return ctx, events
			},
		)},
		{"adds the claimed receipt to the one that it is given", []string{"beside-instead"}, breakAdded(
			func(claim receipt.Claim, given *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				if given.Key == claim.Key {
					return added
				}
				return append(added, validReceipt(claim))
			},
		)},
		{"leaves out what is taken", []string{"beside-taken"}, openThatLeavesOutTaken},
		{"gives receipts beside that are taken up for good", []string{"beside-taken"}, breakStore(func(b *brokenStore) {
			b.retryable = func(error) bool { return false }
		})},
		{"leaves out receipts that were not claimed", []string{"beside-receipts"}, breakAdded(
			func(claim receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				return slices.DeleteFunc(added, func(r receipt.Receipt) bool { return !slices.Contains(claim.Beside, r.Key) })
			},
		)},
		{"leaves out corrections of keys beside", []string{"beside-receipts"}, breakAdded(
			func(_ receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				return slices.DeleteFunc(added, func(r receipt.Receipt) bool { return r.Revision > 0 })
			},
		)},
		{"leaves out invalid receipts", []string{"beside-receipts"}, breakAdded(
			func(_ receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				return slices.DeleteFunc(added, func(r receipt.Receipt) bool { return r.Validate() != nil })
			},
		)},
		{"leaves out doubled receipts", []string{"beside-receipts"}, breakAdded(
			func(_ receipt.Claim, given *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				seen := map[receipt.Key]bool{given.Key: true}
				return slices.DeleteFunc(added, func(r receipt.Receipt) bool {
					doubled := seen[r.Key]
					seen[r.Key] = true
					return doubled
				})
			},
		)},
		{"takes added receipts for its own attempt's", []string{"beside-receipts"}, breakAdded(
			func(claim receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
				for i := range added {
					added[i].Attempt = claim.Attempt
				}
				return added
			},
		)},
	}
}

// openThatLeavesOutTaken returns a store that commits what is left where
// receipts beside are taken.
func openThatLeavesOutTaken(tb testing.TB) subject {
	tb.Helper()
	var s subject
	s = breakAdded(func(_ receipt.Claim, _ *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt {
		return slices.DeleteFunc(added, func(r receipt.Receipt) bool {
			taken, err := s.Store.History(tb.Context(), r.Key)
			return err != nil || len(taken) > 0
		})
	})(tb)
	return s
}

// claimBesideMutants accept claims that are wrong.
func claimBesideMutants() []mutant {
	mend := func(change func(*receipt.Claim)) func(testing.TB) subject {
		return breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				claim.Beside = slices.Clone(claim.Beside)
				change(&claim)
				return b.store.Begin(ctx, claim)
			}
		})
	}
	leaveOut := func(wrong func(claim *receipt.Claim, key receipt.Key) bool) func(testing.TB) subject {
		return mend(func(claim *receipt.Claim) {
			claim.Beside = slices.DeleteFunc(claim.Beside, func(key receipt.Key) bool { return wrong(claim, key) })
		})
	}
	return []mutant{
		{"leaves out invalid keys", []string{"beside-claim"}, leaveOut(
			func(_ *receipt.Claim, key receipt.Key) bool { return key.Validate() != nil },
		)},
		{"leaves out its own key", []string{"beside-claim"}, leaveOut(
			func(claim *receipt.Claim, key receipt.Key) bool { return key == claim.Key },
		)},
		{"leaves out another tenant's keys", []string{"beside-claim"}, leaveOut(
			func(claim *receipt.Claim, key receipt.Key) bool { return key.Tenant != claim.Key.Tenant },
		)},
		{"leaves out doubled keys", []string{"beside-claim"}, mend(func(claim *receipt.Claim) {
			seen := make(map[receipt.Key]bool)
			claim.Beside = slices.DeleteFunc(claim.Beside, func(key receipt.Key) bool {
				doubled := seen[key]
				seen[key] = true
				return doubled
			})
		})},
		{"leaves out keys beyond the last", []string{"beside-claim"}, mend(func(claim *receipt.Claim) {
			claim.Beside = claim.Beside[:min(receipt.MaxBeside, len(claim.Beside))]
		})},
		{"refuses as many keys as are allowed", []string{"beside-claim"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				if len(claim.Beside) >= receipt.MaxBeside {
					return nil, errors.New("too many keys beside")
				}
				return b.store.Begin(ctx, claim)
			}
		})},
		{"keeps the key of a claim that it refuses", []string{"beside-claim"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				opened, err := b.store.Begin(ctx, claim)
				if err != nil {
					claim.Beside = nil
					_, _ = b.store.Begin(ctx, claim)
				}
				return opened, err
			}
		})},
		{"locks the keys beside", []string{"beside-unlocked"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				for _, key := range claim.Beside {
					other := receipt.Claim{Key: key, Attempt: claim.Attempt, LockTimeout: claim.LockTimeout}
					if _, err := b.store.Begin(ctx, other); err != nil {
						return nil, err
					}
				}
				return b.store.Begin(ctx, claim)
			}
		})},
	}
}
