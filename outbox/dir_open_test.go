package outbox_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// failingFS fails in one step of opening a directory, and in its end.
type failingFS struct {
	vfs.Dir
	step string
}

func (f failingFS) fail(step string) error {
	if f.step == step {
		return errDisk
	}
	return nil
}

func (f failingFS) Volatile() (bool, error) { return false, f.fail("volatile") }

func (f failingFS) Lock() error { return errors.Join(f.fail("lock"), f.Dir.Lock()) }

func (f failingFS) SweepDrafts() error { return errors.Join(f.fail("sweep"), f.Dir.SweepDrafts()) }

func (f failingFS) Entries() ([]vfs.Entry, error) {
	entries, err := f.Dir.Entries()
	return entries, errors.Join(f.fail("entries"), err)
}

func (f failingFS) Close() error { return errors.Join(f.fail("close"), f.Dir.Close()) }

// TestOpenDirOpensWholeOrNotAtAll lets each step fail once, and then opens the
// directory.
func TestOpenDirOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"volatile", "lock", "sweep", "entries"} {
		path := t.TempDir()
		dir, err := outbox.OpenDirOn(failingFS{openVFS(t, path), step}, outbox.DirConfig{Path: path})
		if dir != nil || !errors.Is(err, errDisk) || errors.Is(err, outbox.ErrLocked) {
			t.Errorf("OpenDir while %s fails: %v, %v; want nothing and %v", step, dir, err, errDisk)
		}
		openDir(t, path) // The lock is released.
	}
}

// TestOpenDirLogsToTheDefaultLogger is not parallel, for it changes that.
func TestOpenDirLogsToTheDefaultLogger(t *testing.T) { //nolint:paralleltest // See above.
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var log logRecorder
	slog.SetDefault(log.logger())
	path := t.TempDir()
	writeFile(t, path, "notes.json", "text")
	dir, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true})
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	if lines := log.count("level=ERROR", "is no record and is set aside", "notes.json"); lines != 1 {
		t.Errorf("%d lines tell of the file, want 1", lines)
	}
}

