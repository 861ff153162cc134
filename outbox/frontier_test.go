package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// lagging is a source that tells its lag.
type lagging struct {
	*claims
	lag outbox.Lag
	err error
}

func (s *lagging) Lag(context.Context) (outbox.Lag, error) { return s.lag, s.err }

func newRelay(t *testing.T, cfg outbox.RelayConfig) *outbox.Relay {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = (&logRecorder{}).logger()
	}
	relay, err := outbox.NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// runInBubble runs a relay until the end of the test or a call of stop, which
// waits for it.
func runInBubble(t *testing.T, relay *outbox.Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- relay.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func frontier(t *testing.T, relay *outbox.Relay) outbox.Frontier {
	t.Helper()
	f, err := relay.Frontier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func wantFrontier(t *testing.T, relay *outbox.Relay, want outbox.Frontier) {
	t.Helper()
	if diff := cmp.Diff(want, frontier(t, relay)); diff != "" {
		t.Errorf("frontier (-want +got):\n%s", diff)
	}
}

func TestFrontierCountsWhatBecameOfEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		source := newClaims(t)
		for _, id := range strings.Fields("a0 b0 c0 d0 e0 e1 e2") {
			source.put(outboxtest.NewEvent(id, id[:1]))
		}
		source.onRemove = func(ids []string) error {
			if ids[0] == "d0" {
				return errDisk
			}
			return nil
		}
		sender := &outboxtest.Sender{Fault: func(e event.Event, _ int) outboxtest.Fault {
			return map[string]outboxtest.Fault{
				"b0": {Refuse: "no"}, "c0": {Err: outboxtest.ErrUnavailable}, "e0": {Hold: gate},
			}[e.Key.ID]
		}}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
		stop := runInBubble(t, relay)
		wantFrontier(t, relay, outbox.Frontier{
			Calls: 1, Pace: 2, Out: 1, AtHand: 2, Resting: 2,
			Counts:      outbox.Counts{Calls: 4, Sent: 4, Delivered: 1, Refused: 1, Failed: 1, Unsettled: 1},
			Delivered:   1,
			TimeToDrain: math.MaxInt64,
		})
		close(gate)
		stop()
		f := frontier(t, relay)
		if f.Counts.Sent != f.Counts.Delivered+4-1 || f.Out != 0 || f.AtHand != 0 || f.Resting != 0 || f.Calls != 0 {
			t.Errorf("after Run %+v, want nothing out, at hand or resting", f)
		}
	})
}

func TestFrontierTellsTheLagAndTheTimeToDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &lagging{claims: newClaims(t), lag: outbox.Lag{Pending: 1000, Exact: true, Age: time.Minute, DeadLetters: 3}}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: &outboxtest.Sender{Fault: func(e event.Event, _ int) outboxtest.Fault {
			if e.Key.ID == "0" {
				return outboxtest.Fault{Refuse: "no"}
			}
			return outboxtest.Fault{}
		}}})
		stop := runInBubble(t, relay)
		wantFrontier(t, relay, outbox.Frontier{Lag: source.lag, HasLag: true, Pace: 4, TimeToDrain: math.MaxInt64})

		for i := range 21 {
			source.put(outboxtest.NewEvent(fmt.Sprint(i), ""))
		}
		pass(10 * time.Second)
		source.lag.Pending = 990 // 20 delivered and one refused, so 11 have come.
		got := frontier(t, relay)
		want := outbox.Frontier{
			Lag: source.lag, HasLag: true, Pace: got.Pace,
			Counts:    outbox.Counts{Calls: 21, Sent: 21, Delivered: 20, Refused: 1},
			Delivered: 2, Measured: 10 * time.Second, Arrived: 1.1, TimeToDrain: 990 * time.Second,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("frontier (-want +got):\n%s", diff)
		}

		source.lag.Exact = false
		if f := frontier(t, relay); f.Measured != 0 || f.TimeToDrain != math.MaxInt64 {
			t.Errorf("%+v is said of an inexact count", f)
		}
		source.lag = outbox.Lag{Exact: true}
		if f := frontier(t, relay); f.TimeToDrain != 0 {
			t.Errorf("%v until nothing is pending, want no time", f.TimeToDrain)
		}
		source.err = errDisk
		if _, err := relay.Frontier(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("%v, want the source's error", err)
		}
		stop()
	})
}

func TestLastAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newClaims(t)
		sender := &outboxtest.Sender{Fault: failing("b1", math.MaxInt)}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender, Remember: 2, Concurrency: 1})
		stop := runInBubble(t, relay)
		defer stop()
		deliver := func(id string) {
			e := outboxtest.NewEvent(id, id[:1])
			e.Position = 7
			source.put(e)
			synctest.Wait()
		}
		want := func(line, record, id string) {
			t.Helper()
			e := outboxtest.NewEvent("any", line)
			got, found := relay.LastAcknowledged(e.Ordering())
			if id == "" {
				if found {
					t.Errorf("%s is remembered: %+v", line, got)
				}
				return
			}
			if diff := cmp.Diff(outbox.Acknowledged{RecordID: record, EventID: "event-" + id, Position: 7, Time: time.Now()}, got); diff != "" || !found {
				t.Errorf("%s (-want +got):\n%s", line, diff)
			}
		}
		want("a", "", "")
		deliver("a0")
		deliver("b0")
		deliver("b1") // fails
		want("a", "1", "a0")
		want("b", "2", "b0")
		deliver("a1")
		deliver("c0") // b was acknowledged before a.
		want("a", "4", "a1")
		want("b", "", "")
		want("c", "5", "c0")
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	all := []error{outbox.ErrStopped, outbox.ErrDestinationDown, outbox.ErrSourceFailing}
	for _, c := range []struct {
		name   string
		fault  outboxtest.Fault // at the first three attempts
		failed outboxtest.SourceCall
		stop   bool
		want   []error
		says   string
	}{
		{name: "well"},
		{name: "stopped", stop: true, want: []error{outbox.ErrStopped}},
		{name: "destination", fault: outboxtest.Fault{Err: outboxtest.ErrUnavailable}, want: []error{outbox.ErrDestinationDown, outboxtest.ErrUnavailable}},
		{name: "destination that ends the goroutine", fault: outboxtest.Fault{Exit: true}, want: []error{outbox.ErrDestinationDown}, says: "ended"},
		{name: "one event", fault: outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: true}},
		{name: "source that hands out nothing", failed: outboxtest.Next, want: []error{outbox.ErrSourceFailing, errDisk}},
		{name: "source that lets nothing go", failed: outboxtest.Remove, want: []error{outbox.ErrSourceFailing, errDisk}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := &outboxtest.Source{}
				if c.failed != "" {
					source.Fail(c.failed, errDisk, errDisk, errDisk)
				}
				sender := &outboxtest.Sender{Fault: func(_ event.Event, n int) outboxtest.Fault {
					if n <= 3 {
						return c.fault
					}
					return outboxtest.Fault{}
				}}
				relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender, DownAfter: 1})
				if err := relay.Health(); !errors.Is(err, outbox.ErrStopped) {
					t.Errorf("before Run: %v, want %v", err, outbox.ErrStopped)
				}
				source.Put(outboxtest.NewEvent("a", ""))
				stop := runInBubble(t, relay)
				if c.stop {
					stop()
				}
				err := relay.Health()
				for _, sentinel := range all {
					if errors.Is(err, sentinel) && !contains(c.want, sentinel) {
						t.Errorf("%v, want no %v", err, sentinel)
					}
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				}
				if !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("%v does not say %q", err, c.says)
				}
				if c.stop {
					return
				}
				pass(time.Minute)
				if err := relay.Health(); err != nil {
					t.Errorf("after all went well: %v", err)
				}
				stop()
			})
		})
	}
}

