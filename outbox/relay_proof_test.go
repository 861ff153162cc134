package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

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
		{"a broker's rejection", change(func(a *outbox.Ack) { *a = outbox.Ack{Kind: outbox.AckRejected, EventID: "event-a", Reason: "no"} }), alarm, "does not accept"},
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

func TestABrokersRejectionCountsWhereTheConfigSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
			rejected := outbox.Ack{Kind: outbox.AckRejected, EventID: "event-a", Reason: "too large"}
			if n == 1 {
				rejected.EventID = "another"
			}
			return outboxtest.Fault{Change: func(a *outbox.Ack) { *a = rejected }}
		}
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{AcceptPublished: true})
		r.wantLeft(t, "a")
		if r.log.count("level=ERROR", "another") != 1 {
			t.Errorf("no alarm for another event's rejection: %q", r.log.lines)
		}
		pass(time.Minute)
		r.wantLeft(t)
		aside := r.source.Aside()
		if len(aside) != 1 || aside[0].Why != (outbox.Refusal{Reason: "too large", Attempts: 2}) {
			t.Errorf("set aside %+v", aside)
		}
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
