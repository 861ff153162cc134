package receipttest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// sentinels are the errors that a fault's error may or may not be.
var sentinels = []error{
	receipt.ErrNotCommitted, receipt.ErrOutcomeUnknown, receipt.ErrTransactionEnded, receipt.ErrInFlight,
	receipttest.ErrInjected, receipttest.ErrSerialization, receipttest.ErrDuplicate, receipttest.ErrSessionEnded,
}

// state is what is committed of one attempt.
type state struct {
	receipts, beside, effects, events int
}

// finding is what the next Begin on the key has to say.
type finding string

const (
	nothing      finding = "nothing"
	thisAttempts finding = "this attempt's"
	anothers     finding = "another's"
	cannotTell   finding = "cannot tell"
)

// Each fault has the errors, the state and the finding that its comment says.
func TestCommitFaults(t *testing.T) {
	t.Parallel()
	none, all := state{}, state{1, 1, 1, 1}
	for _, row := range []struct {
		fault     receipttest.Fault
		errs      []error
		retryable bool
		before    state // when Commit has returned
		found     finding
		after     state // when the next session on the key has ended
	}{
		{receipttest.NoFault, nil, false, all, thisAttempts, all},
		{receipttest.RerunCallback, []error{receipt.ErrNotCommitted, receipttest.ErrSerialization}, true, none, nothing, none},
		{receipttest.FailBeforeCommit, []error{receipt.ErrNotCommitted, receipttest.ErrInjected}, false, none, nothing, none},
		{receipttest.LoseAnswer, []error{receipt.ErrOutcomeUnknown, receipttest.ErrInjected}, false, all, thisAttempts, all},
		{receipttest.UnknownThenFound, []error{receipt.ErrOutcomeUnknown, receipttest.ErrInjected}, false, none, thisAttempts, all},
		{receipttest.UnknownThenNotFound, []error{receipt.ErrOutcomeUnknown, receipttest.ErrInjected}, false, none, nothing, none},
		{receipttest.UnknownThenRival, []error{receipt.ErrOutcomeUnknown, receipttest.ErrInjected}, false, none, anothers, all},
		{receipttest.UnknownUnresolved, []error{receipt.ErrOutcomeUnknown, receipttest.ErrInjected}, false, none, cannotTell, none},
		{receipttest.RivalFirst, []error{receipt.ErrNotCommitted, receipttest.ErrDuplicate}, true, all, anothers, all},
		{receipttest.TransactionEnded, []error{receipt.ErrTransactionEnded}, false, state{effects: 1}, nothing, state{effects: 1}},
	} {
		t.Run(string(row.fault), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{row.fault}})
			claim := s.claim("m-1")
			stored, err := s.settle(claim)
			for _, sentinel := range sentinels {
				if got, want := errors.Is(err, sentinel), slices.Contains(row.errs, sentinel); got != want {
					t.Errorf("Commit = %v; errors.Is(err, %q) = %t; want %t", err, sentinel, got, want)
				}
			}
			if (err == nil) != (row.errs == nil) {
				t.Errorf("Commit = %v; want error: %t", err, row.errs != nil)
			}
			if err != nil && stored.Attempt != "" {
				t.Errorf("Commit returned a receipt beside its error: %v", stored)
			}
			if got := s.fake.Retryable(err); got != row.retryable {
				t.Errorf("Retryable(%v) = %t; want %t", err, got, row.retryable)
			}
			if got := s.fake.Fired(row.fault); got != 1 {
				t.Errorf("the fault fired %d times; want 1", got)
			}
			s.wantState("after Commit", claim.Key, row.before)
			if got := s.look(claim); got != row.found {
				t.Errorf("the next Begin found %q; want %q", got, row.found)
			}
			s.wantState("after the next Begin", claim.Key, row.after)
		})
	}
}

func TestFaultsAreAllTried(t *testing.T) {
	t.Parallel()
	want := []receipttest.Fault{
		receipttest.FailBegin, receipttest.SlowLock, receipttest.RerunCallback, receipttest.FailBeforeCommit,
		receipttest.LoseAnswer, receipttest.UnknownThenFound, receipttest.UnknownThenNotFound,
		receipttest.UnknownThenRival, receipttest.UnknownUnresolved, receipttest.RivalFirst, receipttest.TransactionEnded,
	}
	got := receipttest.Faults()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Faults() has not the faults that these tests try (-want +got):\n%s", diff)
	}
}

