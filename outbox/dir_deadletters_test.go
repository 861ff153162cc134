package outbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// setAside makes the pending record of a key's id a dead letter, and returns its
// ID.
func setAside(tb testing.TB, dir *outbox.Dir, id string) string {
	tb.Helper()
	for _, record := range nextRecords(tb, dir) {
		if record.Event.Key.ID != id {
			continue
		}
		if err := dir.SetAside(tb.Context(), record, outbox.Refusal{Reason: "unknown room", Attempts: 4}); err != nil {
			tb.Fatalf("SetAside: %v", err)
		}
		return record.ID + ".bad"
	}
	tb.Fatalf("no record of key %s is pending", id)
	return ""
}

func wantHeldBack(tb testing.TB, dir *outbox.Dir, want int) {
	tb.Helper()
	if s := stats(tb, dir); s.HeldBack != want {
		tb.Errorf("%d ordering keys are held back, want %d", s.HeldBack, want)
	}
}

// TestThePolicyIsTheOpenDirectorys opens the same directory under one policy
// after the other.
func TestThePolicyIsTheOpenDirectorys(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"))
	id := setAside(t, dir, "a")
	for _, c := range []struct {
		policy outbox.DeadLetterPolicy
		left   []string
		held   int
	}{
		{outbox.HoldBack, []string{"c"}, 1},
		{outbox.GoOn, []string{"b", "c"}, 0},
		{outbox.DefaultPolicy, []string{"b", "c"}, 0},
		{outbox.HoldBack, []string{"c"}, 1},
	} {
		closeDir(t, dir)
		dir = openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: c.policy})
		wantPending(t, dir, c.left...)
		wantHeldBack(t, dir, c.held)
		if letter := deadLetters(t, dir)[0]; letter.HoldsBack != (c.held > 0) {
			t.Errorf("under policy %d the dead letter holds back: %t", c.policy, letter.HoldsBack)
		}
	}
	if err := dir.Requeue(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "b", "c")
	wantHeldBack(t, dir, 0)
}

// TestEachDeadLetterHoldsBackWhatFollowsIt has two of one ordering key, from a
// time under the other policy.
func TestEachDeadLetterHoldsBackWhatFollowsIt(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		put(t, dir, outboxtest.NewEvent(id, "x"))
	}
	second, first := setAside(t, dir, "d"), setAside(t, dir, "b")
	closeDir(t, dir)
	dir = openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	wantPending(t, dir, "a")
	if err := dir.Requeue(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "b", "c")
	if err := dir.Discard(t.Context(), second, "the room is closed"); err != nil {
		t.Fatal(err)
	}
	wantPending(t, dir, "a", "b", "c", "e")
}

// TestWhatIsNoRecordHoldsBackNothing has files that were set aside, and under
// HoldBack are read again.
func TestWhatIsNoRecordHoldsBackNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	torn, foreign := outboxtest.NewEvent("torn", "x"), outboxtest.NewEvent("foreign", "x")
	text, err := outbox.EncodeRecord(foreign)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, recordFile(torn)+".bad", string(text[:10]))
	writeFile(t, path, recordFile(torn)+".2.bad", string(text))
	writeFile(t, path, "notes.bad", string(text))
	if err := os.Mkdir(filepath.Join(path, recordFile(torn)+".3.bad"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, recordFile(torn), "")
	dir := openDirWith(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	put(t, dir, outboxtest.NewEvent("a", "x"))
	wantPending(t, dir, "a")
	wantHeldBack(t, dir, 0)
	letters := deadLetters(t, dir)
	if len(letters) != 5 {
		t.Errorf("%d dead letters, want 5", len(letters))
	}
	for _, letter := range letters {
		if letter.HoldsBack || letter.Event != nil {
			t.Errorf("dead letter %s holds back: %t, has event %v; want neither", letter.ID, letter.HoldsBack, letter.Event)
		}
	}
}

func TestOpenDirFailsWhereItCannotKnowWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", "x"))
	id := setAside(t, dir, "a")
	closeDir(t, dir)
	for policy, fails := range map[outbox.DeadLetterPolicy]bool{outbox.GoOn: false, outbox.HoldBack: true} {
		disk := faultfs.New(openVFS(t, path))
		disk.Fail(faultfs.Open, 1, errDisk)
		dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path, DeadLetterPolicy: policy}))
		if fails != errors.Is(err, errDisk) || fails && !strings.Contains(err.Error(), id) {
			t.Errorf("policy %d: %v, want the disk's error and the file: %t", policy, err, fails)
		}
		if err == nil {
			closeDir(t, dir)
		}
	}
}

