package outbox

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
)

// tally is what a schedule counts, for a comparison with what there is.
type tally struct{ calls, out, waiting, ready, bytes, queued, full, excepted, resting, unsettled int }

func (s *schedule) counted() tally {
	return tally{s.calls, s.out, s.waiting, s.ready, s.bytes, s.queue.len(), len(s.full), len(s.except.keys), s.rests.alone.len(), s.rests.unsettled}
}

func (s *schedule) recount(calls []*call) tally {
	var got tally
	for _, c := range calls {
		got.calls++
		got.out += len(c.attempts)
		for i := range c.attempts {
			got.bytes += len(c.attempts[i].record.Event.Data) + recordOverhead
		}
	}
	for _, l := range s.lines {
		n := 0
		for i := l.first; i != nil; i = i.next {
			n++
			got.bytes += i.size()
		}
		got.waiting += n
		if !l.sending && n > 0 {
			got.queued++
			got.ready += min(n, s.bounds.perCall)
		}
		if l.held {
			got.full++
			got.excepted++
		}
	}
	for _, rest := range s.rests.all {
		if !rest.over {
			got.excepted++
			got.resting++
		}
		if rest.unsettled {
			got.unsettled++
		}
	}
	return got
}

// TestScheduleCountsRight compares, after random events, each figure that a
// schedule keeps with what it is about.
func TestScheduleCountsRight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 1))
		batching := Batching{MaxEvents: 1 + random.IntN(20), MaxBytes: random.IntN(2) * 5000, InOrder: random.IntN(2) == 0}
		s := newSchedule(4, batching, backoff{min: time.Second, max: time.Minute}, 3, random.Float64)
		now := time.Unix(1_000_000, 0)
		var calls []*call
		for step := range 500 {
			now = now.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
			switch random.IntN(4) {
			case 0:
				if n := s.appetite(); n > 0 {
					leaveOut := s.except.lend()
					if len(calls) > 0 { // One is over before the source answers.
						calls = finishOne(s, calls, random, now)
					}
					s.add(randomRecords(random, n, leaveOut))
				}
			case 1:
				s.endRests(now, 1+random.IntN(10))
				if random.IntN(4) == 0 {
					s.exhausted()
				}
			case 2:
				if c := s.take(1 + random.IntN(50)); c != nil {
					calls = append(calls, c)
				}
			case 3:
				if len(calls) > 0 {
					calls = finishOne(s, calls, random, now)
				}
			}
			s.unwanted = nil
			if diff := cmp.Diff(s.recount(calls), s.counted(), cmp.AllowUnexported(tally{})); diff != "" {
				t.Fatalf("seed %d, step %d: counts (-there +counted):\n%s", seed, step, diff)
			}
		}
	}
}

func finishOne(s *schedule, calls []*call, random *rand.Rand, now time.Time) []*call {
	at := random.IntN(len(calls))
	c := calls[at]
	for i := range c.attempts {
		c.attempts[i].blameless = random.IntN(4) == 0
		if c.attempts[i].fate = removed; random.IntN(4) == 0 {
			c.attempts[i].fate = fate(random.IntN(int(forgotten) + 1))
		}
	}
	c.works, c.leaseEnded = random.IntN(2) == 0, random.IntN(4) == 0
	s.done(c, now)
	return append(calls[:at], calls[at+1:]...)
}

func randomRecords(random *rand.Rand, n int, leaveOut map[string]struct{}) []Record {
	var records []Record
	for range n {
		hot := random.IntN(2) == 0
		e := event.Event{OrderingKey: fmt.Sprint(random.IntN(200)), Data: make([]byte, random.IntN(1000))}
		if hot {
			e.OrderingKey = "hot"
			e.Data = make([]byte, 10_000)
		}
		if _, excepted := leaveOut[e.Ordering()]; !excepted {
			records = append(records, Record{Event: e})
		}
	}
	return records
}

// TestALargeEventGoesAlone puts one that is larger than a call may be behind
// some without data, which take no bytes of it.
func TestALargeEventGoesAlone(t *testing.T) {
	t.Parallel()
	s := newSchedule(1, Batching{MaxEvents: 10, MaxBytes: 100}, backoff{}, 1, rand.Float64)
	var records []Record
	for i, size := range []int{0, 0, 101, 0, 50, 50, 1} {
		records = append(records, Record{Event: event.Event{OrderingKey: fmt.Sprint(i), Data: make([]byte, size)}})
	}
	s.add(records)
	var got [][]int
	for c := s.take(100); c != nil; c = s.take(100) {
		var sizes []int
		for i := range c.attempts {
			sizes = append(sizes, len(c.attempts[i].record.Event.Data))
		}
		got = append(got, sizes)
	}
	if diff := cmp.Diff([][]int{{0, 0}, {101}, {0, 50, 50}, {1}}, got); diff != "" {
		t.Errorf("sizes of the events of each call (-want +got):\n%s", diff)
	}
}

