package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestAClosedDirectoryDoesNothing calls every method that uses the files.
func TestAClosedDirectoryDoesNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""))
	id := setAside(t, dir, "a")
	records := nextRecords(t, dir)
	before := files(t, path)
	closeDir(t, dir)
	for name, call := range map[string]func() error{
		"Put":         func() error { return dir.Put(t.Context(), outboxtest.NewEvent("c", "")) },
		"Next":        func() error { _, err := dir.Next(t.Context(), 1, nil); return err },
		"Remove":      func() error { return dir.Remove(t.Context(), records) },
		"SetAside":    func() error { return dir.SetAside(t.Context(), records[0], outbox.Refusal{Reason: "refused"}) },
		"DeadLetters": func() error { _, err := dir.DeadLetters(t.Context(), "", 1); return err },
		"Requeue":     func() error { return dir.Requeue(t.Context(), id) },
		"Discard":     func() error { return dir.Discard(t.Context(), id, "the room is closed") },
		"Stats":       func() error { _, err := dir.Stats(t.Context()); return err },
		"Lag":         func() error { _, err := dir.Lag(t.Context()); return err },
		"Close":       func() error { return dir.Close(t.Context()) },
	} {
		if err := call(); !errors.Is(err, outbox.ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, outbox.ErrClosed)
		}
	}
	if diff := cmp.Diff(before, files(t, path)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

func TestCloseWakesWhoeverWaitsForRecords(t *testing.T) {
	t.Parallel()
	dir := openDir(t, t.TempDir())
	<-dir.Wake()
	closeDir(t, dir)
	select {
	case <-dir.Wake():
	default:
		t.Error("nobody learns that there will be no more records")
	}
}

// closingFS says when it is closed.
type closingFS struct {
	vfs.Dir
	closed *atomic.Bool
}

func (f closingFS) Close() error {
	f.closed.Store(true)
	return f.Dir.Close()
}

// TestCloseWaitsForCallsThatUseTheFiles closes a directory in the middle of a
// Next.
func TestCloseWaitsForCallsThatUseTheFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var fileSystemClosed atomic.Bool
	disk := faultfs.New(closingFS{openVFS(t, path), &fileSystemClosed})
	dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, outboxtest.NewEvent("a", ""))
	finish := nextUnderWay(t, dir, disk)
	closed := make(chan error, 1)
	go func() { closed <- dir.Close(t.Context()) }()
	eventually(t, "Close waits, or is done", func() bool { return outbox.CloseWaits(dir) || len(closed) > 0 })
	if fileSystemClosed.Load() {
		t.Error("the file system is closed under a call")
	}
	if diff := cmp.Diff([]string{"a"}, finish()); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
	if err := <-closed; err != nil || !fileSystemClosed.Load() {
		t.Errorf("Close: %v, with the file system closed: %t", err, fileSystemClosed.Load())
	}
}

// TestCloseThatGaveUpNothingIsNoError has a Put that succeeds though Close does
// not wait for it any more.
func TestCloseThatGaveUpNothingIsNoError(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
		release := disk.Hold(faultfs.Sync)
		stored, closed := make(chan error, 1), make(chan error, 1)
		go func() { stored <- dir.Put(t.Context(), outboxtest.NewEvent("a", "")) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		go func() { closed <- dir.Close(ctx) }()
		synctest.Wait()
		release()
		if put, closing := <-stored, <-closed; put != nil || closing != nil {
			t.Errorf("Put: %v, Close: %v; want neither to fail", put, closing)
		}
	})
}

// TestCloseReportsEveryFailure has a Put that is given up, and a file system
// that fails as it is closed.
func TestCloseReportsEveryFailure(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(failingFS{openVFS(t, path), "close"})
		dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path}))
		if err != nil {
			t.Fatal(err)
		}
		errSync := errors.New("no space")
		disk.Fail(faultfs.Sync, 1, errSync)
		stored := make(chan error, 1)
		go func() { stored <- dir.Put(t.Context(), outboxtest.NewEvent("a", "")) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = dir.Close(ctx)
		for _, want := range []error{outbox.ErrUnacknowledged, context.Canceled, errSync, errDisk} {
			if !errors.Is(err, want) {
				t.Errorf("Close: %v, want %v to be in it", err, want)
			}
		}
		if err := <-stored; !errors.Is(err, outbox.ErrUnacknowledged) {
			t.Errorf("Put: %v, want %v", err, outbox.ErrUnacknowledged)
		}
	})
}
