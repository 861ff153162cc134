package outbox_test

import (
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

func TestADestinationThatIsDownIsProbedAndNotHammered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		began := time.Now()
		r.sender.Fault = func(event.Event, int) outboxtest.Fault {
			if time.Since(began) < time.Hour {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range 1000 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("%04d", i), ""))
		}
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour - time.Second)
		// Eight were out when it went down. Then one probe each 15 to 30 s,
		// after five that came closer together.
		if attempts := len(r.sender.Attempts()); attempts < 120 || attempts > 260 {
			t.Errorf("%d attempts in an hour, want one in 15 to 30 s", attempts)
		}
		pass(time.Minute)
		r.wantLeft(t)
		r.finish(t)
	})
}

// TestADestinationThatIsDownIsLeftAloneAsItAsks has one that names a time at each
// probe.
func TestADestinationThatIsDownIsLeftAloneAsItAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault {
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable, RetryAfter: 2 * time.Minute}
		}
		for i := range 10 {
			r.put(outboxtest.NewEvent(fmt.Sprint(i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1, DownAfter: 1})
		for probes := range 5 {
			if got := len(r.sender.Attempts()); got != probes+1 {
				t.Errorf("%d attempts after %d minutes, want %d", got, 2*probes, probes+1)
			}
			pass(2 * time.Minute)
		}
		r.finish(t)
	})
}

// TestRecordsThatFailAloneCannotKeepOthersWaiting has more failing records than
// make a destination count as down, and than the relay holds at once.
func TestRecordsThatFailAloneCannotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 300 // With one call, 128 are at hand.
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range bad {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%03d", i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		pass(6 * time.Hour)
		for i := range 10 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("good-%d", i), ""))
			pass(outbox.DefaultMaxBackoff)
			if left := len(r.source.Pending()); left != bad {
				t.Errorf("good record %d was not delivered within the longest back-off: %d left", i, left)
			}
		}
		r.finish(t)
	})
}

// TestAnEventThatFailsAloneHoldsBackNoOther has failing records that are all
// older than the good one and were never sent before, as after a restart.
func TestAnEventThatFailsAloneHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: true}
			}
			return outboxtest.Fault{}
		}
		for i := range 1000 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%03d", i), ""))
		}
		r.put(outboxtest.NewEvent("good", ""))
		r.start(t, outbox.RelayConfig{})
		if taken := r.sender.Taken(); len(taken) != 1 {
			t.Errorf("%d records were taken at once, want the good one", len(taken))
		}
		if left := len(r.source.Pending()); left != 1000 {
			t.Errorf("%d records are left, want the bad ones", left)
		}
		r.finish(t)
	})
}

func TestASuccessInBetweenKeepsADestinationUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range 3 * outbox.DefaultDownAfter {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%02d", i), ""), outboxtest.NewEvent(fmt.Sprintf("good-%02d", i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		if taken := r.sender.Taken(); len(taken) != 3*outbox.DefaultDownAfter {
			t.Errorf("%d records were taken at once, want every good one", len(taken))
		}
		r.finish(t)
	})
}

// TestWhatEndsAnOutage has a destination that is down answer a probe, while two
// others wait: where it counts as up again, both are out at once.
func TestWhatEndsAnOutage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer outboxtest.Fault
		accept bool
		ends   bool
	}{
		{"a receipt", outboxtest.Fault{}, false, true},
		{"a refusal", outboxtest.Fault{Refuse: "no"}, false, true},
		{"a failure of the event alone", outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: true}, false, true},
		{"a broker's word", outboxtest.Fault{Published: true}, true, true},
		{"a broker's rejection", outboxtest.Fault{Reject: "no"}, true, true},
		{"a failure", outboxtest.Fault{Err: outboxtest.ErrUnavailable}, false, false},
		{"a broker's word that does not count", outboxtest.Fault{Published: true}, false, false},
		{"a broker's rejection that does not count", outboxtest.Fault{Reject: "no"}, false, false},
		{"a bare success", outboxtest.Fault{Bare: true}, true, false},
		{"a panic", outboxtest.Fault{Panic: true}, false, false},
		{"silence", outboxtest.Fault{Stall: true}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				var r running
				r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
					return map[string]outboxtest.Fault{
						"a": {Err: outboxtest.ErrUnavailable}, "b": c.answer, "c": {Hold: gate}, "d": {Hold: gate},
					}[e.Key.ID]
				}
				r.put(outboxtest.NewEvent("a", ""))
				r.start(t, outbox.RelayConfig{DownAfter: 1, AttemptTimeout: time.Millisecond, AcceptPublished: c.accept})
				for _, id := range []string{"b", "c", "d"} {
					r.put(outboxtest.NewEvent(id, ""))
				}
				pass(outbox.DefaultMinBackoff + time.Millisecond)
				want := []string{"a 1", "b 1"}
				if c.ends {
					want = append(want, "c 1", "d 1")
				}
				got := r.attempted()
				slices.Sort(got) // Those that are out began together.
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				close(gate)
				r.finish(t)
			})
		})
	}
}

