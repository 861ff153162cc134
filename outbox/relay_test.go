package outbox_test

import (
	"context"
	"errors"
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

// running is a relay that runs in a bubble of its own time.
type running struct {
	source outboxtest.Source
	sender outboxtest.Sender
	log    logRecorder
	stop   context.CancelFunc
	result chan error
}

// start runs a relay with the parts that r has. The caller must end it with
// finish.
func (r *running) start(t *testing.T, cfg outbox.RelayConfig) {
	t.Helper()
	if cfg.Source == nil {
		cfg.Source = &r.source
	}
	if cfg.Sender == nil {
		cfg.Sender = &r.sender
	}
	cfg.Logger = r.log.logger()
	relay, err := outbox.NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.result = stop, make(chan error, 1)
	go func() { r.result <- relay.Run(ctx) }()
	synctest.Wait()
}

func (r *running) finish(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.result; err != nil {
		t.Errorf("Run: %v", err)
	}
	if overlaps := r.sender.Overlaps(); overlaps != 0 {
		t.Errorf("%d attempts overlapped with another of their ordering key", overlaps)
	}
}

func (r *running) put(events ...event.Event) {
	for _, e := range events {
		r.source.Put(e)
	}
}

// attempted returns "id number" of each attempt.
func (r *running) attempted() []string {
	var texts []string
	for _, attempt := range r.sender.Attempts() {
		texts = append(texts, fmt.Sprintf("%s %d", attempt.Event.Key.ID, attempt.Number))
	}
	return texts
}

func (r *running) wantAttempts(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.attempted()); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func (r *running) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	left := []string{}
	for _, e := range r.source.Pending() {
		left = append(left, e.Key.ID)
	}
	if diff := cmp.Diff(append([]string{}, want...), left); diff != "" {
		t.Errorf("left in the source (-want +got):\n%s", diff)
	}
}

// pass lets time pass in a bubble, and then everything that it brought about
// happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// failing lets the attempts at a key fail that until says.
func failing(id string, until int) func(event.Event, int) outboxtest.Fault {
	return func(e event.Event, n int) outboxtest.Fault {
		if e.Key.ID == id && n <= until {
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
		}
		return outboxtest.Fault{}
	}
}

func TestOnlyProofRemovesARecord(t *testing.T) {
	t.Parallel()
	const alarm, warning = "level=ERROR", "level=WARN"
	change := func(change func(*outbox.Ack)) outboxtest.Fault { return outboxtest.Fault{Change: change} }
	other := outboxtest.NewEvent("other", "")
	for _, c := range []struct {
		name  string
		fault outboxtest.Fault
		log   string
		says  string
	}{
		{"an error", outboxtest.Fault{Err: outboxtest.ErrUnavailable}, warning, "not available"},
		{"a lost answer", outboxtest.Fault{Lost: true}, warning, "not available"},
		{"a bare success", outboxtest.Fault{Bare: true}, alarm, "neither an acknowledgement nor an error"},
		{"a receipt for another key", change(func(a *outbox.Ack) { a.Key = other.Key }), alarm, "acknowledged key acme/test/happen/other"},
		{"a receipt for another fingerprint", change(func(a *outbox.Ack) { a.Fingerprint = other.Fingerprint }), alarm, "acknowledged fingerprint"},
		{"a receipt without names", change(func(a *outbox.Ack) { *a = outbox.Ack{Kind: outbox.AckReceipt} }), alarm, "proves nothing"},
		{"a refusal for another key", change(func(a *outbox.Ack) { a.Kind, a.Key = outbox.AckRefusal, other.Key }), alarm, "acknowledged key acme/test/happen/other"},
		{"a refusal without names", change(func(a *outbox.Ack) { *a = outbox.Ack{Kind: outbox.AckRefusal, Reason: "no"} }), alarm, "proves nothing"},
		{"a broker's word", outboxtest.Fault{Published: true}, alarm, "does not accept"},
		{"an unknown kind", change(func(a *outbox.Ack) { a.Kind = 99 }), alarm, "unknown kind"},
		{"no answer", outboxtest.Fault{Answers: -1}, alarm, "0 answers for 1 event"},
		{"two answers", outboxtest.Fault{Answers: 2}, alarm, "2 answers for 1 event"},
		{"a panic", outboxtest.Fault{Panic: true}, alarm, "panicked"},
		{"an ended goroutine", outboxtest.Fault{Exit: true}, alarm, "ended the relay's goroutine"},
		{"silence", outboxtest.Fault{Stall: true}, warning, "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r running
				r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
					if n == 1 {
						return c.fault
					}
					return outboxtest.Fault{}
				}
				r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
				r.start(t, outbox.RelayConfig{})
				pass(outbox.DefaultAttemptTimeout)
				if first := r.attempted()[0]; first != "a 1" {
					t.Errorf("the first attempt is %q", first)
				}
				if r.log.count(c.log, c.says) == 0 {
					t.Errorf("no log line with %q and %q: %q", c.log, c.says, r.log.lines)
				}
				if len(r.source.Aside()) != 0 {
					t.Error("the record was set aside")
				}
				pass(time.Minute)
				r.wantAttempts(t, "a 1", "a 2", "b 1", "b 2")
				r.wantLeft(t)
				r.finish(t)
			})
		})
	}
}