// TestWhatFailedRestsAgainWhenTheDestinationGoesDown has three ordering keys whose
// rest is over, one at hand, one on its way from the source and one out, when a
// fourth one's failure is one too many.
func TestWhatFailedRestsAgainWhenTheDestinationGoesDown(t *testing.T) {
	t.Parallel()
	record := func(id string) []Record { return []Record{{ID: id, Event: event.Event{OrderingKey: id}}} }
	now := time.Unix(1_000_000, 0)
	s := newSchedule(4, Batching{MaxEvents: 1}, backoff{min: time.Second, max: time.Minute}, 4, func() float64 { return 0 })
	fail := func(id string) {
		c := s.take(1)
		if c == nil || c.attempts[0].record.ID != id {
			t.Fatalf("%+v is sent, want %s", c, id)
		}
		s.done(c, now)
	}
	for _, id := range []string{"a", "b", "d"} {
		s.add(record(id))
		fail(id)
	}
	now = now.Add(time.Second)
	s.endRests(now, 3)
	s.unwanted = nil
	s.add(record("d"))
	out := s.take(1)
	s.add(record("c"))
	s.add(record("a"))
	s.except.lend()
	fail("c")
	s.add(record("b"))
	var released []string
	for i := range s.unwanted {
		released = append(released, s.unwanted[i].ID)
	}
	if diff := cmp.Diff([]string{"c", "a", "b"}, released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	if len(s.lines) != 1 || s.queue.len() != 0 || s.rests.alone.len() != 3 || len(s.except.keys) != 3 {
		t.Errorf("%d ordering keys at hand, %d queued, %d resting, %d left out; want d out and the others to rest",
			len(s.lines), s.queue.len(), s.rests.alone.len(), len(s.except.keys))
	}
	out.attempts[0].fate, out.works = removed, true
	s.done(out, now)
	if s.rests.of("d") != nil || s.rests.alone.len() != 3 {
		t.Errorf("d is known to have failed, or %d ordering keys rest", s.rests.alone.len())
	}
	s.endRests(now, 1)
	s.add(record("a"))
	if c := s.take(1); c == nil || c.attempts[0].number != 2 {
		t.Errorf("%+v is sent, want the second attempt at a", c)
	}
}

// TestWhatEndsWhatIsKnownOfFailures has a record of an ordering key fail, and go,
// and another of it come after, while the source always has more.
func TestWhatEndsWhatIsKnownOfFailures(t *testing.T) {
	t.Parallel()
	for _, gone := range []fate{removed, aside} {
		now := time.Unix(1_000_000, 0)
		s := newSchedule(1, Batching{MaxEvents: 1}, backoff{min: time.Second, max: time.Minute}, 9, func() float64 { return 0 })
		for i, want := range []int{1, 2, 1} {
			s.add([]Record{{Event: event.Event{OrderingKey: "a"}}})
			c := s.take(1)
			if c == nil || c.attempts[0].number != want {
				t.Fatalf("fate %d: send %d is %+v, want attempt %d", gone, i, c, want)
			}
			if i == 1 {
				c.attempts[0].fate = gone
			}
			s.done(c, now)
			now = now.Add(time.Minute)
			s.endRests(now, 9)
		}
	}
}

// TestADestinationThatIsDownNeedsOneThatNeverFailed asks what is of use while it
// is down, with different ordering keys at hand.
func TestADestinationThatIsDownNeedsOneThatNeverFailed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := newSchedule(1, Batching{MaxEvents: 1}, backoff{min: time.Second, max: time.Minute}, 1, func() float64 { return 0 })
	add := func(id string) { s.add([]Record{{ID: id, Event: event.Event{OrderingKey: id}}}) }
	fail := func() { s.done(s.take(1), now) }
	for _, step := range []struct {
		atHand string
		do     func()
		wanted bool
	}{
		{"one that failed and one that never failed", func() {
			add("a")
			fail()
			now = now.Add(time.Second)
			s.endRests(now, 1)
			add("a")
			add("b")
		}, false},
		{"one that failed", fail, true},
		{"nothing", fail, true},
		{"one that never failed", func() { add("c") }, false},
	} {
		step.do()
		if got := s.appetite(); got > 0 != step.wanted {
			t.Errorf("with %s at hand it asks for %d, want any: %v", step.atHand, got, step.wanted)
		}
	}
}

