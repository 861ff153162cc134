package outbox

import (
	"testing"
	"time"
)

// succeed notes successes of as many calls as may be out, in the pace's round.
func (p *pace) succeed(rounds int, took time.Duration) {
	for range rounds {
		for range p.calls() {
			p.succeeded(p.round, 1, took, true)
		}
	}
}

func wantCalls(t *testing.T, p *pace, want int, when string) {
	t.Helper()
	if got := p.calls(); got != want {
		t.Errorf("%d calls %s, want %d", got, when, want)
	}
}

func TestPaceRises(t *testing.T) {
	t.Parallel()
	p := newPace(100)
	wantCalls(t, p, firstCalls, "at the beginning")
	p.succeed(1, time.Second)
	wantCalls(t, p, 2*firstCalls, "after a round of successes")
	p.failed(p.round)
	wantCalls(t, p, firstCalls, "after a failure")
	p.succeed(3, time.Second)
	wantCalls(t, p, firstCalls+2, "after three rounds more, which are not quite three steps")
	p.succeed(10_000, time.Second)
	wantCalls(t, p, 100, "after very many")
	wantCalls(t, newPace(2), 2, "at the beginning, of 2 at most")
}

func TestPaceHalvesOnceARound(t *testing.T) {
	t.Parallel()
	p := newPace(64)
	p.succeed(10, time.Second)
	round := p.round
	for range 64 {
		p.failed(round)
	}
	wantCalls(t, p, 32, "after all calls of a round failed")
	for range 1000 {
		p.succeeded(round, 1, time.Second, true)
	}
	wantCalls(t, p, 32, "after successes from before the failure")
	for range 10 {
		p.failed(p.round)
	}
	wantCalls(t, p, 1, "after failures in ten rounds")
	p.succeed(1, time.Second)
	wantCalls(t, p, 2, "after a success")
}

func TestPaceThatNobodyNeedsStays(t *testing.T) {
	t.Parallel()
	p := newPace(64)
	for range 1000 {
		p.succeeded(p.round, 1, time.Second, false)
	}
	wantCalls(t, p, firstCalls, "after calls that were fewer than might be")
}

func TestPaceStaysWhileAnswersAreMuchSlower(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name         string
		usual, later time.Duration
		stays        bool
	}{
		{"much slower", 100 * ms, 250 * ms, true},
		{"a little slower", 100 * ms, 150 * ms, false},
		{"by a factor that says nothing", 10 * time.Microsecond, 900 * time.Microsecond, false},
		{"faster", 100 * ms, 10 * ms, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPace(1000)
			p.succeed(3, c.usual)
			before := p.calls()
			for range 3 {
				p.succeeded(p.round, 1, c.later, true)
			}
			if got := p.calls(); (got == before) != c.stays {
				t.Errorf("%d calls, after %d", got, before)
			}
		})
	}
}

func TestPaceGetsUsedToSlowness(t *testing.T) {
	t.Parallel()
	p := newPace(1000)
	p.succeed(1, 100*time.Millisecond)
	before := p.calls()
	for range 1000 {
		p.succeeded(p.round, 1, 300*time.Millisecond, true)
	}
	if p.calls() == before {
		t.Error("the pace never rises again, though slow is usual by now")
	}
}

func TestPaceComparesCallsOfOneSize(t *testing.T) {
	t.Parallel()
	p := newPace(1000)
	p.succeed(3, 10*time.Millisecond)
	before := p.calls()
	for range 3 {
		p.succeeded(p.round, 500, time.Second, true)
	}
	wantCalls(t, p, before+3, "after calls with many more events")
}
