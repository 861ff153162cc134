package outbox

import (
	"context"
	"fmt"
	"time"
)

// Counts count events since [NewRelay]. An event that is sent again counts
// again.
type Counts struct {
	// Calls is how many calls were made to the sender, and Sent how many
	// events they had: the sum of the five that follow.
	Calls int64
	Sent  int64
	// Delivered, Refused, Failed, Unsettled and Lost are those of
	// [Observation].
	Delivered int64
	Refused   int64
	Failed    int64
	Unsettled int64
	Lost      int64
}

func (c *Counts) add(o Observation) {
	c.Calls++
	c.Sent += int64(o.Events)
	c.Delivered += int64(o.Delivered)
	c.Refused += int64(o.Refused)
	c.Failed += int64(o.Failed)
	c.Unsettled += int64(o.Unsettled)
	c.Lost += int64(o.Lost)
}

// Frontier says how far a relay has come, for an operator.
//
// Two figures are to raise an alarm on: Lag.Age against what the business allows,
// which grows whatever keeps a pending event from being delivered, and
// Lag.DeadLetters above zero, since a dead letter is not pending any more. Then,
// from the top:
//
//   - Lag.DeadLetters is not zero: somebody must requeue or discard
//     ([DeadLetters]). Lag.HeldBack says how many ordering keys wait for that;
//     what is held back has no other way out, and makes Lag.Age grow though
//     everything else flows.
//   - Down: the destination answers nobody. Repair it; the relay probes it, and
//     goes on by itself.
//   - Counts.Failed rises, and Down is false: events of some ordering keys fail,
//     each holding back its own; Resting says how many keys. The log has a line
//     for each call that failed, with its first event and why. Where fewer keys
//     than [RelayConfig.DownAfter] have anything to send, as in a quiet night,
//     the destination may be down all the same, and Down will not say so.
//   - TimeToDrain is [math.MaxInt64], and Calls is at its bound,
//     [RelayConfig.Concurrency]: the destination is too slow for what arrives.
//     Give it more calls, larger batches, or more of itself. If Calls stays low
//     with nothing resting, the pace is held down by a destination that gets
//     slower, or by [RelayConfig.MaxRate].
//   - Lag.Pending is high, and Out and AtHand are zero: the relay gets nothing
//     from its source. See [Relay.Health].
type Frontier struct {
	// Lag is the source's, of everything that relays share. It is zero, and
	// HasLag false, where the source is no [LagSource].
	Lag    Lag
	HasLag bool

	// Down says that the destination counts as down ([RelayConfig.DownAfter]).
	Down bool
	// Calls is how many calls to the sender are out, and Pace how many may be
	// now.
	Calls int
	Pace  int
	// Out counts the events in those calls, AtHand those that wait in memory
	// for one, and Resting the ordering keys that are left alone after a
	// failure.
	Out     int
	AtHand  int
	Resting int

	// Counts are those since NewRelay.
	Counts Counts
	// Delivered is how many events a second this relay delivered over the last
	// minute, or since NewRelay if that is less.
	Delivered float64

	// Measured is the span over which the two that follow are measured: from
	// the call of [Relay.Frontier] that was about a minute ago, or else the
	// first one, to this one. Zero: they are not known, because there was no
	// call more than a second ago, or because the source can't tell exactly.
	Measured time.Duration
	// Arrived is how many events a second were added to the source: the growth
	// of Lag.Pending and what this relay took out. What other relays took out
	// meanwhile is missing from it.
	Arrived float64
	// TimeToDrain is when nothing is pending any more if the backlog goes on
	// shrinking as it did: N/(C-R), where N is Lag.Pending, C what all relays
	// take out and R what arrives. [math.MaxInt64] is never, and also stands
	// where it is not known.
	TimeToDrain time.Duration
}

// Frontier returns how far the relay has come. It asks the source for its
// [Lag], which may cost a query; once in some seconds is often enough. An error
// is the source's; [Relay.Health] needs no source.
//
// Safe for concurrent use, also beside Run.
func (r *Relay) Frontier(ctx context.Context) (Frontier, error) {
	var lag Lag
	source, hasLag := r.cfg.Source.(LagSource)
	if hasLag {
		var err error
		if lag, err = source.Lag(ctx); err != nil {
			return Frontier{}, fmt.Errorf("outbox: the source's lag: %w", err)
		}
	}
	f := r.progress.frontier(lag, hasLag && lag.Exact, r.now())
	f.Lag, f.HasLag = lag, hasLag
	return f, nil
}

func (p *progress) frontier(lag Lag, exact bool, now time.Time) Frontier {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.state
	f := Frontier{
		Down:  s.down != nil,
		Calls: s.calls, Pace: s.pace, Out: s.out, AtHand: s.atHand, Resting: s.resting,
		Counts:      p.counts,
		Delivered:   p.delivered.perSecond(now),
		TimeToDrain: never,
	}
	if !exact {
		return f
	}
	t := p.backlog.sample(backlogSample{now, lag.Pending, p.counts.Delivered + p.counts.Refused})
	f.Measured, f.Arrived = t.span, t.arrivals
	f.TimeToDrain = timeToDrain(lag.Pending, t.shrinks)
	return f
}