func TestFailBegin(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{
		receipttest.UnknownThenFound, receipttest.FailBegin,
	}})
	claim := s.claim("m-1")
	if _, err := s.settle(claim); !errors.Is(err, receipt.ErrOutcomeUnknown) {
		t.Fatalf("Commit = %v; want ErrOutcomeUnknown", err)
	}
	for i, want := range []finding{cannotTell, thisAttempts} {
		if got := s.look(claim); got != want {
			t.Errorf("look %d found %q; want %q", i+1, got, want)
		}
	}
	if got := s.fake.Fired(receipttest.FailBegin); got != 1 {
		t.Errorf("FailBegin fired %d times; want 1", got)
	}
}

func TestUnresolvedUntilHealed(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{receipttest.UnknownUnresolved}})
	claim := s.claim("m-1")
	if _, err := s.settle(claim); !errors.Is(err, receipt.ErrOutcomeUnknown) {
		t.Fatalf("Commit = %v; want ErrOutcomeUnknown", err)
	}
	for range 3 {
		if got := s.look(claim); got != cannotTell {
			t.Fatalf("a look before Heal found %q; want %q", got, cannotTell)
		}
	}
	if _, err := s.settle(s.claim("m-2")); err != nil {
		t.Errorf("another key = %v; want nil", err)
	}
	s.fake.Heal()
	if got := s.look(claim); got != thisAttempts {
		t.Errorf("a look after Heal found %q; want %q", got, thisAttempts)
	}
	s.wantState("after Heal", claim.Key, state{1, 1, 1, 1})
}

// A transaction in doubt ends when somebody waits for it: at once, if somebody
// does already.
func TestDoubtEndsForWhoeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{receipttest.UnknownThenFound}})
		claim := s.claim("m-1")
		session := s.begin(claim)
		found := make(chan finding)
		go func() { found <- s.look(claim) }()
		synctest.Wait()
		if got := s.fake.Waiting(claim.Key); got != 1 {
			t.Fatalf("%d wait for the key; want 1", got)
		}
		if _, err := s.commit(session, claim); !errors.Is(err, receipt.ErrOutcomeUnknown) {
			t.Errorf("Commit = %v; want ErrOutcomeUnknown", err)
		}
		if got := <-found; got != thisAttempts {
			t.Errorf("the one that waited found %q; want %q", got, thisAttempts)
		}
		if got := s.fake.Waiting(claim.Key); got != 0 {
			t.Errorf("%d wait for the key; want 0", got)
		}
	})
}

// A key beside is not locked: another may take its place while a transaction
// is in doubt, which then cannot commit, and no rival of it can.
func TestDoubtEndsWithoutATakenPlace(t *testing.T) {
	t.Parallel()
	for _, fault := range []receipttest.Fault{receipttest.UnknownThenFound, receipttest.UnknownThenRival, receipttest.UnknownUnresolved} {
		s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{fault}})
		claim := s.claim("m-1")
		if _, err := s.settle(claim); !errors.Is(err, receipt.ErrOutcomeUnknown) {
			t.Fatalf("%s: Commit = %v; want ErrOutcomeUnknown", fault, err)
		}
		other := s.claim("m-2")
		other.Beside = claim.Beside
		if _, err := s.settle(other); err != nil {
			t.Fatalf("%s: the other's Commit = %v; want nil", fault, err)
		}
		s.fake.Heal()
		if got := s.look(claim); got != nothing {
			t.Errorf("%s: the next Begin found %q; want %q", fault, got, nothing)
		}
		s.wantState(string(fault), claim.Key, state{beside: 1})
		s.rollBackFree(claim)
	}
}

// At SERIALIZABLE a look sees what was committed before the wait: resolving a
// commit that way proves nothing (I5).
func TestSerializableLookProvesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{receipttest.UnknownThenFound}})
	claim := s.claim("m-1")
	if _, err := s.settle(claim); !errors.Is(err, receipt.ErrOutcomeUnknown) {
		t.Fatalf("Commit = %v; want ErrOutcomeUnknown", err)
	}
	claim.Isolation = receipt.Serializable
	if got := s.look(claim); got != nothing {
		t.Errorf("the serializable look found %q; want %q", got, nothing)
	}
	claim.Isolation = receipt.ReadCommitted
	if got := s.look(claim); got != thisAttempts {
		t.Errorf("the look after it found %q; want %q", got, thisAttempts)
	}
}

func TestSlowLock(t *testing.T) {
	t.Parallel()
	for name, heal := range map[string]bool{"times out": false, "heals": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{receipttest.SlowLock}})
				claim := s.claim("m-1")
				result := make(chan error)
				go func() {
					_, err := s.settle(claim)
					result <- err
				}()
				synctest.Wait()
				if waiting, fired := s.fake.Waiting(claim.Key), s.fake.Fired(receipttest.SlowLock); waiting != 1 || fired != 1 {
					t.Errorf("%d wait and the fault fired %d times; want 1 and 1", waiting, fired)
				}
				want := receipt.ErrInFlight
				if heal {
					s.fake.Heal()
					want = nil
				}
				if err := <-result; !errors.Is(err, want) {
					t.Errorf("Begin = %v; want %v", err, want)
				}
			})
		})
	}
}

