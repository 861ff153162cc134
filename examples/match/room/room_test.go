package room_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/clock"
	"github.com/settleonce/settleonce/examples/match/room"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// match is a room on a simulated clock that notes what it calls.
type match struct {
	*room.Room
	t     *testing.T
	clock *clock.Simulated
	start time.Time
	log   []string
}

func open(t *testing.T, config room.Config) *match {
	t.Helper()
	m := &match{t: t, start: time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)}
	m.clock = clock.NewSimulated(m.start)
	config.Clock = m.clock
	config.Finish = func(d vote.Decision) { m.note("finish %s", text(d)) }
	config.BattleEnd = func(seat int, d vote.Decision) { m.note("battle end to %d: %s", seat, text(d)) }
	config.Close = func(dwelt time.Duration) { m.note("close after %v", dwelt) }
	opened, err := room.New(config)
	if err != nil {
		t.Fatal(err)
	}
	m.Room = opened
	return m
}

func (m *match) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Error(err)
	}
}

func (m *match) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%v ", m.clock.Now().Sub(m.start))+fmt.Sprintf(format, args...))
}

func text(d vote.Decision) string {
	if d.Aborted {
		return "aborted"
	}
	if d.Suspect {
		return d.Winner.String() + " suspect"
	}
	return d.Winner.String()
}

func TestRoom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		play func(*match)
		want []string
	}{
		{
			"a strict majority decides at once, and only those present are told",
			func(m *match) {
				m.must(m.Leave(3))
				m.must(m.Report(0, vote.TeamOne))
				m.must(m.Report(1, vote.TeamOne))
			},
			[]string{"0s battle end to 0: team one", "0s battle end to 1: team one", "0s battle end to 2: team one", "0s finish team one", "30s close after 30s"},
		},
		{
			"who is kicked makes a majority of the others, and does not come back",
			func(m *match) {
				m.clock.Advance(time.Minute)
				m.must(m.Report(0, vote.TeamTwo))
				m.clock.Advance(9 * time.Second)
				m.must(m.Report(1, vote.TeamTwo))
				m.must(m.Report(2, vote.TeamOne))
				m.must(m.Kick(3))
				m.must(m.Return(3))
			},
			[]string{"1m9s battle end to 0: team two", "1m9s battle end to 1: team two", "1m9s battle end to 2: team two", "1m9s finish team two", "1m39s close after 30s"},
		},
		{
			"ten seconds after the first report, not after the last, a relative majority decides",
			func(m *match) {
				m.must(m.Report(0, vote.Draw))
				m.clock.Advance(9 * time.Second)
				m.must(m.Report(1, vote.Draw))
			},
			[]string{"10s battle end to 0: draw suspect", "10s battle end to 1: draw suspect", "10s battle end to 2: draw suspect", "10s battle end to 3: draw suspect", "10s finish draw suspect", "40s close after 30s"},
		},
		{
			"a vote that begins just before the play limit has its whole window",
			func(m *match) {
				m.clock.Advance(time.Hour - time.Second)
				m.must(m.Report(0, vote.Draw))
				m.clock.Advance(9 * time.Second)
				m.must(m.Report(1, vote.Draw))
				m.must(m.Leave(2))
			},
			[]string{"1h0m8s battle end to 0: draw", "1h0m8s battle end to 1: draw", "1h0m8s battle end to 3: draw", "1h0m8s finish draw", "1h0m38s close after 30s"},
		},
		{
			"a tie at the end of the window aborts",
			func(m *match) {
				m.must(m.Report(0, vote.TeamOne))
				m.must(m.Report(2, vote.TeamTwo))
				m.must(m.Leave(1))
				m.must(m.Leave(3))
			},
			[]string{"10s battle end to 0: aborted", "10s battle end to 2: aborted", "10s finish aborted", "40s close after 30s"},
		},
		{
			"no report at all aborts",
			func(*match) {},
			[]string{"1h0m0s battle end to 0: aborted", "1h0m0s battle end to 1: aborted", "1h0m0s battle end to 2: aborted", "1h0m0s battle end to 3: aborted", "1h0m0s finish aborted", "1h0m30s close after 30s"},
		},
		{
			"who leaves makes a majority of the others",
			func(m *match) {
				m.must(m.Report(0, vote.TeamOne))
				m.must(m.Report(1, vote.TeamOne))
				m.must(m.Leave(2))
			},
			[]string{"0s battle end to 0: team one", "0s battle end to 1: team one", "0s battle end to 3: team one", "0s finish team one", "30s close after 30s"},
		},
		{
			"finishing twice is one finish, and a later report changes nothing",
			func(m *match) {
				for seat := range 3 {
					m.must(m.Report(seat, vote.TeamTwo))
				}
				m.End()
				m.must(m.Report(3, vote.TeamOne))
				m.End()
				if decision, ended := m.Decision(); !ended || decision.Winner != vote.TeamTwo {
					m.t.Errorf("decision %+v (ended: %v), want team two", decision, ended)
				}
			},
			[]string{"0s battle end to 0: team two", "0s battle end to 1: team two", "0s battle end to 2: team two", "0s battle end to 3: team two", "0s finish team two", "30s close after 30s"},
		},
		{
			"who comes back while the room is finished is told",
			func(m *match) {
				for seat := 1; seat < 4; seat++ {
					m.must(m.Leave(seat))
				}
				m.must(m.Report(0, vote.Draw))
				m.clock.Advance(29 * time.Second)
				m.must(m.Return(2))
				m.clock.Advance(2 * time.Second)
				m.must(m.Return(3))
			},
			[]string{"0s battle end to 0: draw", "0s finish draw", "29s battle end to 2: draw", "30s close after 30s"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, room.Config{Seats: 4})
			test.play(m)
			m.clock.Run()
			if diff := cmp.Diff(test.want, m.log); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if m.State() != room.Closed {
				t.Errorf("state %v, want closed", m.State())
			}
		})
	}
}

