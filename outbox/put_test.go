package outbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

var errDisk = errors.New("input/output error")

func TestPutWritesOnePrivateReadableFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "by", "open")
	clock := newTestClock()
	dir := openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	put(t, dir, outboxtest.NewEvent("room-7", ""))

	name := "acme.test.happen.room-7-20260131150405.000000000.json"
	if diff := cmp.Diff([]string{name}, files(t, path)); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	content, err := os.ReadFile(filepath.Join(path, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(content), `{"specversion":"1.0","id":"event-room-7",`) || !strings.HasSuffix(string(content), "}\n") {
		t.Errorf("content is not an event and a line feed: %q", content)
	}
	for file, want := range map[string]fs.FileMode{
		path: fs.ModeDir | 0o700, filepath.Dir(path): fs.ModeDir | 0o700, filepath.Join(path, name): 0o600,
	} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", file, info.Mode(), want)
		}
	}
}

func TestPutOfTheSameRecord(t *testing.T) {
	t.Parallel()
	first := outboxtest.NewEvent("a", "x")
	otherID, otherTime, spaced := first, first, first
	otherID.ID = "another-event"
	otherTime.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spaced.Data = []byte(" { \"id\" : \"a\" } ")
	for name, c := range map[string]struct {
		again event.Event
		want  error
	}{
		"same bytes":        {first, nil},
		"other white space": {spaced, nil},
		"other fingerprint": {outboxtest.WithData(first, `{"id":"other"}`), outbox.ErrConflict},
		"other event id":    {otherID, outbox.ErrConflict},
		"other time":        {otherTime, outbox.ErrConflict},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				path := t.TempDir()
				dir, _ := openFaulty(t, outbox.DirConfig{Path: path})
				put(t, dir, first)
				if restart {
					closeDir(t, dir)
				}
				before := files(t, path)
				var disk *faultfs.FS
				if restart {
					dir, disk = openFaulty(t, outbox.DirConfig{Path: path})
				}
				if err := dir.Put(t.Context(), c.again); !errors.Is(err, c.want) {
					t.Errorf("Put again: %v, want %v", err, c.want)
				}
				if diff := cmp.Diff(before, files(t, path)); diff != "" {
					t.Errorf("files (-before +after):\n%s", diff)
				}
				if restart && c.want == nil {
					wantCalls(t, disk, "open NAME", "barrier", "open NAME", "resync NAME", "sync-names")
				}
				wantPending(t, dir, "a")
			})
		}
	}
}

func TestPutOfTheSameRecordAtOnce(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
	release := disk.Hold(faultfs.Sync)
	first := outboxtest.NewEvent("a", "x")
	results := make(chan error, 3)
	putLater := func(e event.Event) { go func() { results <- dir.Put(t.Context(), e) }() }
	putLater(first)
	eventually(t, "the first Put syncs", func() bool { return called(disk, faultfs.Sync) == 1 })
	putLater(first)
	putLater(outboxtest.WithData(first, `{"id":"other"}`))
	eventually(t, "three Puts wait", func() bool { return stats(t, dir).Waiting == 3 })
	release()
	conflicts := 0
	for range 3 {
		if err := <-results; errors.Is(err, outbox.ErrConflict) {
			conflicts++
		} else if err != nil {
			t.Errorf("Put: %v", err)
		}
	}
	if conflicts != 1 || len(files(t, path)) != 1 {
		t.Errorf("%d conflicts and files %q, want 1 conflict and 1 file", conflicts, files(t, path))
	}
}

func TestPutRefusesBeforeWriting(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	invalid, large, deep := outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", ""), outboxtest.NewEvent("c", "")
	invalid.Source = ""
	large.Data = []byte(`"` + strings.Repeat("x", outbox.MaxRecord) + `"`)
	deep.Data = []byte(strings.Repeat("[", 10000) + strings.Repeat("]", 10000))
	for _, c := range []struct {
		e    event.Event
		want error
	}{{invalid, event.ErrInvalid}, {large, outbox.ErrTooLarge}, {deep, outbox.ErrUnreadable}} {
		if err := dir.Put(t.Context(), c.e); !errors.Is(err, c.want) {
			t.Errorf("Put: %v, want %v", err, c.want)
		}
	}
	if left := files(t, path); len(left) != 0 {
		t.Errorf("files %q were written", left)
	}
}

