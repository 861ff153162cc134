package outbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name string
		adds map[time.Duration]int // by when
		at   time.Duration
		want float64
	}{
		{"nothing", nil, time.Hour, 0},
		{"in the first second", map[time.Duration]int{0: 7}, time.Millisecond, 7},
		{"over less than a minute", map[time.Duration]int{0: 10, 5 * time.Second: 10}, 10 * time.Second, 2},
		{"over a minute", map[time.Duration]int{time.Second: 1_000_000, 100 * time.Second: 590}, 119 * time.Second, 10},
		{"long ago", map[time.Duration]int{time.Second: 1_000_000}, time.Hour, 0},
		{"in a slot that was used before", map[time.Duration]int{0: 5, 60 * time.Second: 59}, 60 * time.Second, 1},
	} {
		m := meter{began: began}
		for at := time.Duration(0); at <= c.at; at += 500 * time.Millisecond {
			m.add(began.Add(at), c.adds[at])
		}
		if got := m.perSecond(began.Add(c.at)); got < c.want*0.99 || got > c.want*1.01 {
			t.Errorf("%s: %v a second, want %v", c.name, got, c.want)
		}
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_000_000, 0)
	sample := func(seconds int, pending, gone int64) backlogSample {
		return backlogSample{began.Add(time.Duration(seconds) * time.Second), pending, gone}
	}
	for _, c := range []struct {
		name    string
		samples []backlogSample
		want    trend
	}{
		{"one sample", []backlogSample{sample(0, 5, 0)}, trend{}},
		{"two at once", []backlogSample{sample(0, 5, 0), sample(0, 9, 0)}, trend{}},
		{"growth", []backlogSample{sample(0, 100, 0), sample(10, 200, 50)}, trend{10 * time.Second, 15, -10}},
		{"shrinks", []backlogSample{sample(0, 1000, 10), sample(10, 600, 510)}, trend{10 * time.Second, 10, 40}},
		{"another relay takes out more than came", []backlogSample{sample(0, 1000, 0), sample(10, 0, 10)}, trend{10 * time.Second, 0, 100}},
		{"of the last minute", []backlogSample{sample(0, 9999, 0), sample(30, 100, 0), sample(90, 100, 60)}, trend{time.Minute, 1, 0}},
		{"with none a minute ago", []backlogSample{sample(0, 100, 0), sample(600, 100, 60)}, trend{10 * time.Minute, 0.1, 0}},
	} {
		var b backlog
		var got trend
		for _, s := range c.samples {
			got = b.sample(s)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(trend{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestBacklogKeepsAMinuteOfSamples(t *testing.T) {
	t.Parallel()
	var b backlog
	at := time.Unix(1_000_000, 0)
	for range 100_000 {
		at = at.Add(10 * time.Millisecond)
		b.sample(backlogSample{at, 1, 1})
	}
	if n := len(b.samples); n < 60 || n > 62 {
		t.Errorf("%d samples, want one a second for a minute", n)
	}
}

func TestTimeToDrain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pending int64
		shrinks float64
		want    time.Duration
	}{
		{0, -5, 0},
		{100, 10, 10 * time.Second},
		{100, 0, never},
		{100, -1, never},
		{1 << 62, 1e-300, never},
		{1 << 40, 1, never},
	} {
		if got := timeToDrain(c.pending, c.shrinks); got != c.want {
			t.Errorf("%d pending that shrink by %v: %v, want %v", c.pending, c.shrinks, got, c.want)
		}
	}
}
