package receipttest_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// mutant is a store with one fault, and the cases that must catch it.
type mutant struct {
	name   string
	caught []string
	open   func(testing.TB) subject
}

func TestSuiteCatches(t *testing.T) {
	t.Parallel()
	mutants := slices.Concat(effectMutants(), receiptMutants(), commitMutants(), endMutants(), waitMutants(), keyMutants(), besideMutants())
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			failing := receipttest.FailingCases(t, m.caught, m.open)
			for _, name := range m.caught {
				if failing[name] == nil {
					t.Errorf("case %q did not catch a store that %s", name, m.name)
				}
			}
		})
	}
	caught := make(map[string]bool)
	for _, m := range mutants {
		for _, name := range m.caught {
			caught[name] = true
		}
	}
	for _, name := range receipttest.CaseNames() {
		if !caught[name] {
			t.Errorf("no mutant shows that case %q can fail", name)
		}
	}
}

// The wrappers that break stores break nothing by themselves.
func TestSuiteAcceptsUnbrokenWrappers(t *testing.T) {
	t.Parallel()
	unbroken := breakSession(func(receipt.Claim, *brokenSession) {})
	exact := breakKeys(func(key receipt.Key) string {
		text, _ := key.AppendBinary(nil)
		return string(text)
	})
	for name, open := range map[string]func(testing.TB) subject{"wrapped": unbroken, "renamed": exact} {
		for failing, printed := range receipttest.FailingCases(t, receipttest.CaseNames(), open) {
			if name == "renamed" && failing == "beside-claim" {
				continue // a store that renames cannot tell a wrong key from a good one
			}
			t.Errorf("%s: case %q failed: %s", name, failing, strings.Join(printed, "\n"))
		}
	}
}

// A case that fails says what it demands.
func TestSuiteExplains(t *testing.T) {
	t.Parallel()
	failing := receipttest.FailingCases(t, []string{"retryable"}, breakStore(func(b *brokenStore) {
		b.retryable = func(error) bool { return true }
	}))
	if printed := strings.Join(failing["retryable"], "\n"); !strings.Contains(printed, "this case demands: Retryable is false") {
		t.Errorf("the failing case printed %q", printed)
	}
}

func TestSuiteWantsWholeSubject(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(*subject){
		"Store":   func(s *subject) { s.Store = nil },
		"Write":   func(s *subject) { s.Write = nil },
		"Written": func(s *subject) { s.Written = nil },
		"Emitted": func(s *subject) { s.Emitted = nil },
	} {
		failing := receipttest.FailingCases(t, []string{"commit"}, breakSubject(drop))
		if len(failing) == 0 {
			t.Errorf("a subject without %s passed", name)
		}
	}
}

func effectMutants() []mutant {
	return []mutant{
		{"loses effects", []string{"commit", "after-commit", "duplicates-serializable"}, breakWorld(func(w *world) {
			w.commit = func(tx memoryTx) error { w.Memory.Rollback(tx); return nil }
		})},
		{
			"keeps effects of what was rolled back",
			[]string{"rollback", "rollback-cancelled", "commit-cancelled", "invalid-receipt", "second-receipt", "after-rollback", "after-failed-commit"},
			breakWorld(func(w *world) {
				w.rollback = func(tx memoryTx) { _ = w.Memory.Commit(tx) }
			}),
		},
		{"commits effects twice", []string{"commit"}, breakSubject(func(s *subject) {
			written := s.Written
			s.Written = func(ctx context.Context) ([]string, error) {
				marks, err := written(ctx)
				return append(marks, marks...), err
			}
		})},
		{"loses events", []string{"commit", "event-order"}, breakCommit(
			func(ctx context.Context, _ receipt.Claim, _ *receipt.Receipt, _ []event.Event) (context.Context, []event.Event) {
				return ctx, nil
			},
		)},
		{"reverses events", []string{"event-order"}, breakCommit(
			func(ctx context.Context, _ receipt.Claim, _ *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				slices.Reverse(events)
				return ctx, events
			},
		)},
		{"loses the receipt", []string{"commit", "second-receipt", "wait-for-commit", "duplicates-read-committed"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				b.commit = func(ctx context.Context, r receipt.Receipt, _ []event.Event) (receipt.Receipt, error) {
					return r, b.session.Rollback(ctx)
				}
			},
		)},
		{"writes a receipt when it only looks", []string{"look", "wait-for-rollback"}, breakSession(
			func(claim receipt.Claim, b *brokenSession) {
				b.rollback = func(ctx context.Context) error {
					_, _ = b.session.Commit(ctx, validReceipt(claim))
					return nil
				}
			},
		)},
	}
}

