package outbox_test

import (
	"context"
	"fmt"
	"runtime"
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

// batchRun is a relay over a source that checks claims and a sender of batches.
type batchRun struct {
	running
	claims  *claims
	courier *courier
}

// startBatches puts events named "x0", "x1", "y0" and so on, whose letter is
// their ordering key, and runs a relay over them.
func startBatches(t *testing.T, batching outbox.Batching, cfg outbox.RelayConfig, ids string, prepare func(*batchRun)) *batchRun {
	t.Helper()
	r := &batchRun{claims: newClaims(t)}
	r.courier = &courier{Sender: &r.sender, batching: batching}
	for _, id := range strings.Fields(ids) {
		r.claims.put(outboxtest.NewEvent(id, id[:1]))
	}
	if prepare != nil {
		prepare(r)
	}
	if cfg.Source == nil {
		cfg.Source = r.claims
	}
	if cfg.Sender == nil {
		cfg.Sender = r.courier
	}
	r.start(t, cfg)
	return r
}

func (r *batchRun) finish(t *testing.T) {
	t.Helper()
	r.running.finish(t)
	r.courier.wantKeysApart(t)
	if _, out := r.claims.left(); out != 0 {
		t.Errorf("%d records are not released after Run", out)
	}
}

// wantCalls compares the calls so far, each written as its ids with spaces.
func (r *batchRun) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	var calls []string
	for _, call := range r.courier.sent() {
		calls = append(calls, strings.Join(call, " "))
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// wantAttemptsAt compares the attempts at events of one ordering key.
func (r *batchRun) wantAttemptsAt(t *testing.T, ordering string, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(r.attempted(), func(attempt string) bool { return !strings.HasPrefix(attempt, ordering) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts at %s (-want +got):\n%s", ordering, diff)
	}
}

func (r *batchRun) wantPending(t *testing.T, want string) {
	t.Helper()
	ids, _ := r.claims.left()
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("pending %q, want %q", got, want)
	}
}

// faultAt lets the first attempt at some events fail in given ways.
func faultAt(faults map[string]outboxtest.Fault) func(event.Event, int) outboxtest.Fault {
	return func(e event.Event, n int) outboxtest.Fault {
		if n == 1 {
			return faults[e.Key.ID]
		}
		return outboxtest.Fault{}
	}
}

func TestWhatACallHas(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 100) // in JSON with its quotes 102 bytes
	for _, c := range []struct {
		name     string
		batching outbox.Batching
		ids      string
		large    string // ids of large events
		want     []string
	}{
		{"one by default", outbox.Batching{}, "a0 b0 c0", "", []string{"a0", "b0", "c0"}},
		{"as many as it takes, the oldest first", outbox.Batching{MaxEvents: 2}, "a0 b0 c0 d0 e0", "", []string{"a0 b0", "c0 d0", "e0"}},
		{"one of each ordering key", outbox.Batching{MaxEvents: 9}, "a0 a1 a2 b0 c0 c1", "", []string{"a0 b0 c0", "a1 c1", "a2"}},
		{"all of an ordering key, in order", outbox.Batching{MaxEvents: 9, InOrder: true}, "a0 b0 a1 c0 a2 c1", "", []string{"a0 a1 a2 b0 c0 c1"}},
		{"as many of an ordering key as it takes", outbox.Batching{MaxEvents: 2, InOrder: true}, "a0 b0 a1 a2", "", []string{"a0 a1", "b0 a2"}},
		{"as many bytes as it takes", outbox.Batching{MaxEvents: 9, MaxBytes: 204}, "a0 b0 c0", "a0 b0 c0", []string{"a0 b0", "c0"}},
		{"a large one alone", outbox.Batching{MaxEvents: 9, MaxBytes: 50}, "a0 b0 c0 d0", "b0", []string{"a0", "b0", "c0 d0"}},
		{"a large one alone in its ordering key", outbox.Batching{MaxEvents: 9, MaxBytes: 50, InOrder: true}, "a0 a1 a2 a3", "a1", []string{"a0", "a1", "a2 a3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startBatches(t, c.batching, outbox.RelayConfig{Concurrency: 1}, "", func(r *batchRun) {
					for _, id := range strings.Fields(c.ids) {
						e := outboxtest.NewEvent(id, id[:1])
						if slices.Contains(strings.Fields(c.large), id) {
							e = outboxtest.WithData(e, `"`+large+`"`)
						}
						r.claims.put(e)
					}
				})
				r.wantCalls(t, c.want...)
				r.wantPending(t, "")
				r.finish(t)
			})
		})
	}
}

