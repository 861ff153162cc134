package vote_test

import (
	"fmt"
	"testing"

	"github.com/settleonce/settleonce/examples/match/vote"
)

// seats reads one character a seat: 1, 2 and D are reports of an eligible
// seat, '.' is one that has not reported, 'o' and 'k' stand before the report
// of a seat that is offline or kicked.
func seats(t *testing.T, text string) []vote.Seat {
	t.Helper()
	var read []vote.Seat
	online, kicked := true, false
	for _, r := range text {
		switch r {
		case 'o':
			online = false
			continue
		case 'k':
			kicked = true
			continue
		}
		report, known := map[rune]vote.Winner{'.': vote.Nobody, '1': vote.TeamOne, '2': vote.TeamTwo, 'D': vote.Draw}[r]
		if !known {
			t.Fatalf("seats %q: unknown character %q", text, r)
		}
		read = append(read, vote.Seat{Online: online, Kicked: kicked, Report: report})
		online, kicked = true, false
	}
	return read
}

func TestCounting(t *testing.T) {
	t.Parallel()
	undecided := "undecided"
	one, two, draw := "team one", "team two", "draw"
	for _, test := range []struct {
		seats, majority, final string
		why                    string
	}{
		{"....", undecided, "aborted", "no report at all"},
		{"", undecided, "aborted", "no seats"},
		{"111.", one, one, "three of four"},
		{"11..", undecided, one + " suspect", "half is no strict majority"},
		{"11.", one, one, "two of three"},
		{"DDD.", draw, draw, "a draw is a winner like any other"},
		{"12..", undecided, "aborted", "a tie"},
		{"112.", undecided, one + " suspect", "a relative majority"},
		{"1122", undecided, "aborted", "a tie of all"},
		{"112D", undecided, one + " suspect", "three ways"},
		{"12D.", undecided, "aborted", "a tie of three"},
		{"12Do2", undecided, "aborted", "the offline seat breaks no tie"},
		{"11o2o2", one, one, "those offline do not count among the eligible"},
		{"22k1k1", two, two, "those kicked do not count among the eligible"},
		{"o1o1o1.", undecided, "aborted", "who reported and left took the report along"},
		{"o1k1", undecided, "aborted", "nobody is eligible"},
		{"2...", undecided, two + " suspect", "one report is a relative majority"},
		{"okD1", one, one, "one eligible seat decides alone"},
	} {
		t.Run(test.seats, func(t *testing.T) {
			t.Parallel()
			decision, decided := vote.Majority(seats(t, test.seats))
			got := undecided
			if decided {
				got = text(decision)
			}
			if got != test.majority {
				t.Errorf("majority: %s, want %s (%s)", got, test.majority, test.why)
			}
			if got := text(vote.Final(seats(t, test.seats))); got != test.final {
				t.Errorf("final: %s, want %s (%s)", got, test.final, test.why)
			}
		})
	}
}

func text(decision vote.Decision) string {
	switch {
	case decision.Aborted && decision.Winner == vote.Nobody && !decision.Suspect:
		return "aborted"
	case decision.Suspect:
		return decision.Winner.String() + " suspect"
	default:
		return decision.Winner.String()
	}
}

func ExampleFinal() {
	seats := []vote.Seat{
		{Online: true, Report: vote.TeamTwo},
		{Online: true, Report: vote.TeamTwo},
		{Online: true, Report: vote.TeamOne},
		{Online: true},                        // has not reported
		{Online: false, Report: vote.TeamOne}, // has left
	}
	_, decided := vote.Majority(seats)
	final := vote.Final(seats)
	fmt.Println("strict majority:", decided)
	fmt.Println("after the window:", final.Winner, "suspect:", final.Suspect)
	// Output:
	// strict majority: false
	// after the window: team two suspect: true
}