// TestDeadLettersAreListedOldestFirst has keys whose names sort otherwise, and
// files that were never records.
func TestDeadLettersAreListedOldestFirst(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	for _, id := range []string{"c", "a", "b"} {
		put(t, dir, outboxtest.NewEvent(id, ""))
	}
	for _, name := range []string{"notes.bad", "letters.bad", ".hidden.bad"} {
		writeFile(t, path, name, "text")
	}
	want := []string{"letters.bad", "notes.bad", setAside(t, dir, "c"), setAside(t, dir, "a"), setAside(t, dir, "b")}
	var got []string
	after := ""
	for range len(want) + 1 {
		page, err := dir.DeadLetters(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		after = page[0].ID
		got = append(got, after)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// TestDiscardKeepsTheFileAndBothReasons looks at what an operator finds.
func TestDiscardKeepsTheFileAndBothReasons(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	clock := newTestClock()
	dir := openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	e := outboxtest.NewEvent("a", "x")
	put(t, dir, e)
	id := setAside(t, dir, "a")
	record := strings.TrimSuffix(id, ".bad")
	writeFile(t, path, record+".discarded", "older")
	clock.add(time.Hour)
	if err := dir.Discard(t.Context(), id, "the room is closed"); err != nil {
		t.Fatal(err)
	}
	text, err := outbox.EncodeRecord(e)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		record + ".discarded":   "older",
		record + ".2.discarded": string(text),
		record + ".2.discarded.reason": `{"time":"2026-01-31T15:04:05Z","reason":"unknown room","attempts":4,` +
			`"discarded":{"time":"2026-01-31T16:04:05Z","reason":"the room is closed"}}` + "\n",
	} {
		if got, err := os.ReadFile(filepath.Join(path, file)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", file, got, err, want)
		}
	}
	if left := files(t, path); len(left) != 3 {
		t.Errorf("files %q, want no more than three", left)
	}
	closeDir(t, dir)
	dir = openDir(t, path)
	wantPending(t, dir)
	if s := stats(t, dir); s.DeadLetters != 0 {
		t.Errorf("%d dead letters after a restart, want 0", s.DeadLetters)
	}
}

// TestDiscardIsDurableOrNothing lets each step fail once, and reads the steps of
// the one that works.
func TestDiscardIsDurableOrNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	id := setAside(t, dir, "a")
	before := files(t, path)
	for _, step := range []faultfs.Op{faultfs.Barrier, faultfs.Create, faultfs.Write, faultfs.Sync, faultfs.Publish, faultfs.Rename} {
		disk.Fail(step, 1, syscall.ENOSPC)
		if err := dir.Discard(t.Context(), id, "the room is closed"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Discard while %s fails: %v, want %v", step, err, syscall.ENOSPC)
		}
		if diff := cmp.Diff(before, files(t, path)); diff != "" {
			t.Errorf("files after %s failed (-before +after):\n%s", step, diff)
		}
		wantPending(t, dir)
	}
	steps := len(disk.Calls())
	if err := dir.Discard(t.Context(), id, "the room is closed"); err != nil {
		t.Fatal(err)
	}
	discarded := strings.TrimSuffix(id, ".bad") + ".discarded"
	var got []string
	for _, call := range disk.Calls()[steps:] {
		got = append(got, strings.TrimSpace(string(call.Op)+" "+call.Name))
	}
	want := []string{
		"open " + id + ".reason", "barrier", "create", "write", "sync", "publish " + discarded + ".reason",
		"rename " + id, "remove " + id + ".reason", "sync-names",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	wantPending(t, dir, "b")
}

func TestDiscardSaysWhereACrashCouldUndoIt(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", "x"))
	id := setAside(t, dir, "a")
	disk.Fail(faultfs.SyncNames, 1, errDisk)
	if err := dir.Discard(t.Context(), id, "the room is closed"); !errors.Is(err, errDisk) {
		t.Errorf("Discard: %v, want %v", err, errDisk)
	}
}

// TestDiscardTakesWhatIsNoRecord rids an operator of files that nobody can mend.
func TestDiscardTakesWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	long := strings.Repeat("n", 200) + ".bad"
	writeFile(t, path, long, "text")
	writeFile(t, path, "notes.json", "text")
	dir := openDir(t, path)
	for _, id := range []string{"notes.json.bad", long} {
		if err := dir.Discard(t.Context(), id, "a note"); err != nil {
			t.Errorf("Discard of %s: %v", id, err)
		}
	}
	if left := deadLetters(t, dir); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	for _, id := range []string{"notes.json.bad", "../" + filepath.Base(path) + "/notes.json.bad", "notes.json.discarded", "", ".bad", "a\x00.bad"} {
		if err := dir.Discard(t.Context(), id, "a note"); !errors.Is(err, outbox.ErrNoDeadLetter) {
			t.Errorf("Discard of %q: %v, want %v", id, err, outbox.ErrNoDeadLetter)
		}
	}
}

// TestAnOperatorTakesADeadLetterOnce lets a Requeue and a Discard meet at the
// file.
func TestAnOperatorTakesADeadLetterOnce(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	id := setAside(t, dir, "a")
	release := disk.Hold(faultfs.Publish)
	discarded := make(chan error, 1)
	published := called(disk, faultfs.Publish)
	go func() { discarded <- dir.Discard(t.Context(), id, "the room is closed") }()
	eventually(t, "Discard writes the reason", func() bool { return called(disk, faultfs.Publish) == published+1 })
	if err := dir.Requeue(t.Context(), id); err != nil {
		t.Errorf("Requeue: %v", err)
	}
	release()
	if err := <-discarded; !errors.Is(err, outbox.ErrNoDeadLetter) {
		t.Errorf("Discard: %v, want %v", err, outbox.ErrNoDeadLetter)
	}
	wantPending(t, dir, "a", "b")
	if left := files(t, path); len(left) != 2 {
		t.Errorf("files %q, want two records", left)
	}
	if s := stats(t, dir); s.DeadLetters != 0 || s.HeldBack != 0 {
		t.Errorf("stats %+v, want no dead letter", s)
	}
}

// TestDiscardBesideSetAside discards a file that has its name and not yet its
// reason.
func TestDiscardBesideSetAside(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir(), DeadLetterPolicy: outbox.HoldBack})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	record := nextRecords(t, dir)[0]
	created := called(disk, faultfs.Create)
	release := disk.Hold(faultfs.Create)
	aside := make(chan error, 1)
	go func() { aside <- dir.SetAside(t.Context(), record, outbox.Refusal{Reason: "unknown room"}) }()
	eventually(t, "SetAside writes the reason", func() bool { return called(disk, faultfs.Create) == created+1 })
	if err := dir.Discard(t.Context(), record.ID+".bad", "the room is closed"); err != nil {
		t.Errorf("Discard: %v", err)
	}
	release()
	if err := <-aside; err != nil {
		t.Errorf("SetAside: %v", err)
	}
	wantPending(t, dir, "b")
	wantHeldBack(t, dir, 0)
}

