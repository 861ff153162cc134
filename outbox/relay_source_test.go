package outbox_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestASourceThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, call := range []outboxtest.SourceCall{outboxtest.Next, outboxtest.Remove} {
		t.Run(string(call), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r running
				r.source.Fail(call, errDisk, errDisk)
				r.put(outboxtest.NewEvent("a", ""))
				began := time.Now()
				r.start(t, outbox.RelayConfig{DownAfter: 1})
				r.wantLeft(t, "a")
				if r.log.count("level=ERROR", errDisk.Error()) != 1 {
					t.Errorf("log %q, want one alarm", r.log.lines)
				}
				for len(r.source.Pending()) > 0 && time.Since(began) < time.Minute {
					pass(100 * time.Millisecond)
				}
				if took := time.Since(began); took < 1500*time.Millisecond || took > 3100*time.Millisecond {
					t.Errorf("delivered after %v, want after two back-offs, 1.5s to 3s", took)
				}
				r.finish(t)
			})
		})
	}
}

// TestASourceThatWorkedInBetweenIsTriedAgainSoon has failures that are far
// apart: the back-off begins anew.
func TestASourceThatWorkedInBetweenIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.start(t, outbox.RelayConfig{Random: func() float64 { return 0 }})
		for i := range 5 {
			r.source.Fail(outboxtest.Next, errDisk)
			r.put(outboxtest.NewEvent(string(rune('a'+i)), ""))
			pass(outbox.DefaultMinBackoff)
			r.wantLeft(t)
		}
		r.finish(t)
	})
}

func TestASourceThatFailsDoesNotCountAgainstTheDestination(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.source.Fail(outboxtest.Remove, errDisk)
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{DownAfter: 1})
		r.put(outboxtest.NewEvent("b", ""))
		synctest.Wait()
		r.wantAttempts(t, "a 1", "b 1")
		r.finish(t)
	})
}

func TestADirectoryIsDeliveredAsItFills(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir := openDir(t, path)
		var r running
		r.sender.Fault = failing("a", 2)
		r.start(t, outbox.RelayConfig{Source: dir})
		put(t, dir, outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"))
		pass(time.Minute)
		isOfY := func(attempt string) bool { return attempt == "c 1" } // It may come at any point beside those of x.
		if diff := cmp.Diff([]string{"a 1", "a 2", "a 3", "b 1"}, slices.DeleteFunc(r.attempted(), isOfY)); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if left := files(t, path); len(left) != 0 {
			t.Errorf("files %q are left", left)
		}
		closeDir(t, dir)
		if err := <-r.result; !errors.Is(err, outbox.ErrClosed) {
			t.Errorf("Run over a closed source: %v, want %v", err, outbox.ErrClosed)
		}
		r.stop()
	})
}
