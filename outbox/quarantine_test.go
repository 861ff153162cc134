package outbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// recordFile returns the name of a record that is older than any that a test
// puts.
func recordFile(e event.Event) string {
	return outbox.RecordName(outbox.EncodeKey(e.Key), 1_000_000_000)
}

func TestPoisonFilesAreSetAsideAndHoldUpNothing(t *testing.T) {
	t.Parallel()
	name := recordFile(outboxtest.NewEvent("poison", "x"))
	text, err := outbox.EncodeRecord(outboxtest.NewEvent("poison", "x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		file   string
		plant  func(path string) error
		reason string
	}{
		{"empty", name, content(""), "is empty"},
		{"NUL bytes", name, content(strings.Repeat("\x00", 4096)), "nothing but NUL bytes"},
		{"torn", name, content(string(text[:len(text)/2])), "not a record"},
		{"two records", name, content(string(text) + string(text)), "not a record"},
		{"oversized", name, content(strings.TrimSuffix(string(text), "\n") + strings.Repeat(" ", outbox.MaxRecord)), "more than 1048576 bytes"},
		{"not an event", name, content(`{"specversion":"1.0"}`), "must not be empty"},
		{"of another key", recordFile(outboxtest.NewEvent("other", "x")), content(string(text)), "the content for key acme.test.happen.poison"},
		{"a foreign name", "notes.json", content(string(text)), "of the form {key}-{time}.json"},
		{"a long foreign name", strings.Repeat("n", 250) + ".json", content("x"), "of the form {key}-{time}.json"},
		{"a directory", name, func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		{"a link", name, func(path string) error { return os.Symlink("/etc/hostname", path) }, "not a regular file"},
		{"a pipe", name, func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			if err := c.plant(filepath.Join(path, c.file)); err != nil {
				t.Fatal(err)
			}
			dir := openDir(t, path)
			put(t, dir, outboxtest.NewEvent("good", "x"))
			wantPending(t, dir, "good")
			aside := deadLetters(t, dir)
			if len(aside) != 1 || !strings.Contains(aside[0].Reason, c.reason) || aside[0].Time.IsZero() {
				t.Errorf("quarantined %+v, want one with reason %q", aside, c.reason)
			}
			if s := stats(t, dir); s.DeadLetters != 1 || s.Records != 1 {
				t.Errorf("stats %+v, want 1 record and 1 quarantined", s)
			}
			if _, err := os.Lstat(filepath.Join(path, aside[0].ID)); err != nil {
				t.Errorf("the file is not kept: %v", err)
			}
		})
	}
}

func content(text string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
}

func deadLetters(tb testing.TB, dir *outbox.Dir) []outbox.DeadLetter {
	tb.Helper()
	letters, err := dir.DeadLetters(tb.Context(), "", 1000)
	if err != nil {
		tb.Fatalf("DeadLetters: %v", err)
	}
	return letters
}

// countingFS counts what is read from its files.
type countingFS struct {
	vfs.Dir
	read *atomic.Int64
}

func (f countingFS) Open(name string) (vfs.File, error) {
	file, err := f.Dir.Open(name)
	return countingFile{file, f.read}, err
}

type countingFile struct {
	vfs.File
	read *atomic.Int64
}

func (f countingFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read.Add(int64(n))
	return n, err
}

// TestNoMoreIsReadThanARecordMayHave has a file that would fill the memory.
func TestNoMoreIsReadThanARecordMayHave(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	name := recordFile(outboxtest.NewEvent("huge", ""))
	writeFile(t, path, name, "{")
	if err := os.Truncate(filepath.Join(path, name), 64<<20); err != nil {
		t.Fatal(err)
	}
	inner, err := vfs.Open(path, vfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64
	dir, err := outbox.OpenDirOn(countingFS{inner, &read}, forTest(outbox.DirConfig{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	wantPending(t, dir)
	if read.Load() > outbox.MaxRecord+1 || len(deadLetters(t, dir)) != 1 {
		t.Errorf("%d bytes were read, %d files set aside; want at most %d, and the file", read.Load(), len(deadLetters(t, dir)), outbox.MaxRecord+1)
	}
}

func TestSetAsideNeverReplacesAnOlderFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	name := recordFile(outboxtest.NewEvent("a", ""))
	writeFile(t, path, name+".bad", "older")
	writeFile(t, path, name+".2.bad", "old")
	writeFile(t, path, name, "new")
	dir := openDir(t, path)
	wantPending(t, dir)
	for file, want := range map[string]string{name + ".bad": "older", name + ".2.bad": "old", name + ".3.bad": "new"} {
		if got, err := os.ReadFile(filepath.Join(path, file)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", file, got, err, want)
		}
	}
	if s := stats(t, dir); s.DeadLetters != 3 {
		t.Errorf("%d quarantined, want 3", s.DeadLetters)
	}
}

func TestSetAsideNeedsNoSpaceForTheReason(t *testing.T) {
	t.Parallel()
	for _, step := range []faultfs.Op{faultfs.Create, faultfs.Write, faultfs.Publish} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
			put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
			records := nextRecords(t, dir)
			disk.Fail(step, 1, syscall.ENOSPC)
			if err := dir.SetAside(t.Context(), records[0], outbox.Refusal{Reason: "refused"}); err != nil {
				t.Fatalf("SetAside: %v", err)
			}
			wantPending(t, dir, "b")
			want := []outbox.DeadLetter{{ID: records[0].ID + ".bad", Event: &records[0].Event, Size: deadLetters(t, dir)[0].Size}}
			if diff := cmp.Diff(want, deadLetters(t, dir)); diff != "" {
				t.Errorf("quarantined (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFileThatCannotBeMovedOrReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]faultfs.Op{"moved": faultfs.Rename, "read": faultfs.Open} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			file := recordFile(outboxtest.NewEvent("poison", ""))
			writeFile(t, path, file, "poison")
			synctest.Test(t, func(t *testing.T) {
				dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
				put(t, dir, outboxtest.NewEvent("good", ""))
				disk.Fail(fail, 1, errDisk)
				wantPending(t, dir, "good")
				if files(t, path)[1] != file {
					t.Errorf("files %q, want the poison file in its place", files(t, path))
				}
				pass(30 * time.Second)
				wantPending(t, dir, "good")
				if s := stats(t, dir); s.DeadLetters != 1 {
					t.Errorf("%d quarantined when the disk works again, want 1", s.DeadLetters)
				}
				closeDir(t, dir)
			})
		})
	}
}

func TestRequeueBetweenPendingRecords(t *testing.T) {
	t.Parallel()
	dir := openDir(t, t.TempDir())
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "x"))
	if err := dir.SetAside(t.Context(), nextRecords(t, dir)[1], outbox.Refusal{Reason: "unknown room"}); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "c")
	if err := dir.Requeue(t.Context(), deadLetters(t, dir)[0].ID); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "b", "c")
}