func TestReportsThatDoNotCount(t *testing.T) {
	t.Parallel()
	m := open(t, room.Config{Seats: 4})
	for _, err := range []error{m.Report(0, vote.TeamOne), m.Report(0, vote.TeamOne), m.Leave(1), m.Kick(2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name      string
		got, want error
	}{
		{"no such seat", m.Report(4, vote.TeamOne), room.ErrSeat},
		{"nobody is no report", m.Report(3, vote.Nobody), room.ErrNotReportable},
		{"unknown number", m.Report(3, 9), room.ErrNotReportable},
		{"second report that differs", m.Report(0, vote.TeamTwo), room.ErrReported},
		{"offline", m.Report(1, vote.TeamOne), room.ErrNotEligible},
		{"kicked", m.Report(2, vote.TeamOne), room.ErrNotEligible},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, test.got, test.want)
		}
	}
}

// A room is not gone before its result is durable: where making it so takes
// longer than the dwell, the dwell grows, which is what its metric is for.
func TestDwellLastsUntilTheResultIsHandedOver(t *testing.T) {
	t.Parallel()
	simulated := clock.NewSimulated(time.Time{})
	var dwelt time.Duration
	opened, err := room.New(room.Config{
		Seats: 1, Clock: simulated,
		Finish: func(vote.Decision) { simulated.Advance(45 * time.Second) },
		Close:  func(d time.Duration) { dwelt = d },
	})
	if err != nil {
		t.Fatal(err)
	}
	opened.End()
	simulated.Run()
	if dwelt != 45*time.Second {
		t.Errorf("the room dwelt %v, want 45s", dwelt)
	}
}

func TestSimultaneousEndsFinishOnce(t *testing.T) {
	t.Parallel()
	var finishes atomic.Int32
	opened, err := room.New(room.Config{
		Seats: 2, Clock: clock.NewSimulated(time.Time{}),
		Finish: func(vote.Decision) { finishes.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(opened.End)
	}
	all.Wait()
	if finishes.Load() != 1 {
		t.Errorf("%d finishes, want 1", finishes.Load())
	}
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := room.New(room.Config{Dwell: -1})
	for _, field := range []string{"Seats", "Clock", "Finish", "Dwell"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
