package outbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestNextThatIsCancelledHandsOutWhatItHas cancels it in the middle of the first
// of two files.
func TestNextThatIsCancelledHandsOutWhatItHas(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""))
	ctx, cancel := context.WithCancel(t.Context())
	opened := called(disk, faultfs.Open)
	release := disk.Hold(faultfs.Open)
	type answer struct {
		records []outbox.Record
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		records, err := dir.Next(ctx, 10, nil)
		answers <- answer{records, err}
	}()
	eventually(t, "Next reads", func() bool { return called(disk, faultfs.Open) == opened+1 })
	cancel()
	release()
	got := <-answers
	if diff := cmp.Diff([]string{"a"}, ids(got.records)); diff != "" || !errors.Is(got.err, context.Canceled) {
		t.Errorf("Next: %v, handed out (-want +got):\n%s", got.err, diff)
	}
	dir.Release(got.records)
	wantPending(t, dir, "a", "b")
}

// closeHookFS calls back when a file was read.
type closeHookFS struct {
	vfs.Dir
	hook func()
}

func (f *closeHookFS) Open(name string) (vfs.File, error) {
	file, err := f.Dir.Open(name)
	return closeHookFile{file, f}, err
}

type closeHookFile struct {
	vfs.File
	fs *closeHookFS
}

func (f closeHookFile) Close() error {
	err := f.File.Close()
	if hook := f.fs.hook; hook != nil {
		f.fs.hook = nil
		hook()
	}
	return err
}

// TestNextHandsOutNothingThatWentMeanwhile removes a record between the reading
// of its file and its return.
func TestNextHandsOutNothingThatWentMeanwhile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	disk := &closeHookFS{Dir: openVFS(t, path)}
	dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	records := nextRecords(t, dir)
	disk.hook = func() {
		if err := dir.Remove(t.Context(), records[:1]); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	wantPending(t, dir, "b")
}

// TestRemoveTakesOutWhatItCan fails at the first of two records.
func TestRemoveTakesOutWhatItCan(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""))
	records := nextRecords(t, dir)
	disk.Fail(faultfs.Remove, 1, errDisk)
	if err := dir.Remove(t.Context(), records); !errors.Is(err, errDisk) {
		t.Errorf("Remove: %v, want %v", err, errDisk)
	}
	wantPending(t, dir, "a")
	if err := dir.Remove(t.Context(), records); err != nil {
		t.Errorf("Remove again: %v", err)
	}
	wantPending(t, dir)
}

// TestAFileThatIsGoneIsNoError has two that somebody took away.
func TestAFileThatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""))
	records := nextRecords(t, dir)
	for _, record := range records {
		if err := os.Remove(filepath.Join(path, record.ID)); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Remove(t.Context(), records[:1]); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if err := dir.SetAside(t.Context(), records[1], outbox.Refusal{Reason: "refused"}); err != nil {
		t.Errorf("SetAside: %v", err)
	}
	if s := stats(t, dir); s.Records != 0 || s.DeadLetters != 0 {
		t.Errorf("stats %+v, want none", s)
	}
}

// TestARecordGoesOnce lets a Remove and a Next find out the same.
func TestARecordGoesOnce(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	records := nextRecords(t, dir)
	finish := nextUnderWay(t, dir, disk)
	if err := dir.Remove(t.Context(), records[:1]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, finish()); diff != "" {
		t.Errorf("handed out (-want +got):\n%s", diff)
	}
	if s := stats(t, dir); s.Records != 1 || s.Bytes <= 0 {
		t.Errorf("%d records of %d bytes, want b", s.Records, s.Bytes)
	}
}

// TestARecordOfAnotherSourceIsNoneOfThisOne has one before a record that is.
func TestARecordOfAnotherSourceIsNoneOfThisOne(t *testing.T) {
	t.Parallel()
	dir := openDir(t, t.TempDir())
	put(t, dir, outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""))
	records, err := dir.Next(t.Context(), 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign := outbox.Record{ID: "17", Event: outboxtest.NewEvent("a", "")}
	if err := dir.Remove(t.Context(), []outbox.Record{foreign, records[1]}); !errors.Is(err, outbox.ErrMalformed) {
		t.Errorf("Remove: %v, want %v", err, outbox.ErrMalformed)
	}
	if err := dir.SetAside(t.Context(), foreign, outbox.Refusal{Reason: "refused"}); !errors.Is(err, outbox.ErrMalformed) {
		t.Errorf("SetAside: %v, want %v", err, outbox.ErrMalformed)
	}
	dir.Release([]outbox.Record{foreign, records[0]})
	wantPending(t, dir, "a")
}
