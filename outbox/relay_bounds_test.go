package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// largeEvents returns events of some ordering keys in turn, which share their
// data of about so many bytes.
func largeEvents(n, keys, bytes int) []event.Event {
	base := outboxtest.WithData(outboxtest.NewEvent("base", ""), `"`+strings.Repeat("x", bytes)+`"`)
	events := make([]event.Event, n)
	for i := range events {
		events[i] = base
		events[i].Key.ID, events[i].ID, events[i].OrderingKey = fmt.Sprint(i), fmt.Sprint("event-", i), fmt.Sprint("line-", i%keys)
	}
	return events
}

// TestAHotOrderingKeyStarvesNoOther has far more records of some ordering keys
// than a relay takes at hand, all before that of another.
func TestAHotOrderingKeyStarvesNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		batching outbox.Batching
		hot      int // ordering keys, no more than calls that may be out
		data     int // bytes of each record
	}{
		{"one by one", outbox.Batching{}, 1, 10},
		{"one by one, as many as calls", outbox.Batching{}, 3, 10},
		{"in batches", outbox.Batching{MaxEvents: 20}, 3, 10},
		{"in ordered batches", outbox.Batching{MaxEvents: 20, InOrder: true}, 3, 10},
		{"of large records", outbox.Batching{}, 3, 1_000_000},
		{"of large records in batches", outbox.Batching{MaxEvents: 1000}, 3, 1_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				r := startBatches(t, c.batching, outbox.RelayConfig{Concurrency: 4}, "", func(r *batchRun) {
					r.claims.put(largeEvents(500*c.hot, c.hot, c.data)...)
					r.claims.put(outboxtest.NewEvent("cold", "cold"))
					r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
						if e.Key.ID == "cold" {
							return outboxtest.Fault{}
						}
						return outboxtest.Fault{Hold: gate}
					}
				})
				pass(outbox.DefaultAttemptTimeout / 2)
				if ids, _ := r.claims.left(); len(ids) != 500*c.hot {
					t.Error("the cold record waits for the hot ones")
				}
				close(gate)
				r.finish(t)
			})
		})
	}
}

// TestWhatIsAtHandIsBounded has a destination that takes nothing, and looks at
// how much the relay takes from a large source meanwhile.
func TestWhatIsAtHandIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		batching outbox.Batching
		keys     int
		data     int
		most     int // records
	}{
		// 2 calls: 8 records a fetch, 64 of an ordering key are enough, and 256
		// altogether, besides what a fetch adds.
		{"one ordering key", outbox.Batching{}, 1, 10, 64 + 8},
		{"many", outbox.Batching{}, 5000, 10, 2 + 8},
		// 20 records a call: 80 are enough of an ordering key.
		{"one, in ordered batches", outbox.Batching{MaxEvents: 40, InOrder: true}, 1, 10, 80 + 320},
		// 64 MiB in all and 8 MiB a fetch, or 4 MiB of an ordering key.
		{"large records", outbox.Batching{MaxEvents: 1000}, 5000, 500_000, (64+8)<<20/500_000 + 128},
		{"large records of one ordering key", outbox.Batching{MaxEvents: 1000}, 1, 500_000, 8<<20/500_000 + 128},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startBatches(t, c.batching, outbox.RelayConfig{Concurrency: 2}, "", func(r *batchRun) {
					r.claims.put(largeEvents(5000, c.keys, c.data)...)
					r.courier.before = func(ctx context.Context) { <-ctx.Done() }
				})
				if r.claims.most > c.most || r.claims.most == 0 {
					t.Errorf("%d records were at hand at once, want %d at most", r.claims.most, c.most)
				}
				r.finish(t)
			})
		})
	}
}

