package outbox_test

import (
	"errors"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestARequeueThatFailsWakesWhoeverWaits asks for records while one that comes
// back has its place in line and no file yet, so that what follows it waits.
func TestARequeueThatFailsWakesWhoeverWaits(t *testing.T) {
	t.Parallel()
	for _, step := range []faultfs.Op{faultfs.Barrier, faultfs.Resync, faultfs.Rename} {
		dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
		put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
		id := setAside(t, dir, "a")
		select {
		case <-dir.Wake():
		default:
		}
		reached := called(disk, step)
		disk.Fail(step, 1, errDisk)
		release := disk.Hold(step)
		requeued := make(chan error, 1)
		go func() { requeued <- dir.Requeue(t.Context(), id) }()
		eventually(t, "Requeue takes its place", func() bool { return called(disk, step) == reached+1 })
		wantPending(t, dir)
		release()
		if err := <-requeued; !errors.Is(err, errDisk) {
			t.Errorf("Requeue while %s fails: %v, want %v", step, err, errDisk)
		}
		select {
		case <-dir.Wake():
		default:
			t.Errorf("nobody learns that %s failed, and that the next record need not wait any more", step)
		}
		wantPending(t, dir, "b")
	}
}

// TestARequeueLeavesTheNextReasonAlone lets a relay that is quicker than the
// rest of the call set a record aside again.
func TestARequeueLeavesTheNextReasonAlone(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", "x"))
	id := setAside(t, dir, "a")
	setAsideAgain := func() {
		for _, record := range nextRecords(t, dir) {
			if err := dir.SetAside(t.Context(), record, outbox.Refusal{Reason: "refused again", Attempts: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	removed := called(disk, faultfs.Remove)
	release := disk.Hold(faultfs.Remove)
	requeued := make(chan error, 1)
	go func() { requeued <- dir.Requeue(t.Context(), id) }()
	eventually(t, "Requeue removes the reason", func() bool { return called(disk, faultfs.Remove) == removed+1 })
	setAsideAgain() // If the record can be had already.
	release()
	if err := <-requeued; err != nil {
		t.Fatal(err)
	}
	setAsideAgain()
	if letters := deadLetters(t, dir); len(letters) != 1 || letters[0].Reason != "refused again" {
		t.Errorf("dead letters %+v, want one with the second reason", letters)
	}
}

// TestAnOldReasonIsReplaced has one whose file an operator took away.
func TestAnOldReasonIsReplaced(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", "x"))
	record := nextRecords(t, dir)[0]
	writeFile(t, path, record.ID+".bad.reason", `{"time":"2026-01-31T15:04:05Z","reason":"old","attempts":9}`)
	setAside(t, dir, "a")
	if letters := deadLetters(t, dir); len(letters) != 1 || letters[0].Reason != "unknown room" || letters[0].Attempts != 4 {
		t.Errorf("dead letters %+v, want the new reason", letters)
	}
}

// TestRequeueBesideAPutOfItsKey comes when the pending record that the Put found
// was delivered, so that the key has no record at all.
func TestRequeueBesideAPutOfItsKey(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	e := outboxtest.NewEvent("a", "x")
	put(t, dir, e)
	id := setAside(t, dir, "a")
	put(t, dir, e)
	delivered := nextRecords(t, dir)
	opened := called(disk, faultfs.Open)
	release := disk.Hold(faultfs.Open)
	stored := make(chan error, 1)
	go func() { stored <- dir.Put(t.Context(), e) }()
	eventually(t, "Put reads the pending record", func() bool { return called(disk, faultfs.Open) == opened+1 })
	if err := dir.Remove(t.Context(), delivered); err != nil {
		t.Fatal(err)
	}
	if err := dir.Requeue(t.Context(), id); !errors.Is(err, outbox.ErrConflict) {
		t.Errorf("Requeue: %v, want %v", err, outbox.ErrConflict)
	}
	release()
	if err := <-stored; err != nil {
		t.Errorf("Put: %v", err)
	}
	wantPending(t, dir, "a")
}

// TestWhatIsPutAfterARequeueComesLast has a clock that stands still.
func TestWhatIsPutAfterARequeueComesLast(t *testing.T) {
	t.Parallel()
	dir := openDirWith(t, outbox.DirConfig{Path: t.TempDir(), Now: newTestClock().now})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	before := stats(t, dir).Bytes
	if err := dir.Requeue(t.Context(), setAside(t, dir, "a")); err != nil {
		t.Fatal(err)
	}
	if after := stats(t, dir).Bytes; after != before {
		t.Errorf("%d bytes are pending after the requeue, want %d as before", after, before)
	}
	put(t, dir, outboxtest.NewEvent("c", "x"))
	wantPending(t, dir, "a", "b", "c")
}