func receiptMutants() []mutant {
	return []mutant{
		{"changes white space in values", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) { r.Value = bytes.TrimSpace(r.Value) })},
		{"takes empty for absent", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) {
			if len(r.Value) == 0 {
				r.Value = nil
			}
		})},
		{"cuts values at NUL", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) { r.Value, _, _ = bytes.Cut(r.Value, []byte{0}) })},
		{"drops the canonical form", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) { r.Canonical = nil })},
		{"invents a canonical form", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) {
			if r.Canonical == nil {
				r.Canonical = []byte{}
			}
		})},
		{"drops the ordering key", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) { r.OrderingKey = "" })},
		{"takes the outcome for the request", []string{"bytes"}, breakReceipts(func(r *receipt.Receipt) { r.Requested = r.Outcome })},
		{"keeps nanoseconds", []string{"recorded-at"}, breakReceipts(func(r *receipt.Receipt) { r.RecordedAt = r.RecordedAt.Add(1) })},
		{"answers in local time", []string{"recorded-at"}, breakReceipts(func(r *receipt.Receipt) {
			r.RecordedAt = r.RecordedAt.In(time.FixedZone("CET", 3600))
		})},
		{"believes the caller's clock", []string{"recorded-at"}, breakSession(func(_ receipt.Claim, b *brokenSession) {
			b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
				stored, err := b.session.Commit(ctx, r, events...)
				stored.RecordedAt = r.RecordedAt
				return stored, err
			}
		})},
		{"hands out its own slices", []string{"no-shared-memory"}, openWithCache},
		{"takes the newest for the claimed", []string{"revisions"}, breakPrior(func(_, newest *receipt.Receipt) (a, b *receipt.Receipt) { return newest, newest })},
		{"takes the claimed for the newest", []string{"revisions"}, breakPrior(func(claimed, _ *receipt.Receipt) (a, b *receipt.Receipt) { return claimed, claimed })},
		{"gives the history backwards", []string{"revisions"}, breakStore(func(b *brokenStore) {
			b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
				found, err := b.store.History(ctx, keys...)
				slices.Reverse(found)
				return found, err
			}
		})},
		{"gives the history of the first key only", []string{"histories"}, breakHistory(
			func(ctx context.Context, good store, keys []receipt.Key) ([]receipt.Receipt, error) {
				return good.History(ctx, keys[:min(1, len(keys))]...)
			},
		)},
		{"gives histories in the order of the revisions", []string{"histories"}, breakHistory(
			func(ctx context.Context, good store, keys []receipt.Key) ([]receipt.Receipt, error) {
				found, err := good.History(ctx, keys...)
				slices.SortStableFunc(found, func(a, b receipt.Receipt) int { return a.Revision - b.Revision })
				return found, err
			},
		)},
		{"gives histories in an order of its own", []string{"histories"}, breakHistory(
			func(ctx context.Context, good store, keys []receipt.Key) ([]receipt.Receipt, error) {
				keys = slices.Clone(keys)
				slices.SortFunc(keys, func(a, b receipt.Key) int { return strings.Compare(a.ID, b.ID) })
				return good.History(ctx, keys...)
			},
		)},
		{"takes no key for all keys", []string{"histories"}, breakHistory(
			func(ctx context.Context, good store, keys []receipt.Key) ([]receipt.Receipt, error) {
				if len(keys) == 0 {
					return []receipt.Receipt{{}}, nil
				}
				return good.History(ctx, keys...)
			},
		)},
		{"looks at the clock before it waits", []string{"began-at"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				early := time.Now().UTC().Truncate(time.Microsecond)
				opened, err := b.store.Begin(ctx, claim)
				if err != nil {
					return nil, err
				}
				return &brokenSession{session: opened, beganAt: func() time.Time { return early }}, nil
			}
		})},
		{"began in local time", []string{"began-at"}, breakBeganAt(func(at time.Time) time.Time {
			return at.In(time.FixedZone("CET", 3600))
		})},
		{"began in the middle of a microsecond", []string{"began-at"}, breakBeganAt(func(at time.Time) time.Time { return at.Add(1) })},
		{"began in the future", []string{"began-at"}, breakBeganAt(func(at time.Time) time.Time { return at.Add(time.Hour) })},
		{"lets each session begin before the last one", []string{"began-at"}, breakStore(func(b *brokenStore) {
			var begun atomic.Int64
			b.session = func(_ receipt.Claim, opened session) session {
				at := opened.BeganAt().Add(time.Hour - time.Duration(begun.Add(1))*time.Minute)
				return &brokenSession{session: opened, beganAt: func() time.Time { return at }}
			}
		})},
		{"locks the key to read its history", []string{"history"}, breakStore(func(b *brokenStore) {
			b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
				locked, err := b.store.Begin(ctx, receipt.Claim{Key: keys[0], Attempt: receipt.NewID()})
				if err != nil {
					return nil, err
				}
				if err := locked.Rollback(ctx); err != nil {
					return nil, err
				}
				return b.store.History(ctx, keys...)
			}
		})},
	}
}