// TestPutOnAFailingDisk takes one step after another down and looks at the
// steps that follow: nothing that failed may be used again (I7).
func TestPutOnAFailingDisk(t *testing.T) {
	t.Parallel()
	whole := func(draft string) []string {
		return []string{"barrier", "create " + draft, "write " + draft, "sync " + draft, "publish " + draft + " NAME", "sync-names"}
	}
	for _, c := range []struct {
		name  string
		fail  faultfs.Op
		calls []string
	}{
		{"opening the directory", faultfs.Barrier, append([]string{"barrier !"}, whole("1")...)},
		{"creating", faultfs.Create, append([]string{"barrier", "create 1 !"}, whole("2")...)},
		{"a short write", faultfs.Write, append([]string{"barrier", "create 1", "write 1 !"}, whole("2")...)},
		{"syncing the file", faultfs.Sync, append([]string{"barrier", "create 1", "write 1", "sync 1 !"}, whole("2")...)},
		{
			"naming", faultfs.Publish,
			append([]string{"barrier", "create 1", "write 1", "sync 1", "publish 1 NAME !", "remove NAME"}, whole("2")...),
		},
		{
			"syncing the directory", faultfs.SyncNames,
			append([]string{"barrier", "create 1", "write 1", "sync 1", "publish 1 NAME", "sync-names !", "remove NAME"}, whole("2")...),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
				disk.Fail(c.fail, 1, errDisk)
				began := time.Now()
				put(t, dir, outboxtest.NewEvent("a", ""))
				if waited := time.Since(began); waited != time.Second {
					t.Errorf("the second attempt came after %v, want 1s", waited)
				}
				wantCalls(t, disk, c.calls...)
				wantPending(t, dir, "a")
				closeDir(t, dir)
			})
			if left := files(t, path); len(left) != 1 {
				t.Errorf("files %q, want one record and nothing else", left)
			}
		})
	}
}

func TestPutAfterAFailedSyncOfTheSameRecordKeepsItsPlace(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
	first := outboxtest.NewEvent("a", "x")
	put(t, dir, first, outboxtest.NewEvent("b", "x"))
	before := files(t, path)
	disk.Fail(faultfs.Resync, 1, errDisk)
	put(t, dir, first)
	steps := disk.Calls()
	var ops []faultfs.Op
	for _, step := range steps[len(steps)-8:] {
		ops = append(ops, step.Op)
	}
	if diff := cmp.Diff([]faultfs.Op{
		faultfs.Resync, // It fails.
		faultfs.Barrier, faultfs.Create, faultfs.Write, faultfs.Sync, faultfs.Publish, faultfs.SyncNames,
		faultfs.Remove, // The old file goes when the fresh one is durable.
	}, ops); diff != "" {
		t.Errorf("last steps (-want +got):\n%s", diff)
	}
	wantPending(t, dir, "a", "b")
	after := files(t, path)
	if len(after) != 2 || after[0] == before[0] || after[1] != before[1] {
		t.Errorf("files before %q, after %q; want a fresh file for a and the old one for b", before, after)
	}
}

func TestPutBlocksWhileTheDiskFails(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log logRecorder
		dir, disk := openFaulty(t, outbox.DirConfig{Path: path, MaxWaiting: 2, Logger: log.logger()})
		disk.Fail(faultfs.Write, 1_000_000, errDisk)
		results := make(chan error, 3)
		for _, id := range []string{"a", "b", "c"} {
			go func() { results <- dir.Put(t.Context(), outboxtest.NewEvent(id, "")) }()
		}
		pass(time.Hour)
		s := stats(t, dir)
		if !errors.Is(s.Unhealthy, outbox.ErrUnhealthy) || !errors.Is(s.Unhealthy, errDisk) || s.Waiting != 2 || s.MaxWaiting != 2 {
			t.Errorf("stats %+v, want unhealthy with 2 of 2 waiting", s)
		}
		if attempts := called(disk, faultfs.Write); attempts != 2*3601 {
			t.Errorf("%d attempts in an hour by two writers, want one a second each", attempts)
		}
		if lines := log.count("level=ERROR", "the disk keeps failing"); lines != 1 {
			t.Errorf("%d log lines, want 1", lines)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := dir.Put(ctx, outboxtest.NewEvent("d", "")); !errors.Is(err, outbox.ErrUnacknowledged) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Put without a slot: %v, want unacknowledged", err)
		}

		disk.Heal(faultfs.Write)
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("Put: %v", err)
			}
		}
		if s := stats(t, dir); s.Unhealthy != nil || s.Waiting != 0 || s.Records != 3 {
			t.Errorf("stats %+v, want healthy with 3 records", s)
		}
		closeDir(t, dir)
	})
}

