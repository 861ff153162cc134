package settle_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

func TestReplayIsTheSameReceipt(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	first, err := b.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.Replayed || !second.Replayed {
		t.Errorf("replayed = %v, then %v; want false, then true", first.Replayed, second.Replayed)
	}
	if diff := cmp.Diff(first.Receipt, second.Receipt); diff != "" {
		t.Errorf("receipt (-first +second):\n%s", diff)
	}
	if b.calls != 1 || b.hooks != 1 || b.onReceipt != 2 || b.onReplay != 1 {
		t.Errorf("%d calls, %d hooks, %d OnReceipt of which %d replays; want 1, 1, 2, 1", b.calls, b.hooks, b.onReceipt, b.onReplay)
	}
}

func TestConflictChangesNothing(t *testing.T) {
	t.Parallel()
	otherKind, otherContent, both := request(), request(), request()
	otherKind.Kind = settle.Aborted
	otherContent.Fingerprint = digest(1, "b")
	both.Kind, both.Fingerprint = settle.Voided, digest(1, "b")
	kindAndSchema := request()
	kindAndSchema.Kind, kindAndSchema.Fingerprint = settle.Aborted, digest(9, "b")
	rows := []struct {
		name              string
		request           settle.Request
		kind, fingerprint bool
	}{
		{"another kind", otherKind, true, false},
		{"another fingerprint", otherContent, false, true},
		{"both", both, true, true},
		{"another kind under a schema that cannot be compared", kindAndSchema, true, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			if _, err := b.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := settle.Do(t.Context(), b.runner, row.request, b.win)
			if errors.Is(err, receipt.ErrKindMismatch) != row.kind || errors.Is(err, receipt.ErrFingerprintMismatch) != row.fingerprint {
				t.Errorf("err = %v", err)
			}
			var conflict *receipt.ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("err = %v, want a ConflictError", err)
			}
			if conflict.Stored.Requested != settle.Settled || conflict.Requested != row.request.Kind {
				t.Errorf("conflict = %+v", conflict)
			}
			if b.calls != 1 || b.onReceipt != 1 || b.alice() != 10 {
				t.Errorf("%d calls, %d OnReceipt, rating %d; want 1, 1, 10", b.calls, b.onReceipt, b.alice())
			}
		})
	}
}

func TestConflictNamesTheFields(t *testing.T) {
	t.Parallel()
	type result struct{ Room, Winner string }
	schema := fingerprint.Schema{Name: "match.result", Version: 1}
	requestOf := func(content result) settle.Request {
		q := request()
		var err error
		if q.Canonical, err = fingerprint.Canonical(content); err != nil {
			t.Fatal(err)
		}
		if q.Fingerprint, err = fingerprint.Of(schema, content); err != nil {
			t.Fatal(err)
		}
		return q
	}
	b := newBench(t, nil)
	if _, err := settle.Do(t.Context(), b.runner, requestOf(result{"7", "alice"}), b.win); err != nil {
		t.Fatal(err)
	}
	_, err := settle.Do(t.Context(), b.runner, requestOf(result{"7", "bob"}), b.win)
	var conflict *receipt.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("err = %v, want a ConflictError", err)
	}
	if diff := cmp.Diff([]string{"$.Winner"}, conflict.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	foreign := requestOf(result{"7", "alice"})
	foreign.Canonical = []byte("another form")
	if _, err := settle.Do(t.Context(), b.runner, foreign, b.win); err == nil || !strings.Contains(err.Error(), "Canonical") {
		t.Errorf("err = %v, want one that names Canonical", err)
	}
}