// TestASourceThatSetsAsideAgainIsWell has nothing but refusals to tell it by.
func TestASourceThatSetsAsideAgainIsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &outboxtest.Source{}
		source.Fail(outboxtest.SetAside, errDisk)
		source.Put(outboxtest.NewEvent("a", ""))
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: &outboxtest.Sender{Fault: func(event.Event, int) outboxtest.Fault {
			return outboxtest.Fault{Refuse: "no"}
		}}})
		stop := runInBubble(t, relay)
		if err := relay.Health(); !errors.Is(err, outbox.ErrSourceFailing) || !errors.Is(err, errDisk) {
			t.Errorf("%v, want %v", err, outbox.ErrSourceFailing)
		}
		pass(time.Minute)
		if err := relay.Health(); err != nil {
			t.Errorf("after the record was set aside: %v", err)
		}
		stop()
	})
}

// TestWhatShowsThatASourceLetsGoAgain has one that could not let go of a record.
func TestWhatShowsThatASourceLetsGoAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		then  func(*claims)
		after time.Duration
		fails bool
	}{
		{"nothing", func(*claims) {}, 0, true},
		{"that it has nothing else", func(s *claims) { s.poke() }, 0, true},
		{"that it lets go of another", func(s *claims) { s.put(outboxtest.NewEvent("b0", "b")) }, 0, false},
		{"that it sets another aside", func(s *claims) { s.put(outboxtest.NewEvent("c0", "c")) }, 0, false},
		{"that it lost another", func(s *claims) { s.put(outboxtest.NewEvent("d0", "d")) }, 0, true},
		{"that it has nothing more of what it kept", func(s *claims) { s.moveAway("a") }, time.Second, false},
		{"that it hands it out again", func(*claims) {}, time.Second, true},
		{"a failure of the destination", func(*claims) {}, 2 * time.Second, true},
		{"that it has nothing more after that", func(s *claims) {
			pass(2 * time.Second)
			s.moveAway("a")
		}, 2 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := newClaims(t)
				source.onRemove = func(ids []string) error {
					return map[string]error{"a0": errDisk, "d0": outbox.ErrLeaseLost}[ids[0]]
				}
				source.put(outboxtest.NewEvent("a0", "a"))
				sender := &outboxtest.Sender{Fault: func(e event.Event, n int) outboxtest.Fault {
					switch {
					case e.Key.ID == "a0" && n > 1:
						return outboxtest.Fault{Stall: true}
					case e.Key.ID == "c0":
						return outboxtest.Fault{Refuse: "no"}
					default:
						return outboxtest.Fault{}
					}
				}}
				relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender, AttemptTimeout: time.Second, Random: func() float64 { return 0 }})
				stop := runInBubble(t, relay)
				c.then(source)
				pass(c.after)
				if err := relay.Health(); errors.Is(err, outbox.ErrSourceFailing) != c.fails || errors.Is(err, errDisk) != c.fails {
					t.Errorf("health %v, want the source to fail with %v: %v", err, errDisk, c.fails)
				}
				stop()
				if err := relay.Health(); errors.Is(err, outbox.ErrSourceFailing) {
					t.Errorf("health %v after Run, of which nothing is known any more", err)
				}
			})
		})
	}
}

func contains(errs []error, err error) bool {
	for _, e := range errs {
		if errors.Is(e, err) {
			return true
		}
	}
	return false
}

// observed keeps what an observer hears, and then panics if told.
type observed struct {
	mu     sync.Mutex
	heard  []outbox.Observation
	panics bool
}

func (o *observed) Observe(_ context.Context, heard outbox.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, heard)
	if o.panics {
		panic("ordered to panic")
	}
}

func TestObserverHearsOfEachCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		observer := &observed{panics: true}
		removes := 0
		now := time.Now()
		r := startBatches(t, outbox.Batching{MaxEvents: 9, InOrder: true}, outbox.RelayConfig{Observer: observer, DownAfter: 1, Concurrency: 1}, "a0 b0 b1 c0 d0", func(r *batchRun) {
			for i := range r.claims.pending {
				r.claims.pending[i].Added = now.Add(time.Duration(i-30) * time.Second)
			}
			r.claims.onRemove = func([]string) error {
				<-time.After(time.Second)
				if removes++; removes == 2 {
					return outbox.ErrLeaseLost
				}
				return nil
			}
			r.courier.before = func(context.Context) { <-time.After(2 * time.Second) }
			r.sender.Fault = func(e event.Event, n int) outboxtest.Fault {
				switch {
				case e.Key.ID == "b0" && n == 1 || e.Key.ID == "d0" && n < 3:
					return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
				case e.Key.ID == "c0":
					return outboxtest.Fault{Refuse: "no"}
				default:
					return outboxtest.Fault{}
				}
			}
		})
		pass(time.Minute)
		r.finish(t)
		for i := range observer.heard {
			if i > 0 {
				observer.heard[i].Age = 0 // It follows from the back-off's chance.
			}
		}
		first := outbox.Observation{Events: 5, Delivered: 1, Failed: 3, Refused: 1, Age: 33 * time.Second, Send: 2 * time.Second, Settle: time.Second}
		if len(observer.heard) == 0 {
			t.Fatal("the observer heard nothing")
		}
		if diff := cmp.Diff(first, observer.heard[0]); diff != "" {
			t.Errorf("the first call (-want +got):\n%s", diff)
		}
		lost, down := 0, 0
		for _, o := range observer.heard {
			lost += o.Lost
			if o.Events != o.Delivered+o.Refused+o.Failed+o.Unsettled+o.Lost {
				t.Errorf("%+v does not add up", o)
			}
			if o.Down {
				down++
			}
		}
		if lost == 0 {
			t.Errorf("no event was lost to another relay: %+v", observer.heard)
		}
		if r.log.count("the observer panicked") != len(observer.heard) {
			t.Errorf("log %q, want a line for each panic", r.log.lines)
		}
	})
}

func TestObserverHearsOfProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		observer := &observed{}
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Observer: observer, DownAfter: 1}, "a0", func(r *batchRun) {
			r.sender.Fault = failing("a0", 2)
		})
		pass(time.Minute)
		r.finish(t)
		want := []outbox.Observation{{Events: 1, Failed: 1}, {Events: 1, Failed: 1, Down: true}, {Events: 1, Delivered: 1, Down: true}}
		for i := range observer.heard {
			observer.heard[i].Age = 0 // The records of this source are dated 1970.
		}
		if diff := cmp.Diff(want, observer.heard); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}

// TestEverythingIsReadBesideRun is for the race detector.
func TestEverythingIsReadBesideRun(t *testing.T) {
	t.Parallel()
	source := &lagging{claims: newClaims(t), lag: outbox.Lag{Pending: 1, Exact: true}}
	for i := range 2000 {
		source.put(outboxtest.NewEvent(fmt.Sprint(i), fmt.Sprint("line-", i%10)))
	}
	relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: &courier{Sender: &outboxtest.Sender{}, batching: outbox.Batching{MaxEvents: 5}}})
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- relay.Run(ctx) }()
	eventually(t, "everything is delivered", func() bool {
		f, err := relay.Frontier(ctx)
		_, _ = relay.LastAcknowledged("acme//line-1")
		_ = relay.Health()
		return err == nil && f.Counts.Delivered == 2000
	})
	stop()
	if err := <-result; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestTheAgeIsThatOfTheOldestDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		observer := &observed{}
		now := time.Now()
		r := startBatches(t, outbox.Batching{MaxEvents: 9}, outbox.RelayConfig{Observer: observer}, "a0 b0 c0", func(r *batchRun) {
			for i := range r.claims.pending {
				r.claims.pending[i].Added = now.Add(time.Duration(10*i-40) * time.Second)
			}
			r.sender.Fault = faultAt(map[string]outboxtest.Fault{"a0": {Err: outboxtest.ErrUnavailable}})
		})
		if len(observer.heard) != 1 || observer.heard[0].Age != 30*time.Second {
			t.Errorf("heard %+v, want one call with the age of b0, 30s", observer.heard)
		}
		r.finish(t)
	})
}