func TestPutThatWasCancelledMayExist(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	release := disk.Hold(faultfs.Sync)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- dir.Put(ctx, outboxtest.NewEvent("a", "")) }()
	eventually(t, "Put syncs", func() bool { return called(disk, faultfs.Sync) == 1 })
	cancel()
	if err := <-result; !errors.Is(err, outbox.ErrUnacknowledged) || !errors.Is(err, context.Canceled) {
		t.Errorf("Put: %v, want unacknowledged", err)
	}
	release()
	put(t, dir, outboxtest.NewEvent("a", ""))
	wantPending(t, dir, "a")
}

func TestRecordsKeepTheirOrderThoughTheClockGoesBack(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	clock := newTestClock()
	dir := openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	put(t, dir, outboxtest.NewEvent("d", "x"), outboxtest.NewEvent("c", "x"))
	clock.add(-time.Hour)
	put(t, dir, outboxtest.NewEvent("b", "x"))
	closeDir(t, dir)
	clock.add(-time.Hour)
	dir = openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	put(t, dir, outboxtest.NewEvent("a", "x"))
	wantPending(t, dir, "d", "c", "b", "a")
	if age := stats(t, dir).OldestAge; age != 0 {
		t.Errorf("age %v under a clock that went back, want 0", age)
	}
}

func TestNextDoesNotPassARecordThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	release := disk.Hold(faultfs.Sync)
	result := make(chan error)
	go func() { result <- dir.Put(t.Context(), outboxtest.NewEvent("a", "x")) }()
	eventually(t, "Put syncs", func() bool { return called(disk, faultfs.Sync) == 1 })
	put(t, dir, outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"))
	wantPending(t, dir, "c")
	release()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "b", "c")
}

// wantCalls compares the steps so far with a script, in which NAME stands for
// any record's name.
func wantCalls(t *testing.T, disk *faultfs.FS, want ...string) {
	t.Helper()
	var got []string
	for _, call := range disk.Calls() {
		if strings.HasSuffix(call.Name, ".json") {
			call.Name = "NAME"
		}
		got = append(got, call.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func called(disk *faultfs.FS, op faultfs.Op) int {
	count := 0
	for _, call := range disk.Calls() {
		if call.Op == op {
			count++
		}
	}
	return count
}

// TestPutAcknowledgesNoRecordThatCouldNotBeFoundAgain has a file with the last
// time that a name can have, pending or set aside.
func TestPutAcknowledgesNoRecordThatCouldNotBeFoundAgain(t *testing.T) {
	t.Parallel()
	const last = "-22611231235959.999999999.json"
	text, err := outbox.EncodeRecord(outboxtest.NewEvent("last", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", ".bad"} {
		t.Run(last+suffix, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			file := outbox.EncodeKey(outboxtest.NewEvent("last", "").Key) + last + suffix
			writeFile(t, path, file, string(text))
			synctest.Test(t, func(t *testing.T) {
				dir := openDir(t, path)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := dir.Put(ctx, outboxtest.NewEvent("a", "")); !errors.Is(err, outbox.ErrUnacknowledged) {
					t.Errorf("Put: %v, want unacknowledged", err)
				}
				if s := stats(t, dir); s.Unhealthy == nil || !strings.Contains(s.Unhealthy.Error(), "no time is left") {
					t.Errorf("stats %+v, want unhealthy for want of a time", s)
				}
				_ = dir.Close(ctx)
			})
			if diff := cmp.Diff([]string{file}, files(t, path)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAFreshFileTakesNoTakenTime replaces a file whose successor in the order
// follows at once.
func TestAFreshFileTakesNoTakenTime(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path, Now: newTestClock().now})
	first := outboxtest.NewEvent("a", "x")
	put(t, dir, first, outboxtest.NewEvent("b", "x"))
	disk.Fail(faultfs.Resync, 1, errDisk)
	put(t, dir, first)
	wantPending(t, dir, "b", "a")
	closeDir(t, dir)
	wantPending(t, openDir(t, path), "b", "a")
}