func TestMaxRateIsKept(t *testing.T) {
	t.Parallel()
	for _, batching := range []outbox.Batching{{}, {MaxEvents: 50}} {
		synctest.Test(t, func(t *testing.T) {
			r := startBatches(t, batching, outbox.RelayConfig{MaxRate: 100}, "", func(r *batchRun) {
				r.claims.put(largeEvents(500, 500, 10)...)
			})
			for second := range 4 {
				pass(time.Second)
				want := 100 * (second + 1)
				if got := len(r.sender.Attempts()); got < want-10 || got > want+10 {
					t.Errorf("%d events in %d s, want %d give or take what a tenth of a second brings", got, second+1, want)
				}
			}
			pass(3 * time.Second)
			r.wantPending(t, "")
			r.finish(t)
		})
	}
}

// TestMaxRateHoldsForProbesToo has a destination that comes back while there is
// no room.
func TestMaxRateHoldsForProbesToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{MaxRate: 0.1, DownAfter: 1, MinBackoff: time.Second}, "a0 b0", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a0": {Err: outboxtest.ErrUnavailable}})
		})
		pass(9 * time.Second)
		r.wantCalls(t, "a0")
		pass(2 * time.Second)
		r.wantCalls(t, "a0", "b0")
		pass(10 * time.Second)
		r.wantCalls(t, "a0", "b0", "a0")
		r.finish(t)
	})
}

// TestCallsRiseWithSuccessesAndFallWithFailures watches how many are out.
func TestCallsRiseWithSuccessesAndFallWithFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, most atomic.Int64
		var fails atomic.Bool
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Concurrency: 64, DownAfter: 1000}, "", func(r *batchRun) {
			r.claims.put(largeEvents(1500, 1500, 10)...)
			r.courier.before = func(context.Context) {
				most.Store(max(most.Load(), out.Add(1)))
				<-time.After(100 * time.Millisecond)
				out.Add(-1)
			}
			r.sender.Fault = func(event.Event, int) outboxtest.Fault {
				if fails.Load() {
					return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
				}
				return outboxtest.Fault{}
			}
		})
		if got := most.Load(); got != 4 {
			t.Errorf("%d calls were out at the beginning, want 4", got)
		}
		pass(time.Second)
		if got := most.Load(); got < 63 {
			t.Errorf("%d calls were out in the first second, want 64", got)
		}
		fails.Store(true)
		pass(150 * time.Millisecond)
		fails.Store(false)
		most.Store(0)
		pass(100 * time.Millisecond)
		if got := most.Load(); got == 0 || got > 40 {
			t.Errorf("%d calls were out after the failures, want about half of 64", got)
		}
		r.finish(t)
	})
}

// TestAFailureOfOneEventAloneTakesNoSuccessFromItsCall has it stand last in each
// of as many calls as may be out.
func TestAFailureOfOneEventAloneTakesNoSuccessFromItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newClaims(t)
		source.put(largeEvents(8, 8, 10)...)
		sender := &outboxtest.Sender{Batch: outbox.Batching{MaxEvents: 2}, Fault: func(e event.Event, _ int) outboxtest.Fault {
			if strings.ContainsAny(e.Key.ID, "1357") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: true}
			}
			return outboxtest.Fault{}
		}}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
		stop := runInBubble(t, relay)
		if pace := frontier(t, relay).Pace; pace <= 4 {
			t.Errorf("the pace is %d after calls that delivered, want more than at the beginning", pace)
		}
		stop()
	})
}

// TestThePaceRisesAgainAfterAFailure has one call fail, which halves it, and then
// many succeed.
func TestThePaceRisesAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, events := newClaims(t), largeEvents(100, 100, 10)
		source.put(events[0])
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: &outboxtest.Sender{Fault: failing("0", 1)}})
		stop := runInBubble(t, relay)
		if pace := frontier(t, relay).Pace; pace != 2 {
			t.Errorf("the pace is %d after a failure, want 2", pace)
		}
		source.put(events[1:]...)
		synctest.Wait()
		if pace := frontier(t, relay).Pace; pace <= 2 {
			t.Errorf("the pace is %d after 99 successes, want more than 2", pace)
		}
		stop()
	})
}