func TestWhatWasDeliveredInACallIsRemovedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var removed []string
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{}, "a0 b0 c0 d0", func(r *batchRun) {
			r.claims.onRemove = func(ids []string) error {
				removed = append(removed, strings.Join(ids, " "))
				return nil
			}
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{
				"b0": {Err: outboxtest.ErrUnavailable}, "c0": {Refuse: "no"},
			})
		})
		if diff := cmp.Diff([]string{"a0 d0"}, removed); diff != "" {
			t.Errorf("calls of Remove (-want +got):\n%s", diff)
		}
		r.wantPending(t, "b0")
		r.finish(t)
	})
}

// TestWhatFollowsAnEventThatFailsWaits has the second of three fail, beside
// another ordering key that nothing holds up.
func TestWhatFollowsAnEventThatFailsWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault outboxtest.Fault
		now   []string // attempts at once
		later []string // after the rest
	}{
		{"an error", outboxtest.Fault{Err: outboxtest.ErrUnavailable}, []string{"a0 1", "a1 1"}, []string{"a1 2", "a2 1"}},
		{"a refusal", outboxtest.Fault{Refuse: "no"}, []string{"a0 1", "a1 1", "a2 1"}, nil},
	} {
		for _, inOrder := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in order %v", c.name, inOrder), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := startBatches(t, outbox.Batching{MaxEvents: 9, InOrder: inOrder}, outbox.RelayConfig{}, "a0 b0 a1 a2 b1", func(r *batchRun) {
						r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a1": c.fault})
					})
					r.wantAttemptsAt(t, "a", c.now...)
					r.wantAttemptsAt(t, "b", "b0 1", "b1 1")
					pass(time.Minute)
					r.wantAttemptsAt(t, "a", append(c.now, c.later...)...)
					r.wantPending(t, "")
					r.finish(t)
				})
			})
		}
	}
}

// overtaking is a sender that declares InOrder and delivers what follows a
// failure.
type overtaking struct{ inner *outboxtest.Sender }

func (overtaking) Batching() outbox.Batching { return outbox.Batching{MaxEvents: 9, InOrder: true} }

func (s overtaking) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	return s.inner.Send(ctx, batch)
}

func TestASenderThatDeclaresInOrderAndOvertakesIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]outboxtest.Fault{
		"after a failure": {Err: outboxtest.ErrUnavailable},
		"after a refusal": {Refuse: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s outboxtest.Sender
				s.Fault = faultAt(map[string]outboxtest.Fault{"a0": fault})
				r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Sender: overtaking{&s}}, "a0 a1 b0", func(r *batchRun) {
					r.claims.holdBack = true
				})
				if ids, _ := r.claims.left(); !slices.Contains(ids, "a1") || slices.Contains(ids, "b0") {
					t.Errorf("pending %q, want a1 kept and b0 gone", ids)
				}
				if r.log.count("level=ERROR", "alarm", "one before it in its ordering key failed", "key.id=a1") != 1 {
					t.Errorf("log %q, want an alarm about a1", r.log.lines)
				}
				r.finish(t)
			})
		})
	}
}

func TestASenderThatBreaksItsContractHasAllOfTheCallKept(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func([]outbox.Answer) []outbox.Answer{
		"a panic":          func([]outbox.Answer) []outbox.Answer { panic("ordered to panic") },
		"an end":           func([]outbox.Answer) []outbox.Answer { runtime.Goexit(); return nil },
		"an answer less":   func(a []outbox.Answer) []outbox.Answer { return a[1:] },
		"an answer more":   func(a []outbox.Answer) []outbox.Answer { return append(a, a[0]) },
		"no answer at all": func([]outbox.Answer) []outbox.Answer { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				breaker := &breaking{breakIt: breakIt}
				r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Sender: breaker, MinBackoff: time.Second}, "a0 b0 c0", func(r *batchRun) {
					breaker.inner = &r.sender
				})
				r.wantPending(t, "a0 b0 c0")
				if r.log.count("level=ERROR", "alarm") != 1 {
					t.Errorf("log %q, want one alarm", r.log.lines)
				}
				pass(time.Minute)
				r.wantPending(t, "")
				r.finish(t)
			})
		})
	}
}

// breaking is a sender whose first call ends as told.
type breaking struct {
	inner   *outboxtest.Sender
	breakIt func([]outbox.Answer) []outbox.Answer
	calls   int
}

func (*breaking) Batching() outbox.Batching { return outbox.Batching{MaxEvents: 9} }

func (s *breaking) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	answers := s.inner.Send(ctx, batch)
	if s.calls++; s.calls == 1 {
		return s.breakIt(answers)
	}
	return answers
}