func commitMutants() []mutant {
	return []mutant{
		{"mends invalid receipts", []string{"invalid-receipt"}, breakCommit(
			func(ctx context.Context, claim receipt.Claim, r *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				if r.Validate() != nil {
					*r = validReceipt(claim)
				}
				return ctx, events
			},
		)},
		{"does not compare receipt and claim", []string{"foreign-receipt"}, breakCommit(
			func(ctx context.Context, claim receipt.Claim, r *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				r.Key, r.Revision, r.Attempt = claim.Key, claim.Revision, claim.Attempt
				return ctx, events
			},
		)},
		{"leaves invalid events out", []string{"invalid-event"}, breakCommit(
			func(ctx context.Context, _ receipt.Claim, _ *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				return ctx, slices.DeleteFunc(events, func(e event.Event) bool { return e.Validate() != nil })
			},
		)},
		{"commits for a caller that is gone", []string{"commit-cancelled"}, breakCommit(
			func(ctx context.Context, _ receipt.Claim, _ *receipt.Receipt, events []event.Event) (context.Context, []event.Event) {
				return context.WithoutCancel(ctx), events
			},
		)},
		{"calls a commit that it never sent unknown", []string{"commit-cancelled"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					stored, err := b.session.Commit(ctx, r, events...)
					if err != nil {
						err = receipt.ErrOutcomeUnknown
					}
					return stored, err
				}
			},
		)},
		{"calls a second receipt a success", []string{"second-receipt"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					stored, err := b.session.Commit(ctx, r, events...)
					if errors.Is(err, receipttest.ErrDuplicate) {
						return r, nil
					}
					return stored, err
				}
			},
		)},
		{"gives duplicates up for good", []string{"second-receipt"}, breakStore(func(b *brokenStore) {
			b.retryable = func(error) bool { return false }
		})},
		{"sees through no wrapping", []string{"second-receipt"}, breakStore(func(b *brokenStore) {
			b.retryable = func(err error) bool {
				return err != nil && strings.HasPrefix(err.Error(), "receipttest: commit")
			}
		})},
		{"tries everything again", []string{"retryable"}, breakStore(func(b *brokenStore) {
			b.retryable = func(error) bool { return true }
		})},
	}
}