// leakySender panics with the event that it was given.
type leakySender struct{}

func (leakySender) Send(_ context.Context, batch []event.Event) []outbox.Answer { panic(batch) }

func TestNoPayloadOfAPanicIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.put(outboxtest.WithData(outboxtest.NewEvent("a", ""), `{"card":"secret"}`))
		r.start(t, outbox.RelayConfig{Sender: leakySender{}})
		if r.log.count("level=ERROR", "it panicked: a value of type []event.Event", "key.id=a") != 1 || r.log.count("secret") != 0 {
			t.Errorf("log %q, want one alarm without the data", r.log.lines)
		}
		r.finish(t)
	})
}

func TestARecordWithoutProofStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Bare: true} }
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{AcceptPublished: true})
		pass(24 * time.Hour)
		r.wantLeft(t, "a")
		r.finish(t)
	})
}

func TestABrokersWordCountsWhereTheConfigSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
			fault := outboxtest.Fault{Published: true}
			if n == 1 {
				fault.Change = func(a *outbox.Ack) { a.EventID = "another" }
			}
			return fault
		}
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{AcceptPublished: true})
		r.wantLeft(t, "a")
		if r.log.count("level=ERROR", "another") != 1 {
			t.Errorf("no alarm for another event's acknowledgement: %q", r.log.lines)
		}
		pass(time.Minute)
		r.wantLeft(t)
		r.finish(t)
	})
}

func TestARefusedRecordIsSetAsideAndBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, n int) outboxtest.Fault {
			switch {
			case e.Key.ID == "a" && n == 1:
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			case e.Key.ID == "a":
				return outboxtest.Fault{Refuse: "unknown room"}
			default:
				return outboxtest.Fault{}
			}
		}
		r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
		r.start(t, outbox.RelayConfig{})
		pass(time.Minute)
		r.wantAttempts(t, "a 1", "a 2", "b 1")
		aside := r.source.Aside()
		if len(aside) != 1 || aside[0].Record.Event.Key.ID != "a" || aside[0].Why != (outbox.Refusal{Reason: "unknown room", Attempts: 2}) {
			t.Errorf("set aside %+v", aside)
		}
		r.finish(t)
	})
}

func TestAFailingRecordHoldsBackItsOwnOrderingKeyAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = failing("a", 3)
		r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"), outboxtest.NewEvent("d", "y"))
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		r.wantAttempts(t, "a 1", "c 1", "d 1")
		pass(time.Minute)
		r.wantAttempts(t, "a 1", "c 1", "d 1", "a 2", "a 3", "a 4", "b 1")
		r.wantLeft(t)
		r.finish(t)
	})
}

func TestOldestFirstAcrossOrderingKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		var want []string
		for i := range 100 {
			e := outboxtest.NewEvent(fmt.Sprintf("%03d", i), fmt.Sprint(i%7))
			r.put(e)
			want = append(want, e.Key.ID+" 1")
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		r.wantAttempts(t, want...)
		r.finish(t)
	})
}

func TestConcurrencyIsBoundedAndUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		gate := make(chan struct{})
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		for i := range 20 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("%02d", i), fmt.Sprint(i/2)))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 4})
		out := r.attempted() // Four that began together, in no order.
		slices.Sort(out)
		if diff := cmp.Diff([]string{"00 1", "02 1", "04 1", "06 1"}, out); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		close(gate)
		synctest.Wait()
		r.wantLeft(t)
		r.finish(t)
	})
}

func TestAnAttemptEndsAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Stall: true} }
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(5*time.Second - time.Nanosecond)
		if r.log.count("deadline exceeded") != 0 {
			t.Errorf("the attempt ended early: %q", r.log.lines)
		}
		pass(time.Nanosecond)
		if r.log.count("deadline exceeded") != 1 {
			t.Errorf("the attempt goes on after 5s: %q", r.log.lines)
		}
		r.finish(t)
	})
}

func TestBackoffDoublesWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = failing("a", 9)
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour)
		attempts := r.sender.Attempts()
		if len(attempts) != 10 {
			t.Fatalf("%d attempts, want 10", len(attempts))
		}
		for i, seconds := range []int{1, 2, 4, 8, 16, 30, 30, 30, 30} {
			most := time.Duration(seconds) * time.Second
			if gap := attempts[i+1].At.Sub(attempts[i].At); gap < most/2 || gap > most {
				t.Errorf("attempt %d came after %v, want %v to %v", i+2, gap, most/2, most)
			}
		}
		r.finish(t)
	})
}