func TestRivalsReceipt(t *testing.T) {
	t.Parallel()
	for _, fault := range []receipttest.Fault{receipttest.RivalFirst, receipttest.UnknownThenRival} {
		s := newScene(t, receipttest.Config[memoryTx]{
			Faults: []receipttest.Fault{fault},
			Rival: func(lost receipt.Receipt) receipt.Receipt {
				return receipt.Receipt{Requested: "aborted", Outcome: "aborted", Fingerprint: lost.Fingerprint}
			},
		})
		claim := s.claim("m-1")
		if _, err := s.settle(claim); err == nil {
			t.Fatalf("%s: Commit = nil; want an error", fault)
		}
		if got := s.look(claim); got != anothers {
			t.Errorf("%s: the next Begin found %q; want %q", fault, got, anothers)
		}
		committed := s.fake.Receipts()
		if len(committed) != 2 {
			t.Fatalf("%s: %d receipts are committed; want the rival's and the one that it added", fault, len(committed))
		}
		rivals, added := committed[0], committed[1]
		if added.Key != besideOf(claim.Key) || added.Outcome != "settled" || added.Attempt != rivals.Attempt || added.RecordedAt.IsZero() {
			t.Errorf("%s: the receipt that the rival added is %+v", fault, added)
		}
		if rivals.Key != claim.Key || rivals.Outcome != "aborted" || rivals.Attempt == "" || rivals.RecordedAt.IsZero() {
			t.Errorf("%s: the rival's receipt is %+v", fault, rivals)
		}
	}
}

// Faults fire in the order of the queue, each at the call that it is for. A
// commit that fails by itself takes none.
func TestFaultsFireInOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{Faults: []receipttest.Fault{
		receipttest.NoFault, receipttest.FailBegin, receipttest.RerunCallback,
	}})
	if err := s.fake.Inject(receipttest.FailBeforeCommit); err != nil {
		t.Fatal(err)
	}
	claim := s.claim("m-1")
	opened := s.begin(claim)
	if got := s.fake.Fired(receipttest.NoFault); got != 0 {
		t.Errorf("a Begin took a fault that is a Commit's")
	}
	if _, err := s.commit(opened, claim); err != nil {
		t.Errorf("NoFault: %v; want nil", err)
	}
	if _, err := s.fake.Begin(t.Context(), claim); !errors.Is(err, receipttest.ErrInjected) {
		t.Errorf("FailBegin: %v; want ErrInjected", err)
	}
	if _, err := s.settle(s.claim("m-1")); !errors.Is(err, receipttest.ErrDuplicate) {
		t.Errorf("a duplicate: %v; want ErrDuplicate", err)
	}
	left := []receipttest.Fault{receipttest.RerunCallback, receipttest.FailBeforeCommit}
	if diff := cmp.Diff(left, s.fake.Queued()); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	if _, err := s.settle(s.claim("m-2")); !errors.Is(err, receipttest.ErrSerialization) {
		t.Errorf("RerunCallback: %v; want ErrSerialization", err)
	}
	if _, err := s.settle(s.claim("m-2")); !errors.Is(err, receipttest.ErrInjected) {
		t.Errorf("FailBeforeCommit: %v; want ErrInjected", err)
	}
	if _, err := s.settle(s.claim("m-2")); err != nil {
		t.Errorf("after the last fault: %v; want nil", err)
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(receipttest.Schedule(7, 100), receipttest.Schedule(7, 100)); diff != "" {
		t.Errorf("one seed gave two schedules:\n%s", diff)
	}
	if cmp.Equal(receipttest.Schedule(7, 100), receipttest.Schedule(8, 100)) {
		t.Error("two seeds gave one schedule")
	}
	drawn := make(map[receipttest.Fault]int)
	for _, fault := range receipttest.Schedule(7, 1000) {
		drawn[fault]++
	}
	endless := []receipttest.Fault{receipttest.SlowLock, receipttest.UnknownUnresolved, receipttest.TransactionEnded}
	for _, fault := range append(receipttest.Faults(), receipttest.NoFault) {
		if got, want := drawn[fault] > 0, !slices.Contains(endless, fault); got != want {
			t.Errorf("%s drawn: %t; want %t", fault, got, want)
		}
	}
	for _, fault := range receipttest.Schedule(7, 100, receipttest.SlowLock) {
		if fault != receipttest.NoFault && fault != receipttest.SlowLock {
			t.Errorf("drew %s, which was not among the faults", fault)
		}
	}
}

