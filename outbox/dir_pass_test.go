package outbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// nextUnderWay begins a Next and holds it in the middle of the first file that
// it reads. It returns what lets it go on, and then what was handed out.
func nextUnderWay(t *testing.T, dir *outbox.Dir, disk *faultfs.FS) (finish func() []string) {
	t.Helper()
	opened := called(disk, faultfs.Open)
	release := disk.Hold(faultfs.Open)
	handedOut := make(chan []string, 1)
	go func() {
		records, err := dir.Next(t.Context(), 10, nil)
		if err != nil {
			t.Errorf("Next: %v", err)
		}
		handedOut <- ids(records)
	}()
	eventually(t, "Next reads", func() bool { return called(disk, faultfs.Open) == opened+1 })
	return func() []string {
		release()
		return <-handedOut
	}
}

func ids(records []outbox.Record) []string {
	ids := []string{}
	for _, record := range records {
		ids = append(ids, record.Event.Key.ID)
	}
	return ids
}

// openHeldBack opens a directory in which a dead letter holds back what stands
// on both sides of a record of another ordering key.
func openHeldBack(t *testing.T) (dir *outbox.Dir, disk *faultfs.FS, letter string) {
	t.Helper()
	dir, disk = openFaulty(t, outbox.DirConfig{Path: t.TempDir(), DeadLetterPolicy: outbox.HoldBack})
	put(
		t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"),
		outboxtest.NewEvent("other", "y"), outboxtest.NewEvent("c", "x"),
	)
	return dir, disk, setAside(t, dir, "a")
}

// TestNextPassesNoRecordThatADeadLetterSetsFree ends what a dead letter holds
// back while Next is past some of it.
func TestNextPassesNoRecordThatADeadLetterSetsFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(dir *outbox.Dir, letter string) error
		left []string
	}{
		"requeued": {
			func(dir *outbox.Dir, letter string) error { return dir.Requeue(t.Context(), letter) },
			[]string{"a", "b", "c"},
		},
		"discarded": {
			func(dir *outbox.Dir, letter string) error { return dir.Discard(t.Context(), letter, "a test") },
			[]string{"b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, disk, letter := openHeldBack(t)
			finish := nextUnderWay(t, dir, disk)
			if err := c.end(dir, letter); err != nil {
				t.Errorf("the dead letter stays: %v", err)
			}
			if diff := cmp.Diff([]string{"other"}, finish()); diff != "" {
				t.Errorf("handed out (-want +got):\n%s", diff)
			}
			wantPending(t, dir, c.left...)
		})
	}
}

// TestASecondNextLeavesTheFirstItsLimits begins when a dead letter was
// discarded, and ends before the first one does.
func TestASecondNextLeavesTheFirstItsLimits(t *testing.T) {
	t.Parallel()
	dir, disk, letter := openHeldBack(t)
	finish := nextUnderWay(t, dir, disk)
	if err := dir.Discard(t.Context(), letter, "a test"); err != nil {
		t.Fatal(err)
	}
	records, err := dir.Next(t.Context(), 1, nil)
	if diff := cmp.Diff([]string{"other"}, ids(records)); diff != "" || err != nil {
		t.Errorf("the second hands out (-want +got):\n%s%v", diff, err)
	}
	if diff := cmp.Diff([]string{}, finish()); diff != "" {
		t.Errorf("the first hands out (-want +got):\n%s", diff)
	}
	wantPending(t, dir, "b", "c")
}