// TestARecordThatCannotBeReadHoldsBackItsOrderingKey has one whose ordering key
// is known, because this process put it.
// A directory knows the ordering key of a record that it wrote, and after a
// restart of one that it has read.
func TestARecordThatCannotBeReadHoldsBackItsOrderingKey(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "written", true: "read"}[restart], func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
				put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"))
				if restart {
					closeDir(t, dir)
					dir, disk = openFaulty(t, outbox.DirConfig{Path: path})
					wantPending(t, dir, "a", "b", "c")
				}
				disk.Fail(faultfs.Open, 1, errDisk)
				wantPending(t, dir, "c")
				pass(30 * time.Second)
				wantPending(t, dir, "a", "b", "c")
				closeDir(t, dir)
			})
		})
	}
}

// TestARecordThatCannotBeReadIsLeftAlone counts what a file in a bad block costs
// a relay that asks all the time.
func TestARecordThatCannotBeReadIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log logRecorder
		dir, disk := openFaulty(t, outbox.DirConfig{Path: path, Logger: log.logger()})
		put(t, dir, outboxtest.NewEvent("a", ""))
		disk.Fail(faultfs.Open, 1_000_000, errDisk)
		for range 100 {
			wantPending(t, dir)
			pass(time.Second)
		}
		// At 0, 30, 60 and 90 seconds.
		if opened, lines := called(disk, faultfs.Open), log.count("could not be read"); opened != 4 || lines != 4 {
			t.Errorf("opened %d times and logged %d times in 100 seconds, want 4", opened, lines)
		}
		<-dir.Wake()
		disk.Heal(faultfs.Open)
		<-dir.Wake()
		wantPending(t, dir, "a")
		closeDir(t, dir)
	})
}