// TestWhatShowsThatADestinationWorksEndsTheCountOfFailures has one key fewer fail
// than make a destination count as down, then one alone, and then as many again.
func TestWhatShowsThatADestinationWorksEndsTheCountOfFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Concurrency: 1, DownAfter: 3}, "a0 b0 c0 d0 e0 f0 g0", func(r *batchRun) {
			r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: e.Key.ID == "c0"}
			}
		})
		r.wantCalls(t, "a0", "b0", "c0", "d0", "e0", "f0")
		r.finish(t)
	})
}

// TestAnEventThatIsNotSentIsNoSignOfTheDestination has such events between those
// that fail: they don't count themselves, and leave the count as it is.
func TestAnEventThatIsNotSentIsNoSignOfTheDestination(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Concurrency: 1, DownAfter: 2}, "a0 b0 c0 d0 e0 f0", func(r *batchRun) {
			r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable, NotSent: e.Key.ID != "b0" && e.Key.ID != "e0"}
			}
		})
		r.wantCalls(t, "a0", "b0", "c0", "d0", "e0")
		r.finish(t)
	})
}

// TestAProbeThatIsNotSentOnlyMakesRoomForAnother has some such events, and then two
// that wait: the destination is still down, and gets the first of them alone.
func TestAProbeThatIsNotSentOnlyMakesRoomForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		cfg := outbox.RelayConfig{DownAfter: 1, Random: func() float64 { return 0 }}
		r := startBatches(t, outbox.Batching{}, cfg, "a0", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{
				"a0": {Err: outboxtest.ErrUnavailable},
				"b0": {Err: outboxtest.ErrUnavailable, NotSent: true}, "c0": {Err: outboxtest.ErrUnavailable, NotSent: true},
				"d0": {Hold: gate}, "e0": {Hold: gate},
			})
		})
		for _, id := range []string{"b0", "c0", "d0", "e0"} {
			r.claims.put(outboxtest.NewEvent(id, id[:1]))
		}
		pass(outbox.DefaultMinBackoff)
		r.wantCalls(t, "a0", "b0", "c0", "d0")
		close(gate)
		r.finish(t)
	})
}

// TestAProbeThatItsLeaseCutsOffOnlyPutsOffTheNextOne has two probes end so, and
// then one fail: the next one comes after the second delay, not the fourth.
func TestAProbeThatItsLeaseCutsOffOnlyPutsOffTheNextOne(t *testing.T) {
	t.Parallel()
	const cutOff = 3 * time.Second
	for _, c := range []struct {
		name   string
		lease  time.Duration // of those two
		answer outboxtest.Fault
		want   []float64
	}{
		{"in the middle of the call", cutOff, outboxtest.Fault{Stall: true}, []float64{0, 1, 1 + 3 + 1, 5 + 3 + 1, 9 + 2}},
		{"in the middle of the call, which the sender takes for the event's fault", cutOff, outboxtest.Fault{Stall: true, Err: outboxtest.ErrUnavailable, EventAlone: true}, []float64{0, 1, 1 + 3 + 1, 5 + 3 + 1, 9 + 2}},
		{"before the call", 0, outboxtest.Fault{Stall: true}, []float64{0, 1, 2, 3, 3 + 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var at []float64 // when each call began
				source := &leasing{onLease: func() { at = append(at, time.Since(began).Seconds()) }}
				source.until = func() time.Time {
					if n := len(at); n == 2 || n == 3 {
						return time.Now().Add(c.lease)
					}
					return time.Now().Add(time.Minute)
				}
				cfg := outbox.RelayConfig{Source: source, Concurrency: 1, DownAfter: 1, Random: func() float64 { return 0 }}
				r := startBatches(t, outbox.Batching{}, cfg, "a0 b0 c0 d0 e0", func(r *batchRun) {
					source.claims = r.claims
					r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
						switch e.Key.ID {
						case "a0", "d0":
							return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
						default:
							return c.answer
						}
					}
				})
				pass(time.Duration(c.want[4]+1) * time.Second)
				if diff := cmp.Diff(c.want, at); diff != "" {
					t.Errorf("seconds at which calls began (-want +got):\n%s", diff)
				}
				r.finish(t)
			})
		})
	}
}