// TestARecordThatCannotBeSetAsideHoldsBackNothing has a disk that renames
// nothing, and then a name that is taken.
func TestARecordThatCannotBeSetAsideHoldsBackNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path, DeadLetterPolicy: outbox.HoldBack})
	put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
	record := nextRecords(t, dir)[0]
	disk.Fail(faultfs.Rename, 1, errDisk)
	if err := dir.SetAside(t.Context(), record, outbox.Refusal{Reason: "unknown room"}); !errors.Is(err, errDisk) {
		t.Errorf("SetAside: %v, want %v", err, errDisk)
	}
	wantPending(t, dir, "a", "b")
	wantHeldBack(t, dir, 0)
	writeFile(t, path, record.ID+".bad", "another's")
	setAside(t, dir, "a")
	wantPending(t, dir)
	if err := dir.Requeue(t.Context(), record.ID+".2.bad"); err != nil {
		t.Errorf("Requeue: %v", err)
	}
	wantPending(t, dir, "a", "b")
	wantHeldBack(t, dir, 0)
}

// TestTwoCallsOfNextDoNotHandOutOneRecord holds the first in the middle of its
// file.
func TestTwoCallsOfNextDoNotHandOutOneRecord(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", ""))
	opened := called(disk, faultfs.Open)
	release := disk.Hold(faultfs.Open)
	counts := make(chan int, 2)
	ask := func() {
		records, err := dir.Next(t.Context(), 10, nil)
		if err != nil {
			t.Errorf("Next: %v", err)
		}
		counts <- len(records)
	}
	go ask()
	eventually(t, "the first Next reads", func() bool { return called(disk, faultfs.Open) == opened+1 })
	ask()
	release()
	if got := <-counts + <-counts; got != 1 {
		t.Errorf("handed out %d times, want once", got)
	}
}