func endMutants() []mutant {
	return []mutant{
		{"leaves the transaction usable", []string{"after-commit", "after-rollback", "after-failed-commit"}, breakSubject(
			func(s *subject) {
				write := s.Write
				s.Write = func(ctx context.Context, tx memoryTx, mark string) error {
					if err := write(ctx, tx, mark); !errors.Is(err, receipttest.ErrTxEnded) {
						return err
					}
					return nil
				}
			},
		)},
		{"commits again after the end", []string{"after-rollback", "after-failed-commit"}, breakStore(func(b *brokenStore) {
			b.session = func(claim receipt.Claim, opened session) session {
				broken := &brokenSession{session: opened}
				broken.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					stored, err := broken.session.Commit(ctx, r, events...)
					if !errors.Is(err, receipttest.ErrSessionEnded) {
						return stored, err
					}
					again, err := b.store.Begin(ctx, claim)
					if err != nil {
						return receipt.Receipt{}, err
					}
					return again.Commit(ctx, r, events...)
				}
				return broken
			}
		})},
		{"fails a rollback after the end", []string{"after-commit", "after-rollback"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				ended := false
				b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					ended = true
					return b.session.Commit(ctx, r, events...)
				}
				b.rollback = func(ctx context.Context) error {
					if ended {
						return errors.New("the session has ended")
					}
					ended = true
					return b.session.Rollback(ctx)
				}
			},
		)},
		{"keeps the key after a rollback", []string{"rollback", "look", "wait-for-rollback"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				b.rollback = func(context.Context) error { return nil }
			},
		)},
		{"rolls nothing back for a caller that is gone", []string{"rollback-cancelled"}, breakSession(
			func(_ receipt.Claim, b *brokenSession) {
				b.rollback = func(ctx context.Context) error {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					return b.session.Rollback(ctx)
				}
			},
		)},
	}
}

func waitMutants() []mutant {
	return []mutant{
		{
			"takes the key at the commit only",
			[]string{"lock-timeout", "wait-for-commit", "wait-for-rollback", "wait-cancelled"},
			openWithoutLock,
		},
		{"makes all keys wait", []string{"keys-apart", "joined-keys"}, openWithOneLock},
		{"calls a key in flight an error of its own", []string{"lock-timeout"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				opened, err := b.store.Begin(ctx, claim)
				if err != nil {
					return nil, errors.New("55P03")
				}
				return opened, nil
			}
		})},
		{"does not wait at all", []string{"wait-for-commit", "wait-for-rollback"}, breakStore(
			func(b *brokenStore) {
				b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
					claim.LockTimeout = time.Nanosecond
					return b.store.Begin(ctx, claim)
				}
			},
		)},
		{"waits on for a caller that is gone", []string{"wait-cancelled"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				return b.store.Begin(context.WithoutCancel(ctx), claim)
			}
		})},
		{"takes the key after it gave up waiting", []string{"lock-timeout", "wait-cancelled"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				opened, err := b.store.Begin(ctx, claim)
				if err != nil {
					claim.LockTimeout = time.Hour
					go func() { _, _ = b.store.Begin(context.WithoutCancel(ctx), claim) }()
					synctest.Wait() // until it waits for the key
				}
				return opened, err
			}
		})},
		{"reads the prior before it waits", []string{"wait-for-commit"}, breakStore(func(b *brokenStore) {
			b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
				claim.Isolation = receipt.Serializable
				return b.store.Begin(ctx, claim)
			}
		})},
	}
}

func keyMutants() []mutant {
	joined := func(separator string) func(testing.TB) subject {
		return breakKeys(func(k receipt.Key) string {
			return strings.Join([]string{k.Tenant, k.Scope, k.Operation, k.ID}, separator)
		})
	}
	return []mutant{
		{"joins keys with nothing", []string{"joined-keys"}, joined("")},
		{"joins keys with slashes", []string{"joined-keys"}, joined("/")},
		{"joins keys with colons", []string{"joined-keys"}, joined(":")},
		{"joins keys with underscores", []string{"joined-keys"}, joined("_")},
		{"forgets the tenant", []string{"similar-keys"}, breakKeys(func(k receipt.Key) string {
			k.Tenant = "t"
			return k.String()
		})},
		{"forgets letter case", []string{"similar-keys"}, breakKeys(func(k receipt.Key) string { return strings.ToLower(k.String()) })},
		{"trims keys", []string{"similar-keys"}, breakKeys(func(k receipt.Key) string {
			k.Tenant = strings.TrimSpace(k.Tenant)
			return k.String()
		})},
		{"cuts long keys", []string{"long-keys"}, breakKeys(func(k receipt.Key) string { return k.String()[:min(200, len(k.String()))] })},
	}
}