func TestARecordThatIsRemovedByHandHoldsBackNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	if err := os.Remove(filepath.Join(path, files(t, path)[0])); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "b")
	if s := stats(t, dir); s.Records != 1 {
		t.Errorf("%d records, want 1", s.Records)
	}
}

func TestRequeueTakesTheOldPlace(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "x"))
	for _, record := range nextRecords(t, dir)[:2] {
		if err := dir.SetAside(t.Context(), record, outbox.Refusal{Reason: "unknown room", Attempts: 4}); err != nil {
			t.Fatal(err)
		}
	}
	closeDir(t, dir)
	dir = openDir(t, path)
	wantPending(t, dir, "c")
	aside := deadLetters(t, dir)
	if len(aside) != 2 || aside[1].Reason != "unknown room" || aside[1].Attempts != 4 {
		t.Fatalf("quarantined %+v", aside)
	}
	for _, file := range []string{aside[1].ID, aside[0].ID} {
		if err := dir.Requeue(t.Context(), file); err != nil {
			t.Fatalf("Requeue %s: %v", file, err)
		}
	}
	wantPending(t, dir, "a", "b", "c")
	if left := files(t, path); len(left) != 3 {
		t.Errorf("files %q, want three records and no reason", left)
	}
	if s := stats(t, dir); s.DeadLetters != 0 {
		t.Errorf("%d quarantined, want 0", s.DeadLetters)
	}
}

