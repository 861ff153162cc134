package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// startLeased is startBatches over a source with leases that end after a time.
func startLeased(t *testing.T, batching outbox.Batching, lasts time.Duration, ids string, prepare func(*batchRun, *leasing)) *batchRun {
	t.Helper()
	source := &leasing{until: func() time.Time { return time.Now().Add(lasts) }}
	return startBatches(t, batching, outbox.RelayConfig{Source: source, Concurrency: 1, DownAfter: 1}, ids, func(r *batchRun) {
		source.claims = r.claims
		if prepare != nil {
			prepare(r, source)
		}
	})
}

func TestACallEndsWithItsLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lease, want time.Duration }{
		{time.Second, time.Second},
		{time.Minute, outbox.DefaultAttemptTimeout},
	} {
		t.Run(c.lease.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got time.Duration
				r := startLeased(t, outbox.Batching{}, c.lease, "a0", func(r *batchRun, _ *leasing) {
					r.courier.before = func(ctx context.Context) {
						deadline, _ := ctx.Deadline()
						got = time.Until(deadline)
					}
				})
				if got != c.want {
					t.Errorf("the call may take %v, want %v", got, c.want)
				}
				r.finish(t)
			})
		})
	}
}

// TestTheEndOfALeaseIsNotTheDestinationsFault has a call stall. A destination
// that is to blame for that counts as down, and gets no other at once.
func TestTheEndOfALeaseIsNotTheDestinationsFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease, ends time.Duration
		want        []string
	}{
		"lease":   {time.Second, time.Second, []string{"a0", "b0"}},
		"timeout": {time.Minute, outbox.DefaultAttemptTimeout, []string{"a0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startLeased(t, outbox.Batching{}, c.lease, "a0 b0", func(r *batchRun, _ *leasing) {
					r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a0": {Stall: true}})
				})
				pass(c.ends)
				r.wantCalls(t, c.want...)
				r.finish(t)
			})
		})
	}
}

func TestALeaseThatIsOverSendsNothing(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, -time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := startLeased(t, outbox.Batching{}, lease, "a0", nil)
			pass(time.Minute)
			r.wantCalls(t)
			r.wantPending(t, "a0")
			if tries := r.log.count("lease is over"); tries < 3 || tries > 10 {
				t.Errorf("%d tries in a minute, want some with back-off", tries)
			}
			r.finish(t)
		})
	}
}

func TestWhatIsNotLeasedIsForgotten(t *testing.T) {
	t.Parallel()
	for _, inOrder := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			lost := false
			r := startLeased(t, outbox.Batching{MaxEvents: 9, InOrder: inOrder}, time.Minute, "a0 b0 a1 a2", func(r *batchRun, s *leasing) {
				s.onLease = func() {
					if !lost {
						lost = true
						r.claims.moveAway("a")
					}
				}
			})
			r.wantCalls(t, "b0")
			if got := r.claims.released; slices.Contains(got, "a0") {
				t.Errorf("released %q, want nothing that was not leased", got)
			}
			r.claims.moveBack()
			synctest.Wait()
			r.wantPending(t, "")
			r.finish(t)
		})
	}
}

func TestALeaseIsDoneWhenTheSourceWasTold(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]outboxtest.Fault{
		"delivered": {}, "refused": {Refuse: "no"}, "failed": {Err: outboxtest.ErrUnavailable}, "panic": {Panic: true}, "exit": {Exit: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var source *leasing
				told := -1 // How many leases were open when the source was told.
				r := startLeased(t, outbox.Batching{}, time.Minute, "a0", func(r *batchRun, s *leasing) {
					source = s
					r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a0": fault})
					r.claims.onRemove = func([]string) error {
						told = s.leases()
						return nil
					}
				})
				if open := source.leases(); open != 0 {
					t.Errorf("%d leases are open after the call", open)
				}
				if len(source.during) > 0 {
					told = source.during[0]
				}
				if told != 1 && name != "refused" {
					t.Errorf("%d leases were open when the source was told, want 1", told)
				}
				r.finish(t)
			})
		})
	}
}