// Whatever a schedule brings, a sender that sends until it has a receipt ends
// with every effect there once.
func TestSchedulesLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		s := newScene(t, receipttest.Config[memoryTx]{Faults: receipttest.Schedule(seed, 60)})
		ids := []string{"m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8"}
		for _, id := range ids {
			s.deliver(id)
		}
		for _, id := range ids {
			s.wantState("at the end", s.claim(id).Key, state{1, 1, 1, 1})
		}
		if t.Failed() {
			t.Fatalf("with seed %d: %v", seed, receipttest.Schedule(seed, 60))
		}
	}
}

// scene is a fake, its world, and the calls of one who settles matches.
type scene struct {
	*testing.T
	memory *receipttest.Memory[int]
	fake   *receipttest.Fake[memoryTx]
}

func newScene(t *testing.T, config receipttest.Config[memoryTx]) *scene {
	t.Helper()
	memory := &receipttest.Memory[int]{}
	config.World = memory
	fake, err := receipttest.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &scene{t, memory, fake}
}

// claim returns a claim of a fresh attempt on the match, with a key beside.
func (s *scene) claim(id string) receipt.Claim {
	key := receipt.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: id}
	return receipt.Claim{Key: key, Attempt: receipt.NewID(), Beside: []receipt.Key{besideOf(key)}}
}

// besideOf returns the key whose receipt the match's transaction adds.
func besideOf(key receipt.Key) receipt.Key {
	key.Operation = "replay"
	return key
}

func (s *scene) begin(claim receipt.Claim) session {
	s.Helper()
	opened, err := s.fake.Begin(s.Context(), claim)
	if err != nil {
		s.Fatal(err)
	}
	return opened
}

// settle runs a transaction with one effect, one event and a receipt for each
// key beside, without a look at the prior.
func (s *scene) settle(claim receipt.Claim) (receipt.Receipt, error) {
	opened, err := s.fake.Begin(s.Context(), claim)
	if err != nil {
		return receipt.Receipt{}, err
	}
	return s.commit(opened, claim)
}

func (s *scene) commit(opened session, claim receipt.Claim) (receipt.Receipt, error) {
	if err := opened.Tx().Set(claim.Key.ID+"/"+claim.Attempt, 1); err != nil {
		return receipt.Receipt{}, errors.Join(err, opened.Rollback(s.Context()))
	}
	for _, key := range claim.Beside {
		opened.Add(validReceipt(receipt.Claim{Key: key, Attempt: claim.Attempt}))
	}
	return opened.Commit(s.Context(), validReceipt(claim), eventOf(claim))
}

func eventOf(claim receipt.Claim) event.Event {
	return event.Event{
		ID: claim.Attempt, Source: "/lobby", Type: "match.settled",
		Key: claim.Key, Fingerprint: validReceipt(claim).Fingerprint,
	}
}

// look says whose receipt a Begin on the claim's key finds.
func (s *scene) look(claim receipt.Claim) finding {
	looking := claim
	looking.Attempt = receipt.NewID()
	opened, err := s.fake.Begin(s.Context(), looking)
	if err != nil {
		return cannotTell
	}
	claimed, _ := opened.Prior()
	if err := opened.Rollback(s.Context()); err != nil {
		s.Errorf("Rollback = %v; want nil", err)
	}
	switch {
	case claimed == nil:
		return nothing
	case claimed.Attempt == claim.Attempt:
		return thisAttempts
	default:
		return anothers
	}
}

// deliver sends one match until a Begin shows its receipt.
func (s *scene) deliver(id string) {
	for {
		claim := s.claim(id)
		opened, err := s.fake.Begin(s.Context(), claim)
		if err != nil {
			continue
		}
		if claimed, _ := opened.Prior(); claimed != nil {
			_ = opened.Rollback(context.Background())
			return
		}
		_, _ = s.commit(opened, claim)
	}
}

func (s *scene) wantState(when string, key receipt.Key, want state) {
	s.Helper()
	history, err := s.fake.History(s.Context(), key)
	if err != nil {
		s.Fatal(err)
	}
	beside, err := s.fake.History(s.Context(), besideOf(key))
	if err != nil {
		s.Fatal(err)
	}
	got := state{receipts: len(history), beside: len(beside)}
	for _, e := range s.fake.Events() {
		if e.Key == key {
			got.events++
		}
	}
	for mark := range s.memory.All() {
		if strings.HasPrefix(mark, key.ID+"/") {
			got.effects++
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
		s.Errorf("%s (-want +got):\n%s", when, diff)
	}
}
