package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestAnOperatorsCallThatIsCancelledDoesNothing cancels it before it begins.
func TestAnOperatorsCallThatIsCancelledDoesNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := openDir(t, path)
	put(t, dir, outboxtest.NewEvent("a", ""))
	id := setAside(t, dir, "a")
	before := files(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"DeadLetters": func() error { _, err := dir.DeadLetters(ctx, "", 1); return err },
		"Requeue":     func() error { return dir.Requeue(ctx, id) },
		"Discard":     func() error { return dir.Discard(ctx, id, "a test") },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
	}
	if diff := cmp.Diff(before, files(t, path)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// TestDiscardWritesAReasonThatAnybodyCanRead has a clock in a zone, and more to
// say than is kept.
func TestDiscardWritesAReasonThatAnybodyCanRead(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	at := time.Date(2026, 1, 31, 16, 4, 5, 0, time.FixedZone("", 3600))
	dir := openDirWith(t, outbox.DirConfig{Path: path, Now: func() time.Time { return at }})
	put(t, dir, outboxtest.NewEvent("a", ""))
	id := setAside(t, dir, "a")
	if err := dir.Discard(t.Context(), id, strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(path, strings.TrimSuffix(id, ".bad")+".discarded.reason"))
	if err != nil {
		t.Fatal(err)
	}
	var why struct {
		Time      string
		Discarded struct{ Time, Reason string }
	}
	if err := json.Unmarshal(content, &why); err != nil {
		t.Fatal(err)
	}
	if want := "2026-01-31T15:04:05Z"; why.Time != want || why.Discarded.Time != want {
		t.Errorf("times %s and %s, want %s", why.Time, why.Discarded.Time, want)
	}
	if reason := why.Discarded.Reason; len(reason) > 4200 || !strings.HasSuffix(reason, "x… (100000 bytes in all)") {
		t.Errorf("a reason of %d bytes, want one that is cut and says so", len(reason))
	}
}

// TestDiscardLeavesAReasonAloneThatHasNoFile comes after one that could clear
// nothing up.
func TestDiscardLeavesAReasonAloneThatHasNoFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var log logRecorder
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path, Logger: log.logger()})
	put(t, dir, outboxtest.NewEvent("a", ""))
	id := setAside(t, dir, "a")
	record := strings.TrimSuffix(id, ".bad")
	disk.Fail(faultfs.Rename, 1, errDisk)
	disk.Fail(faultfs.Remove, 1, errDisk)
	if err := dir.Discard(t.Context(), id, "first"); !errors.Is(err, errDisk) {
		t.Errorf("Discard: %v, want %v", err, errDisk)
	}
	if lines := log.count("level=WARN", "could not be discarded stays", record+".discarded"); lines != 1 {
		t.Errorf("%d lines tell of the reason that stays, want 1", lines)
	}
	if err := dir.Discard(t.Context(), id, "second"); err != nil {
		t.Errorf("Discard again: %v", err)
	}
	want := []string{record + ".2.discarded", record + ".2.discarded.reason", record + ".discarded.reason"}
	if diff := cmp.Diff(want, files(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	content, err := os.ReadFile(filepath.Join(path, record+".discarded.reason"))
	if err != nil || !strings.Contains(string(content), `"first"`) {
		t.Errorf("the first reason is now %s (%v)", content, err)
	}
}

// TestADeadLetterNeedsNoReason has two whose reason could not be kept. That is
// nothing that an operator must hear of again.
func TestADeadLetterNeedsNoReason(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, id := range []string{"a", "b"} {
		text, err := outbox.EncodeRecord(outboxtest.NewEvent(id, ""))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, recordFile(outboxtest.NewEvent(id, ""))+".bad", string(text))
	}
	var log logRecorder
	dir := openDirWith(t, outbox.DirConfig{Path: path, Logger: log.logger()})
	if err := dir.Requeue(t.Context(), recordFile(outboxtest.NewEvent("a", ""))+".bad"); err != nil {
		t.Errorf("Requeue: %v", err)
	}
	if err := dir.Discard(t.Context(), recordFile(outboxtest.NewEvent("b", ""))+".bad", "a test"); err != nil {
		t.Errorf("Discard: %v", err)
	}
	if lines := log.count("level="); lines != 0 {
		t.Errorf("%d lines were logged, want none", lines)
	}
}

// TestADeadLetterThatIsDiscardedMeanwhileIsNotListed discards it when it was
// found and not yet read.
func TestADeadLetterThatIsDiscardedMeanwhileIsNotListed(t *testing.T) {
	t.Parallel()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: t.TempDir()})
	put(t, dir, outboxtest.NewEvent("a", ""))
	id := setAside(t, dir, "a")
	opened := called(disk, faultfs.Open)
	release := disk.Hold(faultfs.Open)
	listed := make(chan []outbox.DeadLetter, 1)
	go func() {
		letters, err := dir.DeadLetters(t.Context(), "", 10)
		if err != nil {
			t.Errorf("DeadLetters: %v", err)
		}
		listed <- letters
	}()
	eventually(t, "DeadLetters reads", func() bool { return called(disk, faultfs.Open) == opened+1 })
	if err := dir.Discard(t.Context(), id, "a test"); err != nil {
		t.Fatal(err)
	}
	release()
	if letters := <-listed; len(letters) != 0 {
		t.Errorf("dead letters %+v, want none", letters)
	}
}
