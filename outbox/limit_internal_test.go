package outbox

import (
	"math"
	"testing"
	"time"
)

// spendAll sends whatever there is room for, up to most a call, until end.
func (l *limit) spendAll(from, end time.Time, most int) (events, calls int) {
	now := from
	for now.Before(end) {
		if room := min(l.room(now), most); room > 0 {
			l.spend(room)
			events += room
			calls++
			continue
		}
		now = l.next()
	}
	return events, calls
}

func TestLimitKeepsTheRate(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		rate   float64
		span   time.Duration
		events int // the rate's, and at most the burst
		burst  int
	}{
		{0.5, time.Minute, 30, 1},
		{1, time.Minute, 60, 1},
		{3, time.Minute, 180, 1},
		{100, 10 * time.Second, 1000, 10},
		{12_345, 10 * time.Second, 123_450, 1235},
		{1e7, time.Second, 10_000_000, 1_000_000},
	} {
		l := newLimit(c.rate, began)
		events, _ := l.spendAll(began, began.Add(c.span), 500)
		// What is missing was not spent yet when the span ended.
		if events > c.events+c.burst || events < c.events-c.burst/2 {
			t.Errorf("rate %v: %d events in %v, want %d and at most %d more", c.rate, events, c.span, c.events, c.burst)
		}
	}
}

func TestLimitSavesUpATenthOfASecond(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	l := newLimit(1000, began)
	l.spend(l.room(began))
	if room := l.room(began.Add(time.Hour)); room != 100 {
		t.Errorf("room for %d events after an idle hour, want 100", room)
	}
}

func TestLimitThatRanDryMakesLargeCalls(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	l := newLimit(10_000, began)
	events, calls := l.spendAll(began, began.Add(10*time.Second), 5000)
	if mean := events / calls; mean < 499 {
		t.Errorf("%d events a call, want about half of what the bucket holds", mean)
	}
}

func TestLimitIgnoresAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	l := newLimit(10, began)
	l.spend(l.room(began))
	if room := l.room(began.Add(-time.Hour)); room != 0 {
		t.Errorf("room for %d events in the past, want none", room)
	}
	if room := l.room(began.Add(100 * time.Millisecond)); room != 1 {
		t.Errorf("room for %d events, want 1", room)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	l := newLimit(0, time.Time{})
	l.spend(1 << 40)
	if room := l.room(time.Time{}); room != math.MaxInt {
		t.Errorf("room for %d events without a limit", room)
	}
}

// TestLimitWithExtremeRates has rates that a float can hold, and numbers of
// events and of nanoseconds can't.
func TestLimitWithExtremeRates(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	fast := newLimit(math.MaxFloat64, began)
	if room := fast.room(began); room <= 0 {
		t.Errorf("room for %d events at the greatest rate", room)
	}
	slow := newLimit(math.SmallestNonzeroFloat64, began)
	slow.spend(slow.room(began))
	if next := slow.next(); next.Before(began.Add(time.Hour)) {
		t.Errorf("the next event at the smallest rate comes after %v", next.Sub(began))
	}
}