// TestBackoffStartsAgainAfterASuccess has a second record of the same ordering
// key fail once, and then a second outage.
func TestBackoffStartsAgainAfterASuccess(t *testing.T) {
	t.Parallel()
	for name, downAfter := range map[string]int{"of an ordering key": 100, "of the probes": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r running
				failures := map[string]int{"a": 9, "b": 1}
				r.sender.Fault = func(e event.Event, n int) outboxtest.Fault {
					return failing(e.Key.ID, failures[e.Key.ID])(e, n)
				}
				r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
				r.start(t, outbox.RelayConfig{DownAfter: downAfter})
				pass(time.Hour)
				attempts := r.sender.Attempts()
				if len(attempts) != 12 {
					t.Fatalf("%d attempts, want 12", len(attempts))
				}
				if gap := attempts[11].At.Sub(attempts[10].At); gap > time.Second {
					t.Errorf("the second record was sent again after %v, want 1s at most", gap)
				}
				r.finish(t)
			})
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	b := outbox.NewBackoff(outbox.RelayConfig{})
	for _, c := range []struct {
		failures   int
		retryAfter time.Duration
		random     float64
		want       time.Duration
	}{
		{1, 0, 0, time.Second},
		{1, 0, 0.5, 750 * time.Millisecond},
		{5, 0, 0, 16 * time.Second},
		{6, 0, 0, 30 * time.Second},
		{1 << 40, 0, 0, 30 * time.Second},
		{1, 2 * time.Minute, 0.9, 2 * time.Minute},
		{1, time.Hour, 0, 5 * time.Minute},
		{6, time.Second, 0, 30 * time.Second},
		{1, -time.Hour, 0, time.Second},
	} {
		if got := outbox.Delay(b, c.failures, c.retryAfter, c.random); got != c.want {
			t.Errorf("delay(%d, %v, %v) = %v, want %v", c.failures, c.retryAfter, c.random, got, c.want)
		}
	}
}

func TestRetryAfterIsHonouredUpToTheCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
			asked := []time.Duration{time.Minute, time.Hour}
			if n > len(asked) {
				return outboxtest.Fault{}
			}
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable, RetryAfter: asked[n-1]}
		}
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour)
		attempts := r.sender.Attempts()
		if len(attempts) != 3 {
			t.Fatalf("%d attempts, want 3", len(attempts))
		}
		gaps := []time.Duration{attempts[1].At.Sub(attempts[0].At), attempts[2].At.Sub(attempts[1].At)}
		if diff := cmp.Diff([]time.Duration{time.Minute, outbox.DefaultMaxRetryAfter}, gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
		r.finish(t)
	})
}

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

// TestRecordsThatFailAloneCannotKeepOthersWaiting has more failing records than
// make a destination count as down, and than the relay holds at once.
func TestRecordsThatFailAloneCannotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range 100 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%02d", i), ""))
		}
		r.start(t, outbox.RelayConfig{})
		pass(2 * time.Hour)
		for i := range 10 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("good-%d", i), ""))
			pass(outbox.DefaultMaxBackoff)
			if left := len(r.source.Pending()); left != 100 {
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

// TestARecordThatComesWhileAnotherOfItsKeyIsOut has the source say so at a time
// when the relay can't take it.
func TestARecordThatComesWhileAnotherOfItsKeyIsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		gate := make(chan struct{})
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		r.put(outboxtest.NewEvent("a", "x"))
		r.start(t, outbox.RelayConfig{})
		r.put(outboxtest.NewEvent("b", "x"))
		synctest.Wait()
		r.wantAttempts(t, "a 1")
		close(gate)
		synctest.Wait()
		r.wantAttempts(t, "a 1", "b 1")
		r.finish(t)
	})
}

func TestStopFinishesWhatIsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		gate := make(chan struct{})
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
		r.start(t, outbox.RelayConfig{})
		r.stop()
		synctest.Wait()
		select {
		case err := <-r.result:
			t.Fatalf("Run returned %v while a record was out", err)
		default:
		}
		close(gate)
		r.finish(t)
		r.wantAttempts(t, "a 1")
		r.wantLeft(t, "b")
	})
}

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

func TestARefusalThatCannotBeSetAsideKeepsTheRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Refuse: "no"} }
		r.source.Fail(outboxtest.SetAside, errDisk)
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		r.wantLeft(t, "a")
		pass(time.Minute)
		r.wantLeft(t)
		if len(r.source.Aside()) != 1 {
			t.Error("the record was not set aside in the end")
		}
		r.finish(t)
	})
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		relay, err := outbox.NewRelay(outbox.RelayConfig{Source: &outboxtest.Source{}, Sender: &outboxtest.Sender{}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // A relay that has stopped may run again.
			ctx, stop := context.WithCancel(t.Context())
			result := make(chan error)
			go func() { result <- relay.Run(ctx) }()
			synctest.Wait()
			if err := relay.Run(ctx); !errors.Is(err, outbox.ErrRunning) {
				t.Errorf("a second Run: %v, want %v", err, outbox.ErrRunning)
			}
			stop()
			if err := <-result; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
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