func TestAForeignFileThatCannotBeMovedIsLoggedAndStays(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	writeFile(t, path, "notes.json", "text")
	disk := faultfs.New(openVFS(t, path))
	disk.Fail(faultfs.Rename, 1, errDisk)
	var log logRecorder
	dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path, Logger: log.logger()}))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	if lines := log.count("level=ERROR", "could not be moved", "notes.json", errDisk.Error()); lines != 1 {
		t.Errorf("%d lines say that the file stays, want 1", lines)
	}
	if diff := cmp.Diff([]string{"notes.json"}, files(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestOpenDirLeavesFilesAloneThatAreNotItsAffair(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	want := []string{".notes.json", "notes.txt"}
	for _, name := range want {
		writeFile(t, path, name, "text")
	}
	openDir(t, path)
	if diff := cmp.Diff(want, files(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestOpenDirWakesWhoeverWaitsForRecords(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", ""))
	closeDir(t, dir)
	select {
	case <-openDir(t, path).Wake():
	default:
		t.Error("nobody learns of what is pending")
	}
}

// plantRecord writes a record with a time, as a copy by hand would.
func plantRecord(tb testing.TB, path string, e event.Event, time int64) (file string) {
	tb.Helper()
	text, err := outbox.EncodeRecord(e)
	if err != nil {
		tb.Fatal(err)
	}
	file = outbox.RecordName(outbox.EncodeKey(e.Key), time)
	writeFile(tb, path, file, string(text))
	return file
}

// reversedFS lists its files from the last to the first.
type reversedFS struct{ vfs.Dir }

func (f reversedFS) Entries() ([]vfs.Entry, error) {
	entries, err := f.Dir.Entries()
	slices.SortFunc(entries, func(a, b vfs.Entry) int { return strings.Compare(b.Name, a.Name) })
	return entries, err
}

// TestOfTwoRecordsOfOneTimeTheLastKeyIsSetAside has more records than a sort
// keeps in order by chance.
func TestOfTwoRecordsOfOneTimeTheLastKeyIsSetAside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy outbox.DeadLetterPolicy
		left   []string
		held   int
	}{
		"goes on":    {outbox.GoOn, []string{"k", "l", "other"}, 0},
		"holds back": {outbox.HoldBack, []string{"k", "other"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			cfg := forTest(outbox.DirConfig{Path: path, DeadLetterPolicy: c.policy})
			plantRecord(t, path, outboxtest.NewEvent("k", "x"), 100)
			for n := range 20 {
				plantRecord(t, path, outboxtest.NewEvent(fmt.Sprintf("m%02d", n), "x"), 100)
			}
			plantRecord(t, path, outboxtest.NewEvent("l", "x"), 101)
			plantRecord(t, path, outboxtest.NewEvent("other", "y"), 102)
			dir, err := outbox.OpenDirOn(reversedFS{openVFS(t, path)}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, dir)
			for range 2 { // The second time it is read from the directory.
				wantPending(t, dir, c.left...)
				wantHeldBack(t, dir, c.held)
				letters := deadLetters(t, dir)
				if len(letters) != 20 {
					t.Fatalf("%d dead letters, want 20", len(letters))
				}
				for i, letter := range letters {
					if want := fmt.Sprintf("m%02d", i); letter.Event == nil || letter.Event.Key.ID != want || letter.HoldsBack != (c.held > 0) {
						t.Errorf("dead letter %+v, want the record %s", letter, want)
					}
				}
				closeDir(t, dir)
				dir = openDirWith(t, cfg)
			}
		})
	}
}

// TestARecordOfATakenTimeCanBeRequeuedLater mends what a copy by hand did.
func TestARecordOfATakenTimeCanBeRequeuedLater(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	plantRecord(t, path, outboxtest.NewEvent("a", "x"), 100)
	id := plantRecord(t, path, outboxtest.NewEvent("b", "x"), 100) + ".bad"
	plantRecord(t, path, outboxtest.NewEvent("c", "x"), 101)
	dir := openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	if err := dir.Requeue(t.Context(), id); !errors.Is(err, outbox.ErrConflict) {
		t.Errorf("Requeue beside the other: %v, want %v", err, outbox.ErrConflict)
	}
	records := nextRecords(t, dir)
	wantPending(t, dir, "a")
	if err := dir.Remove(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir)
	if err := dir.Requeue(t.Context(), id); err != nil {
		t.Errorf("Requeue: %v", err)
	}
	wantPending(t, dir, "b", "c")
}

// TestOpenDirFailsWhereARecordOfATakenTimeStays has one that would be delivered
// after what follows it, once the directory is opened again.
func TestOpenDirFailsWhereARecordOfATakenTimeStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy outbox.DeadLetterPolicy
		fails  faultfs.Op
	}{
		{outbox.GoOn, faultfs.Rename},
		{outbox.HoldBack, faultfs.Rename},
		{outbox.HoldBack, faultfs.Open}, // What it holds back is not known.
	} {
		path := t.TempDir()
		for _, id := range []string{"a", "b"} {
			plantRecord(t, path, outboxtest.NewEvent(id, "x"), 100)
		}
		disk := faultfs.New(openVFS(t, path))
		disk.Fail(c.fails, 1, errDisk)
		cfg := forTest(outbox.DirConfig{Path: path, DeadLetterPolicy: c.policy})
		if _, err := outbox.OpenDirOn(disk, cfg); !errors.Is(err, errDisk) {
			t.Errorf("policy %d, %s fails: %v, want %v", c.policy, c.fails, err, errDisk)
		}
		wantPending(t, openDirWith(t, cfg), "a")
	}
}

// TestATornRecordOfATakenTimeHoldsBackNothing has two of one time, the second
// of which is no record.
func TestATornRecordOfATakenTimeHoldsBackNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	plantRecord(t, path, outboxtest.NewEvent("a", "x"), 100)
	writeFile(t, path, plantRecord(t, path, outboxtest.NewEvent("b", "x"), 100), "{")
	plantRecord(t, path, outboxtest.NewEvent("c", "x"), 101)
	dir := openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	wantPending(t, dir, "a", "c")
	wantHeldBack(t, dir, 0)
}