func TestRequeueRefuses(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", ""))
	record := nextRecords(t, dir)[0]
	if err := dir.SetAside(t.Context(), record, outbox.Refusal{Reason: "refused"}); err != nil {
		t.Fatal(err)
	}
	put(t, dir, outboxtest.NewEvent("a", ""))
	torn := recordFile(outboxtest.NewEvent("torn", "")) + ".bad"
	writeFile(t, path, torn, "{")
	writeFile(t, path, "notes.json.bad", "{")
	before := files(t, path)
	for file, want := range map[string]error{
		record.ID + ".bad": outbox.ErrConflict,
		record.ID:          outbox.ErrNoDeadLetter,
		torn:               outbox.ErrMalformed,
		"notes.json.bad":   outbox.ErrMalformed,
		"../" + torn:       outbox.ErrNoDeadLetter,
		recordFile(outboxtest.NewEvent("nobody", "")) + ".bad": outbox.ErrNoDeadLetter,
	} {
		if err := dir.Requeue(t.Context(), file); !errors.Is(err, want) {
			t.Errorf("Requeue(%q): %v, want %v", file, err, want)
		}
	}
	if diff := cmp.Diff(before, files(t, path)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

func TestAReasonIsCutAloudNotInSilence(t *testing.T) {
	t.Parallel()
	dir := openDir(t, t.TempDir())
	put(t, dir, outboxtest.NewEvent("a", ""))
	if err := dir.SetAside(t.Context(), nextRecords(t, dir)[0], outbox.Refusal{Reason: strings.Repeat("ü", 100_000)}); err != nil {
		t.Fatal(err)
	}
	reason := deadLetters(t, dir)[0].Reason
	if len(reason) > 4200 || !strings.HasSuffix(reason, "ü… (200000 bytes in all)") {
		t.Errorf("reason of %d bytes, ends in %q", len(reason), reason[len(reason)-40:])
	}
}

func TestPutReplacesAPoisonFileOfItsKey(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	e := outboxtest.NewEvent("a", "")
	writeFile(t, path, recordFile(e), "")
	dir := openDir(t, path)
	put(t, dir, e)
	wantPending(t, dir, "a")
	if aside := deadLetters(t, dir); len(aside) != 1 || !strings.Contains(aside[0].Reason, "is empty") {
		t.Errorf("quarantined %+v, want the empty file", aside)
	}
}

// TestPutWaitsForARequeueOfItsKey puts while the requeued record has its place
// in line and not yet its file.
func TestPutWaitsForARequeueOfItsKey(t *testing.T) {
	t.Parallel()
	first := outboxtest.NewEvent("a", "x")
	for name, c := range map[string]struct {
		again event.Event
		fail  error
		want  error
		left  []string
	}{
		"same content":                       {first, nil, nil, []string{"a"}},
		"other content":                      {outboxtest.WithData(first, `{"id":"other"}`), nil, outbox.ErrConflict, []string{"a"}},
		"other content, the requeue failing": {outboxtest.WithData(first, `{"id":"other"}`), errDisk, nil, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
			put(t, dir, first)
			if err := dir.SetAside(t.Context(), nextRecords(t, dir)[0], outbox.Refusal{Reason: "unknown room"}); err != nil {
				t.Fatal(err)
			}
			aside := deadLetters(t, dir)[0].ID
			if c.fail != nil {
				disk.Fail(faultfs.Rename, 1, c.fail)
			}
			release := disk.Hold(faultfs.Rename)
			requeued, again := make(chan error, 1), make(chan error, 1)
			go func() { requeued <- dir.Requeue(t.Context(), aside) }()
			eventually(t, "Requeue renames", func() bool { return called(disk, faultfs.Rename) == 2 })
			go func() { again <- dir.Put(t.Context(), c.again) }()
			eventually(t, "Put waits or is done", func() bool { return stats(t, dir).Waiting == 1 || len(again) == 1 })
			release()
			if err := <-requeued; !errors.Is(err, c.fail) {
				t.Errorf("Requeue: %v, want %v", err, c.fail)
			}
			if err := <-again; !errors.Is(err, c.want) {
				t.Errorf("Put: %v, want %v", err, c.want)
			}
			wantPending(t, dir, c.left...)
		})
	}
}

// TestRequeueSyncsTheContentBeforeTheName has a file that an operator mended by
// hand, which makes nothing durable.
func TestRequeueSyncsTheContentBeforeTheName(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	e := outboxtest.NewEvent("a", "x")
	text, err := outbox.EncodeRecord(e)
	if err != nil {
		t.Fatal(err)
	}
	aside := recordFile(e) + ".bad"
	writeFile(t, path, aside, string(text))
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
	disk.Fail(faultfs.Resync, 1, errDisk)
	if err := dir.Requeue(t.Context(), aside); !errors.Is(err, errDisk) {
		t.Errorf("Requeue on a failing disk: %v, want %v", err, errDisk)
	}
	if diff := cmp.Diff([]string{aside}, files(t, path)); diff != "" {
		t.Errorf("files after a failure (-want +got):\n%s", diff)
	}
	if err := dir.Requeue(t.Context(), aside); err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	wantCalls(
		t, disk,
		"open "+aside, "barrier", "open "+aside, "resync "+aside+" !",
		"open "+aside, "barrier", "open "+aside, "resync "+aside, "rename "+aside, "remove "+aside+".reason", "sync-names",
	)
	wantPending(t, dir, "a")
}

func TestRequeueOfAFileThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	for _, step := range []faultfs.Op{faultfs.Barrier, faultfs.Rename} {
		t.Run("before "+string(step), func(t *testing.T) {
			t.Parallel()
			testRequeueOfAFileThatGoes(t, step)
		})
	}
}

func testRequeueOfAFileThatGoes(t *testing.T, before faultfs.Op) {
	t.Helper()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
	put(t, dir, outboxtest.NewEvent("a", ""))
	if err := dir.SetAside(t.Context(), nextRecords(t, dir)[0], outbox.Refusal{Reason: "unknown room"}); err != nil {
		t.Fatal(err)
	}
	aside := deadLetters(t, dir)[0].ID
	reached := called(disk, before)
	release := disk.Hold(before)
	requeued := make(chan error, 1)
	go func() { requeued <- dir.Requeue(t.Context(), aside) }()
	eventually(t, "Requeue has read the file", func() bool { return called(disk, before) == reached+1 })
	if err := os.Remove(filepath.Join(path, aside)); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-requeued; !errors.Is(err, outbox.ErrNoDeadLetter) {
		t.Errorf("Requeue: %v, want %v", err, outbox.ErrNoDeadLetter)
	}
	wantPending(t, dir)
}