func TestReceiptUnderAnotherSchemaVersion(t *testing.T) {
	t.Parallel()
	errUnknown := errors.New("not a version of mine")
	rows := []struct {
		name  string
		under func(fingerprint.Schema) (fingerprint.Digest, error)
		want  error
	}{
		{"no function", nil, receipt.ErrSchemaVersion},
		{"the function does not know it", func(fingerprint.Schema) (fingerprint.Digest, error) {
			return fingerprint.Digest{}, errUnknown
		}, receipt.ErrSchemaVersion},
		{"the function answers under another", func(fingerprint.Schema) (fingerprint.Digest, error) {
			return digest(2, "a"), nil
		}, receipt.ErrSchemaVersion},
		{"the same effect", func(fingerprint.Schema) (fingerprint.Digest, error) { return digest(1, "a"), nil }, nil},
		{"another effect", func(fingerprint.Schema) (fingerprint.Digest, error) {
			return digest(1, "b"), nil
		}, receipt.ErrFingerprintMismatch},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			if _, err := b.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			newer := request()
			newer.Fingerprint = digest(2, "a")
			newer.Under = row.under
			result, err := settle.Do(t.Context(), b.runner, newer, b.win)
			if row.want == nil && err != nil || !errors.Is(err, row.want) {
				t.Fatalf("err = %v, want %v", err, row.want)
			}
			if err == nil && !result.Replayed {
				t.Error("not replayed")
			}
		})
	}
}

func TestRequestErrorsNameEveryField(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	q := settle.Request{Key: receipt.Key{Tenant: "game", Scope: "ma\ntch"}, Kind: "won", OrderingKey: strings.Repeat("x", event.MaxOrderingKey+1)}
	_, err := settle.Do(t.Context(), b.runner, q, b.win)
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"scope", "operation", "id", "Kind", "Fingerprint", "OrderingKey"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error does not name %s: %v", name, err)
		}
	}
	if b.calls != 0 {
		t.Error("the callback ran")
	}
}

func TestConfigErrorsNameEveryField(t *testing.T) {
	t.Parallel()
	_, err := settle.New(settle.Config[ratingsTx]{
		Isolation: 7, LockTimeout: -1, CommitTimeout: -1, ResolveTimeout: -1, MaxAttempts: -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Store", "Isolation", "LockTimeout", "CommitTimeout", "ResolveTimeout", "MaxAttempts"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("error does not name %s: %v", field, err)
		}
	}
}

// TestCallbackThatDoesNotSucceed has one row a way to fail: nothing is left of
// any, and the key is free afterwards.
func TestCallbackThatDoesNotSucceed(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("own")
	rows := []struct {
		name   string
		want   error
		effect func(ctx context.Context, cancel context.CancelFunc, b *bench, a *attempt) error
	}{
		{"an error of its own", errOwn, func(context.Context, context.CancelFunc, *bench, *attempt) error { return errOwn }},
		{"a refusal", settle.ErrRefused, func(context.Context, context.CancelFunc, *bench, *attempt) error {
			return settle.Refuse("unknown-room", "room %d is not known", 7)
		}},
		{"a cancelled context that it ignores", context.Canceled, func(_ context.Context, cancel context.CancelFunc, _ *bench, _ *attempt) error {
			cancel()
			return nil
		}},
		{"an invalid event that it ignores", event.ErrInvalid, func(_ context.Context, _ context.CancelFunc, _ *bench, a *attempt) error {
			_ = a.Emit(event.Event{})
			return nil
		}},
		{"an event of another tenant that it ignores", event.ErrInvalid, func(_ context.Context, _ context.CancelFunc, _ *bench, a *attempt) error {
			foreign := settledEvent("alice")
			foreign.Key.Tenant = "rival"
			_ = a.Emit(foreign)
			return nil
		}},
		{"a nested call", receipt.ErrNested, func(ctx context.Context, _ context.CancelFunc, b *bench, _ *attempt) error {
			other := request()
			other.Key.ID = "8"
			_, err := settle.Do(ctx, b.runner, other, b.win)
			return err
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result, err := settle.Do(ctx, b.runner, request(), func(ctx context.Context, a *attempt) (int, error) {
				if _, err := b.win(ctx, a); err != nil {
					return 0, err
				}
				return 0, row.effect(ctx, cancel, b, a)
			})
			if !errors.Is(err, row.want) || result.Receipt.Attempt != "" {
				t.Errorf("err = %v and receipt %+v, want %v and none", err, result.Receipt, row.want)
			}
			checkNothingLeft(t, b)
		})
	}
}