// TestALeaseLostAfterTheCallIsNoFailure has the record go to another relay,
// which delivers it once more, while the call is out.
func TestALeaseLostAfterTheCallIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := false
		r := startLeased(t, outbox.Batching{}, time.Minute, "a0 a1 b0", func(r *batchRun, _ *leasing) {
			r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
				if e.Key.ID == "a0" && !lost {
					lost = true
					r.claims.lose("a")
				}
				return outboxtest.Fault{}
			}
		})
		// No rest, and in order: all in no time.
		r.wantAttemptsAt(t, "a", "a0 1", "a0 2", "a1 1")
		r.wantPending(t, "")
		if r.log.count("level=WARN", "another relay's now") != 1 {
			t.Errorf("log %q, want one warning", r.log.lines)
		}
		r.finish(t)
	})
}

// TestALeaseWithoutAnEndIsNone has a source that breaks its contract: nothing is
// sent without a bound.
func TestALeaseWithoutAnEndIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &leasing{until: func() time.Time { return time.Time{} }}
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Source: source}, "a0", func(r *batchRun) { source.claims = r.claims })
		pass(time.Minute)
		r.wantCalls(t)
		r.wantPending(t, "a0")
		r.finish(t)
	})
}

// losing loses an ordering key in the middle of a Lease, which leases what stands
// behind the first record of it.
type losing struct{ *leasing }

func (s losing) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	leased, until, done = s.leasing.Lease(records)
	s.moveAway("a")
	return slices.DeleteFunc(slices.Clone(leased), func(r outbox.Record) bool { return r.Event.Key.ID == "a0" }), until, done
}

// TestNothingPassesWhatIsNotLeased leaves out the first of three of an ordering
// key: the others are not sent either (I8).
func TestNothingPassesWhatIsNotLeased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := losing{&leasing{until: func() time.Time { return time.Now().Add(time.Minute) }}}
		batching := outbox.Batching{MaxEvents: 9, InOrder: true}
		r := startBatches(t, batching, outbox.RelayConfig{Source: source}, "a0 b0 a1 a2", func(r *batchRun) { source.claims = r.claims })
		r.wantCalls(t, "b0")
		r.wantPending(t, "a0 a1 a2")
		r.finish(t)
	})
}

// withholding is a source that hands records out and does not lease them, until
// it was asked so often.
type withholding struct {
	*leasing
	asked *int
	until int
}

func (s withholding) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	leased, until, done = s.leasing.Lease(records)
	if *s.asked < s.until {
		leased = nil
		s.lose("a")
	}
	return leased, until, done
}

// TestALeaseThatIsLostAgainAndAgainRests has a source hand out what it takes back
// each time, before or after the call.
func TestALeaseThatIsLostAgainAndAgainRests(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after the call %v", after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const enough = 100 // A relay that never rests must come to an end.
				began := time.Now()
				var at []float64 // when each call began
				asked := 0
				leases := &leasing{
					until: func() time.Time { return time.Now().Add(time.Minute) },
					onLease: func() {
						at = append(at, time.Since(began).Seconds())
						asked++
					},
				}
				var source outbox.LeasedSource = leases
				if !after {
					source = withholding{leases, &asked, enough}
				}
				cfg := outbox.RelayConfig{Source: source, Random: func() float64 { return 0 }}
				r := startBatches(t, outbox.Batching{}, cfg, "a0", func(r *batchRun) {
					leases.claims = r.claims
					r.claims.onRemove = func([]string) error {
						if after && asked < enough {
							return outbox.ErrLeaseLost
						}
						return nil
					}
				})
				pass(time.Minute)
				if diff := cmp.Diff([]float64{0, 0, 1, 3, 7, 15, 31}, at); diff != "" {
					t.Errorf("seconds at which calls began (-want +got):\n%s", diff)
				}
				r.wantPending(t, "a0")
				r.finish(t)
			})
		})
	}
}