// TestACallThatItsLeaseCutsOffPutsOffNoProbeButItsOwn has one that began before the
// destination went down.
func TestACallThatItsLeaseCutsOffPutsOffNoProbeButItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &leasing{until: func() time.Time { return time.Now().Add(900 * time.Millisecond) }}
		cfg := outbox.RelayConfig{Source: source, DownAfter: 1, Random: func() float64 { return 0 }}
		r := startBatches(t, outbox.Batching{}, cfg, "a0 b0", func(r *batchRun) {
			source.claims = r.claims
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a0": {Err: outboxtest.ErrUnavailable}, "b0": {Stall: true}})
		})
		r.claims.put(outboxtest.NewEvent("c0", "c"))
		pass(time.Second - time.Nanosecond)
		if sent := len(r.courier.sent()); sent != 2 {
			t.Errorf("%d calls before the first delay is over, want 2", sent)
		}
		pass(time.Nanosecond)
		r.wantPending(t, "b0")
		r.finish(t)
	})
}

// TestWhatFailsBesideWhatTookTheDestinationDownPutsOffNoProbe has five events fail
// at once, in one call and in four: the first probe comes after the first delay all
// the same, or as late as any answer asks for.
func TestWhatFailsBesideWhatTookTheDestinationDownPutsOffNoProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		batching outbox.Batching
		asks     string // the event whose answer asks for a minute
		want     time.Duration
	}{
		{"in a call", outbox.Batching{MaxEvents: 9}, "", outbox.DefaultMinBackoff},
		{"in several calls", outbox.Batching{}, "", outbox.DefaultMinBackoff},
		{"the first asks", outbox.Batching{MaxEvents: 9}, "a0", time.Minute},
		{"the last asks", outbox.Batching{MaxEvents: 9}, "e0", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				cfg := outbox.RelayConfig{DownAfter: 1, Random: func() float64 { return 0 }}
				r := startBatches(t, c.batching, cfg, "a0 b0 c0 d0 e0", func(r *batchRun) {
					r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
						if time.Since(began) > 0 {
							return outboxtest.Fault{}
						}
						fault := outboxtest.Fault{Err: outboxtest.ErrUnavailable}
						if e.Key.ID == c.asks {
							fault.RetryAfter = time.Minute
						}
						return fault
					}
				})
				failed := len(r.attempted())
				pass(c.want - time.Nanosecond)
				if got := len(r.attempted()); got != failed {
					t.Errorf("%d attempts before the delay is over, want %d", got, failed)
				}
				pass(time.Nanosecond)
				if got := len(r.attempted()); got == failed {
					t.Errorf("no probe %v after the failures", c.want)
				}
				r.finish(t)
			})
		})
	}
}

// TestAnOutageThatEndedPutsOffNoProbeOfTheNextOne has the first outage end before the
// time that the destination asked for.
func TestAnOutageThatEndedPutsOffNoProbeOfTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		cfg := outbox.RelayConfig{DownAfter: 1, Random: func() float64 { return 0 }}
		r := startBatches(t, outbox.Batching{}, cfg, "a0 b0", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{
				"a0": {Err: outboxtest.ErrUnavailable, RetryAfter: time.Minute},
				"b0": {Hold: gate},
				"c0": {Err: outboxtest.ErrUnavailable},
			})
		})
		close(gate)
		synctest.Wait()
		for _, id := range []string{"c0", "d0"} {
			r.claims.put(outboxtest.NewEvent(id, id[:1]))
			synctest.Wait()
		}
		if got := r.courier.sent(); len(got) != 3 {
			t.Errorf("calls %q while the destination is down again, want no fourth", got)
		}
		pass(outbox.DefaultMinBackoff)
		r.wantAttemptsAt(t, "d", "d0 1")
		r.finish(t)
	})
}

func TestASuccessBeforeAFailureOfTheSameCallKeepsADestinationUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{DownAfter: 1}, "a0 b0", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{"b0": {Err: outboxtest.ErrUnavailable}})
		})
		r.claims.put(outboxtest.NewEvent("c0", "c"))
		synctest.Wait()
		r.wantCalls(t, "a0 b0", "c0")
		r.finish(t)
	})
}

func TestAProbeHasOneEventThoughACallTakesMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{DownAfter: 1}, "a0", func(r *batchRun) {
			r.sender.Fault = failing("a0", 9)
		})
		for _, id := range []string{"b0", "c0", "d0"} {
			r.claims.put(outboxtest.NewEvent(id, id[:1]))
		}
		pass(outbox.DefaultMinBackoff)
		if calls := r.courier.sent(); len(calls) < 2 || len(calls[1]) != 1 {
			t.Errorf("calls %q, want a probe with one event", calls)
		}
		r.wantPending(t, "a0")
		r.finish(t)
	})
}