func TestAFailedRemoveKeepsTheCallAndBlamesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := false
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{DownAfter: 1}, "a0 b0 a1", func(r *batchRun) {
			r.claims.onRemove = func([]string) error {
				if failed {
					return nil
				}
				failed = true
				return errDisk
			}
		})
		r.wantPending(t, "a0 b0 a1")
		if r.log.count("level=ERROR", "could not let go", "records=2") != 1 {
			t.Errorf("log %q, want one line about two records", r.log.lines)
		}
		r.claims.put(outboxtest.NewEvent("c0", "c"))
		synctest.Wait()
		r.wantPending(t, "a0 b0 a1") // Others go on: the destination is not down.
		pass(outbox.DefaultMinBackoff)
		r.wantPending(t, "")
		r.finish(t)
	})
}

// TestADeadLetterWaitsForWhatIsBeforeIt has a source that keeps a delivered
// record: what is refused behind it must not be set aside yet.
func TestADeadLetterWaitsForWhatIsBeforeIt(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errDisk, outbox.ErrLeaseLost} {
		synctest.Test(t, func(t *testing.T) {
			failed := false
			r := startBatches(t, outbox.Batching{MaxEvents: 9, InOrder: true}, outbox.RelayConfig{}, "a0 a1", func(r *batchRun) {
				r.claims.onRemove = func([]string) error {
					if failed {
						return nil
					}
					failed = true
					return err
				}
				r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
					if e.Key.ID == "a1" {
						return outboxtest.Fault{Refuse: "no"}
					}
					return outboxtest.Fault{}
				}
			})
			pass(time.Minute)
			r.wantPending(t, "")
			r.wantAttempts(t, "a0 1", "a1 1", "a0 2", "a1 2")
			r.finish(t)
		})
	}
}

// TestARefusalCountsTheAttemptsAtItsOwnRecord has one that stands behind another
// in its calls, which fails at first.
func TestARefusalCountsTheAttemptsAtItsOwnRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &outboxtest.Source{}
		sender := &outboxtest.Sender{Batch: outbox.Batching{MaxEvents: 9, InOrder: true}, Fault: func(e event.Event, n int) outboxtest.Fault {
			if e.Key.ID == "a1" {
				return outboxtest.Fault{Refuse: "no"}
			}
			return failing("a0", 2)(e, n)
		}}
		source.Put(outboxtest.NewEvent("a0", "a"))
		source.Put(outboxtest.NewEvent("a1", "a"))
		stop := runInBubble(t, newRelay(t, outbox.RelayConfig{Source: source, Sender: sender}))
		pass(time.Minute)
		stop()
		aside := source.Aside()
		if len(aside) != 1 || aside[0].Why.Attempts != 1 {
			t.Errorf("set aside %+v, want a1 at its first attempt", aside)
		}
	})
}

func TestWhatIsSetAsideIsNotReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{MaxEvents: 9, InOrder: true}, outbox.RelayConfig{}, "a0 a1 a2", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a1": {Refuse: "no"}})
		})
		if got := slices.Compact(r.claims.released); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("released %q, want only what stands behind the refused one", got)
		}
		r.wantPending(t, "")
		r.finish(t)
	})
}

func TestARefusalThatCannotBeSetAsideIsThatOfOneEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &outboxtest.Source{}
		source.Fail(outboxtest.SetAside, errDisk)
		for _, id := range []string{"a0", "b0"} {
			source.Put(outboxtest.NewEvent(id, id[:1]))
		}
		sender := &outboxtest.Sender{Batch: outbox.Batching{MaxEvents: 9}, Fault: func(event.Event, int) outboxtest.Fault {
			return outboxtest.Fault{Refuse: "no"}
		}}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
		stop := runInBubble(t, relay)
		if diff := cmp.Diff(outbox.Counts{Calls: 1, Sent: 2, Refused: 1, Unsettled: 1}, frontier(t, relay).Counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		stop()
	})
}

func TestTheLogNamesTheFirstFailureOfACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{}, "a0 b0 c0 d0", func(r *batchRun) {
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{
				"a0": {Err: outboxtest.ErrUnavailable}, "b0": {Bare: true}, "c0": {Err: outboxtest.ErrUnavailable}, "d0": {Bare: true},
			})
		})
		for key, level := range map[string]string{"key.id=a0": "level=WARN", "key.id=b0": "level=ERROR"} {
			if r.log.count(level, key, "records=2") != 1 || len(r.log.lines) != 2 {
				t.Errorf("log %q, want one line at %s with %s for two records", r.log.lines, level, key)
			}
		}
		r.finish(t)
	})
}