// TestASuccessEndsTheCountOfLostLeases has every other call lose its lease.
func TestASuccessEndsTheCountOfLostLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		removes := 0
		r := startLeased(t, outbox.Batching{}, time.Minute, "a0 a1 a2 a3", func(r *batchRun, _ *leasing) {
			r.claims.onRemove = func([]string) error {
				if removes++; removes%2 == 1 {
					return outbox.ErrLeaseLost
				}
				return nil
			}
		})
		r.wantCalls(t, "a0", "a0", "a1", "a1", "a2", "a2", "a3", "a3")
		r.wantPending(t, "")
		r.finish(t)
	})
}

// TestALostLeaseForgetsNoFailures has one between two failures.
func TestALostLeaseForgetsNoFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []float64
		cfg := outbox.RelayConfig{Random: func() float64 { return 0 }}
		r := startBatches(t, outbox.Batching{}, cfg, "a0", func(r *batchRun) {
			r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
				at = append(at, time.Since(began).Seconds())
				if n != 2 {
					return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
				}
				return outboxtest.Fault{}
			}
			r.claims.onRemove = func([]string) error { return outbox.ErrLeaseLost }
		})
		pass(6 * time.Second)
		if diff := cmp.Diff([]float64{0, 1, 1, 3}, at); diff != "" {
			t.Errorf("seconds at which calls began (-want +got):\n%s", diff)
		}
		r.finish(t)
	})
}

// TestACallThatItsLeaseCutsOffSlowsNothingDown compares the pace after one with
// that after one whose time is up, which halves it whatever the sender says.
func TestACallThatItsLeaseCutsOffSlowsNothingDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lease time.Duration
		want  int
	}{{time.Second, 4}, {time.Minute, 2}} {
		synctest.Test(t, func(t *testing.T) {
			source := &leasing{claims: newClaims(t), until: func() time.Time { return time.Now().Add(c.lease) }}
			source.put(outboxtest.NewEvent("a0", "a"))
			sender := &outboxtest.Sender{Fault: func(event.Event, int) outboxtest.Fault {
				return outboxtest.Fault{Stall: true, Err: outboxtest.ErrUnavailable, EventAlone: true}
			}}
			relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
			stop := runInBubble(t, relay)
			pass(min(c.lease, outbox.DefaultAttemptTimeout))
			if pace := frontier(t, relay).Pace; pace != c.want {
				t.Errorf("lease of %v: the pace is %d, want %d", c.lease, pace, c.want)
			}
			stop()
		})
	}
}

func TestALeaseThatIsLostBeforeTheCallIsNotTheDestinationsFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := false
		r := startLeased(t, outbox.Batching{}, time.Minute, "b0 c0", func(r *batchRun, s *leasing) {
			s.onLease = func() {
				if !lost {
					lost = true
					r.claims.moveAway("b")
				}
			}
		})
		r.wantCalls(t, "c0") // At once: the destination does not count as down.
		r.finish(t)
	})
}

// TestWhatIsNotLeasedIsNotCounted loses one of two ordering keys of a call, and then
// all that a call has.
func TestWhatIsNotLeasedIsNotCounted(t *testing.T) {
	t.Parallel()
	for ids, want := range map[string]outbox.Counts{"a0 a1 b0": {Calls: 1, Sent: 1, Delivered: 1}, "a0": {}} {
		synctest.Test(t, func(t *testing.T) {
			source := losing{&leasing{claims: newClaims(t), until: func() time.Time { return time.Now().Add(time.Minute) }}}
			for _, id := range strings.Fields(ids) {
				source.put(outboxtest.NewEvent(id, id[:1]))
			}
			sender := &outboxtest.Sender{Batch: outbox.Batching{MaxEvents: 9, InOrder: true}}
			relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
			stop := runInBubble(t, relay)
			if diff := cmp.Diff(want, frontier(t, relay).Counts); diff != "" {
				t.Errorf("counts of %q (-want +got):\n%s", ids, diff)
			}
			stop()
		})
	}
}