// checkNothingLeft checks that the one attempt so far left nothing, and that
// the key can be settled now.
func checkNothingLeft(t *testing.T, b *bench) {
	t.Helper()
	if b.alice() != 0 || len(b.fake.Events()) != 0 || len(b.fake.Receipts()) != 0 || b.hooks != 0 || b.onReceipt != 0 {
		t.Errorf("left: rating %d, %d events, %d receipts, %d hooks, %d OnReceipt",
			b.alice(), len(b.fake.Events()), len(b.fake.Receipts()), b.hooks, b.onReceipt)
	}
	if result, err := b.do(t.Context()); err != nil || result.Replayed || b.alice() != 10 {
		t.Errorf("afterwards: %+v, %v, rating %d", result, err, b.alice())
	}
}

func TestPanicGoesOnItsWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	func() {
		defer func() {
			if cause := recover(); cause != "boom" {
				t.Errorf("recovered %v, want boom", cause)
			}
		}()
		_, _ = settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (int, error) {
			_, _ = b.win(ctx, a)
			panic("boom")
		})
	}()
	checkNothingLeft(t, b)
}

func TestCallbackThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (int, error) {
			_, _ = b.win(ctx, a)
			runtime.Goexit()
			return 0, nil
		})
		t.Error("Do returned")
	}()
	<-done
	checkNothingLeft(t, b)
}

func TestHandleKeptByTheCallback(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var kept *attempt
	if _, err := settle.Do(t.Context(), b.runner, request(), func(_ context.Context, a *attempt) (int, error) {
		kept = a
		return 1, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := kept.Emit(settledEvent("alice")); err == nil {
		t.Error("Emit took an event after the callback had returned")
	}
	kept.AfterCommit(func(context.Context) { t.Error("the hook ran") })
	if err := kept.Tx().Set("alice", 99); !errors.Is(err, receipttest.ErrTxEnded) {
		t.Errorf("Set = %v, want ErrTxEnded", err)
	}
	if b.alice() != 0 || len(b.fake.Events()) != 0 {
		t.Error("the kept handle changed something")
	}
}

// What the caller does later to the slices that it gave or got changes neither
// the event nor the answer of another.
func TestNoMemoryIsShared(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *settle.Config[ratingsTx]) {
		c.OnReceipt = func(_ context.Context, r receipt.Receipt, _ bool) error {
			clear(r.Value)
			return nil
		}
	})
	emitted := settledEvent("alice")
	want := emitted.Clone()
	first, err := settle.Do(t.Context(), b.runner, request(), func(_ context.Context, a *attempt) (int, error) {
		err := a.Emit(emitted)
		clear(emitted.Data)
		return 10, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]event.Event{want}, b.fake.Events()); diff != "" {
		t.Errorf("event (-emitted +committed):\n%s", diff)
	}
	if got := string(first.Receipt.Value); got != "10" {
		t.Errorf("OnReceipt changed the value of Do's receipt into %q", got)
	}
}

