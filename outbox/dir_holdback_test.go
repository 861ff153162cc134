package outbox_test

import (
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// openHoldBack opens a directory that holds back, on a clock that stands still,
// so that each record follows the one before it at once.
func openHoldBack(t *testing.T, ids ...string) *outbox.Dir {
	t.Helper()
	dir := openDirWith(t, outbox.DirConfig{Path: t.TempDir(), DeadLetterPolicy: outbox.HoldBack, Now: newTestClock().now})
	for _, id := range ids {
		put(t, dir, outboxtest.NewEvent(id, "x"))
	}
	return dir
}

// TestTheFirstDeadLetterHoldsBackWhoeverCameSecond sets two of one ordering key
// aside, the later one first, and requeues one of them.
func TestTheFirstDeadLetterHoldsBackWhoeverCameSecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requeued int
		left     []string
	}{
		"first requeued":  {1, []string{"a", "b", "c"}},
		"second requeued": {3, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openHoldBack(t, "a", "b", "c", "d", "e")
			records := nextRecords(t, dir)
			for _, i := range []int{3, 1} {
				if err := dir.SetAside(t.Context(), records[i], outbox.Refusal{Reason: "refused"}); err != nil {
					t.Fatal(err)
				}
			}
			wantPending(t, dir, "a")
			if err := dir.Requeue(t.Context(), records[c.requeued].ID+".bad"); err != nil {
				t.Fatal(err)
			}
			wantPending(t, dir, c.left...)
		})
	}
}

func TestARecordThatIsSetAsideAgainHoldsBackAgain(t *testing.T) {
	t.Parallel()
	dir := openHoldBack(t, "a", "b")
	id := setAside(t, dir, "a")
	if err := dir.Requeue(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	setAside(t, dir, "a")
	wantPending(t, dir)
	if letters := deadLetters(t, dir); len(letters) != 1 || letters[0].ID != id || !letters[0].HoldsBack {
		t.Errorf("dead letters %+v, want %s, which holds back", letters, id)
	}
	if err := dir.Discard(t.Context(), id, "a test"); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "b")
	wantHeldBack(t, dir, 0)
}

// TestARecordBesideItsOwnDeadLetter is what a crash leaves where a file system
// renames in two steps. Each of the two then holds back for itself.
func TestARecordBesideItsOwnDeadLetter(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	first := outboxtest.NewEvent("a", "x")
	file := plantRecord(t, path, first, 100)
	text, err := outbox.EncodeRecord(first)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, file+".bad", string(text))
	plantRecord(t, path, outboxtest.NewEvent("b", "x"), 101)
	dir := openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	wantPending(t, dir, "a")
	setAside(t, dir, "a")
	for _, c := range []struct {
		id   string
		left []string
	}{{file + ".2.bad", nil}, {file + ".bad", []string{"b"}}} {
		if err := dir.Discard(t.Context(), c.id, "a test"); err != nil {
			t.Errorf("Discard of %s: %v", c.id, err)
		}
		wantPending(t, dir, c.left...)
	}
}

// renameHookFS calls back when a file was renamed.
type renameHookFS struct {
	vfs.Dir
	hook func(name string)
}

func (f *renameHookFS) Rename(from, to string) error {
	err := f.Dir.Rename(from, to)
	if hook := f.hook; hook != nil {
		f.hook = nil
		hook(to)
	}
	return err
}

// TestADeadLetterThatIsDiscardedAtOnceHoldsBackNothing has an operator who is
// quicker than the rest of SetAside.
func TestADeadLetterThatIsDiscardedAtOnceHoldsBackNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	disk := &renameHookFS{Dir: openVFS(t, path)}
	dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack}))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	disk.hook = func(name string) {
		if err := dir.Discard(t.Context(), name, "a test"); err != nil {
			t.Errorf("Discard: %v", err)
		}
	}
	setAside(t, dir, "a")
	wantPending(t, dir, "b")
	wantHeldBack(t, dir, 0)
}