// TestTheOldestGoesFirstThoughItWasHandedOutLast has an older record come after a
// newer one of another ordering key, as one does whose rest is over.
func TestTheOldestGoesFirstThoughItWasHandedOutLast(t *testing.T) {
	t.Parallel()
	s := newSchedule(1, Batching{MaxEvents: 1}, backoff{}, 1, rand.Float64)
	for _, second := range []int64{2, 1, 3} {
		s.add([]Record{{ID: fmt.Sprint(second), Added: time.Unix(second, 0), Event: event.Event{OrderingKey: fmt.Sprint(second)}}})
	}
	var got []string
	for c := s.take(1); c != nil; c = s.take(1) {
		got = append(got, c.attempts[0].record.ID)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestTheSizeOfRecordsBoundsHowManyAreAskedFor sees records of one size before it
// asks.
func TestTheSizeOfRecordsBoundsHowManyAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, least, most int }{
		{0, mostFetched, mostFetched},
		{1 << 20, bytesFetched >> 20 * 9 / 10, bytesFetched >> 20},
	} {
		s := newSchedule(1000, Batching{MaxEvents: 1}, backoff{}, 1, rand.Float64)
		data := make([]byte, c.size)
		for i := range 50 {
			s.add([]Record{{Event: event.Event{OrderingKey: fmt.Sprint(i), Data: data}}})
		}
		if got := s.appetite(); got < c.least || got > c.most {
			t.Errorf("it asks for %d after records of %d bytes, want %d to %d", got, c.size, c.least, c.most)
		}
	}
}

// TestALineThatRunsLowGetsMore fills an ordering key, by number or by size, and
// sends half of it.
func TestALineThatRunsLowGetsMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ full, data int }{{mostPerLine, 0}, {bytesPerLine >> 20, 1<<20 - recordOverhead}} {
		s := newSchedule(1, Batching{MaxEvents: 1}, backoff{}, 1, rand.Float64)
		records := make([]Record, c.full)
		for i := range records {
			records[i].Event.Data = make([]byte, c.data)
		}
		s.add(records)
		s.more = false
		for sent := range c.full / 2 {
			if len(s.except.keys) != 1 || s.more {
				t.Fatalf("after %d records the source is asked for more, want %d of %d", sent, c.full/2, c.full)
			}
			call := s.take(1)
			call.attempts[0].fate = removed
			s.done(call, time.Time{})
		}
		if len(s.except.keys) != 0 || !s.more {
			t.Errorf("%d ordering keys are left out with half of %d sent, more is %v", len(s.except.keys), c.full, s.more)
		}
	}
}

func TestALineHasEnoughForTwoCalls(t *testing.T) {
	t.Parallel()
	for _, batching := range []Batching{{MaxEvents: 1}, {MaxEvents: 1000}, {MaxEvents: 1000, InOrder: true}} {
		if b := newBounds(1, batching); b.perLine < 2*b.perCall || b.atHand < 2*b.perLine {
			t.Errorf("%+v: %d of an ordering key are enough, %d altogether, with %d a call", batching, b.perLine, b.atHand, b.perCall)
		}
	}
}

// TestWhatIsCrowdedIsCut hands out far more of some ordering keys than is enough
// of each.
func TestWhatIsCrowdedIsCut(t *testing.T) {
	t.Parallel()
	s := newSchedule(1, Batching{MaxEvents: 1000}, backoff{}, 1, rand.Float64)
	const lines, each = 40, 2000
	for i := range lines {
		records := make([]Record, each)
		for j := range records {
			records[j].Event.OrderingKey = fmt.Sprint(i)
		}
		s.add(records)
	}
	if s.waiting < s.bounds.atHand || s.bytes >= bytesAtHand {
		t.Fatalf("%d records of %d bytes are at hand, want too many and not too large", s.waiting, s.bytes)
	}
	if got := s.appetite(); got == 0 || s.waiting != lines*mostPerLine || len(s.unwanted) != lines*(each-mostPerLine) {
		t.Errorf("%d are asked for, %d at hand, %d released; want some, %d, %d", got, s.waiting, len(s.unwanted), lines*mostPerLine, lines*(each-mostPerLine))
	}
}

func TestNoFurtherOrderingKeysAreTakenOnWhereTooManyRest(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := newSchedule(1, Batching{MaxEvents: 1}, backoff{}, 1, rand.Float64)
	for i := range maxResting {
		if s.appetite() == 0 {
			t.Fatalf("nothing is asked for with %d ordering keys resting, want that at %d", i, maxResting)
		}
		s.rests.begin(fmt.Sprint(i), history{failures: 1}, now)
	}
	if got := s.appetite(); got != 0 {
		t.Errorf("%d are asked for with %d ordering keys resting", got, maxResting)
	}
	s.endRests(now, 1)
	if s.appetite() == 0 {
		t.Error("nothing is asked for though a rest is over")
	}
}