func TestHooksRunInOrderEachOnItsOwn(t *testing.T) {
	t.Parallel()
	var order []string
	b := newBench(t, func(c *settle.Config[ratingsTx]) {
		c.OnReceipt = func(context.Context, receipt.Receipt, bool) error {
			order = append(order, "receipt")
			return nil
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := settle.Do(ctx, b.runner, request(), func(_ context.Context, a *attempt) (int, error) {
		a.AfterCommit(func(context.Context) { order = append(order, "first"); cancel() })
		a.AfterCommit(func(context.Context) { panic("boom") })
		a.AfterCommit(func(ctx context.Context) { order = append(order, fmt.Sprintf("third, context %v", ctx.Err())) })
		a.AfterCommit(func(ctx context.Context) {
			// The flight has ended: this is a replay and not a deadlock.
			_, err := settle.Do(ctx, b.runner, request(), b.win)
			order = append(order, fmt.Sprintf("fourth, replay %v", err))
		})
		return 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"first", "third, context <nil>", "receipt", "fourth, replay <nil>", "receipt"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestHookThatEndsItsGoroutineKeepsNoOtherFromRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var ran []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = settle.Do(t.Context(), b.runner, request(), func(_ context.Context, a *attempt) (int, error) {
			a.AfterCommit(func(context.Context) { runtime.Goexit() })
			a.AfterCommit(func(context.Context) { ran = append(ran, "second") })
			return 1, nil
		})
	}()
	<-done
	if diff := cmp.Diff([]string{"second"}, ran); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	// No answer was given, so the sender sends again.
	if result, err := b.do(t.Context()); err != nil || !result.Replayed || b.onReplay != 1 {
		t.Errorf("sent again: %+v, %v, %d replays", result, err, b.onReplay)
	}
}

func TestWithheldProof(t *testing.T) {
	t.Parallel()
	errBusy := errors.New("the room cannot be freed yet")
	rows := map[string]func() error{
		"an error": func() error { return errBusy },
		"a panic":  func() error { panic(errBusy) },
	}
	for name, fail := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failing := true
			b := newBench(t, func(c *settle.Config[ratingsTx]) {
				c.OnReceipt = func(context.Context, receipt.Receipt, bool) error {
					if failing {
						return fail()
					}
					return nil
				}
			})
			for _, replayed := range []bool{false, true} {
				result, err := b.do(t.Context())
				if !errors.Is(err, receipt.ErrWithheld) || errors.Is(err, receipt.ErrNotCommitted) {
					t.Errorf("err = %v, want ErrWithheld", err)
				}
				if result.Value != 10 || result.Replayed != replayed || result.Receipt.Attempt == "" {
					t.Errorf("result = %+v", result)
				}
			}
			failing = false
			if result, err := b.do(t.Context()); err != nil || !result.Replayed || b.alice() != 10 {
				t.Errorf("afterwards: %+v, %v, rating %d", result, err, b.alice())
			}
		})
	}
}

func TestValueThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	_, err := settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (chan int, error) {
		_, err := b.win(ctx, a)
		return nil, err
	})
	if !errors.Is(err, settle.ErrValue) {
		t.Errorf("err = %v, want ErrValue", err)
	}
	checkNothingLeft(t, b)
}

func TestStoredValueOfAnotherType(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	if _, err := b.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	result, err := settle.Do(t.Context(), b.runner, request(), func(context.Context, *attempt) (string, error) {
		return "", errors.New("must not run")
	})
	if !errors.Is(err, settle.ErrValue) || result.Receipt.Attempt == "" {
		t.Errorf("err = %v with receipt %+v, want ErrValue with the receipt", err, result.Receipt)
	}
}

func TestGivesUpAfterMaxAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *settle.Config[ratingsTx]) { c.MaxAttempts = 3 },
		receipttest.RerunCallback, receipttest.RerunCallback, receipttest.RerunCallback, receipttest.RerunCallback)
	_, err := b.do(t.Context())
	if !errors.Is(err, receipt.ErrNotCommitted) || !errors.Is(err, receipttest.ErrSerialization) {
		t.Errorf("err = %v, want ErrNotCommitted and its cause", err)
	}
	if b.calls != 3 || b.alice() != 0 {
		t.Errorf("%d calls, rating %d; want 3, 0", b.calls, b.alice())
	}
}

func TestEveryAttemptHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, receipttest.RerunCallback, receipttest.UnknownThenNotFound)
	var ids []string
	result, err := settle.Do(t.Context(), b.runner, request(), func(_ context.Context, a *attempt) (int, error) {
		if a.Number() != len(ids)+1 {
			t.Errorf("number = %d in run %d", a.Number(), len(ids)+1)
		}
		ids = append(ids, a.ID())
		return 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 3 || ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Errorf("ids = %v, want three different ones", ids)
	}
	if result.Receipt.Attempt != ids[2] {
		t.Errorf("the receipt names %s, want %s", result.Receipt.Attempt, ids[2])
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	if _, err := b.runner.Lookup(t.Context(), key()); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("err = %v, want ErrNotFound", err)
	}
	if _, err := b.runner.Lookup(t.Context(), receipt.Key{}); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("err = %v, want ErrInvalid", err)
	}
	result, err := b.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.runner.Lookup(t.Context(), key())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.Receipt, found); diff != "" {
		t.Errorf("receipt (-done +found):\n%s", diff)
	}
}
