// Package vote makes one result of what the players of a match report.
//
// The battle node does not trust any single client. A strict majority of the
// eligible seats decides at once. Some time after the first report a relative
// majority has to do, and then the result is marked suspect. A tie, or no
// report at all, decides nothing: the match is aborted.
//
// A seat is eligible if its player is online and not kicked *when the vote is
// counted*. Whoever reports and leaves takes the report along.
package vote

import "fmt"

// Winner is the number of what won. A draw has a number of its own, so that
// players can report one like any other end.
type Winner int

const (
	// Nobody is the zero value: no report, or an aborted match.
	Nobody Winner = iota
	// TeamOne won.
	TeamOne
	// TeamTwo won.
	TeamTwo
	// Draw is the winner's number of a match that nobody lost.
	Draw
)

// String returns the winner in words.
func (w Winner) String() string {
	switch w {
	case Nobody:
		return "nobody"
	case TeamOne:
		return "team one"
	case TeamTwo:
		return "team two"
	case Draw:
		return "draw"
	default:
		return fmt.Sprintf("winner %d", int(w))
	}
}

// Reportable reports whether a player may report w.
func (w Winner) Reportable() bool { return w == TeamOne || w == TeamTwo || w == Draw }

// Seat is what counts about one seat.
type Seat struct {
	Online bool
	Kicked bool
	// Report is what the seat reported; Nobody: nothing yet.
	Report Winner
}

func (s Seat) eligible() bool { return s.Online && !s.Kicked }

// Decision is how a match ended.
type Decision struct {
	// Winner is Nobody exactly where the match is aborted.
	Winner Winner `json:"winner"`
	// Suspect marks a result that no strict majority stands behind.
	Suspect bool `json:"suspect"`
	// Aborted says that the reports decide nothing.
	Aborted bool `json:"aborted"`
}

// Majority returns what a strict majority of the eligible seats reported. It
// is false while there is none; seats that have not reported count against
// every winner.
func Majority(seats []Seat) (Decision, bool) {
	eligible, counts := count(seats)
	for winner, votes := range counts {
		if 2*votes > eligible {
			return Decision{Winner: winner}, true
		}
	}
	return Decision{}, false
}

// Final decides with the reports that there are, when the time for more is
// over: a strict majority as ever, else a relative one, which is suspect. A
// tie and no report at all end as aborted.
func Final(seats []Seat) Decision {
	if decision, decided := Majority(seats); decided {
		return decision
	}
	_, counts := count(seats)
	leader, most, tied := Nobody, 0, false
	for winner, votes := range counts {
		switch {
		case votes > most:
			leader, most, tied = winner, votes, false
		case votes == most:
			tied = true
		}
	}
	if leader == Nobody || tied {
		return Decision{Aborted: true}
	}
	return Decision{Winner: leader, Suspect: true}
}

// count returns the number of eligible seats and the reports among them.
func count(seats []Seat) (eligible int, counts map[Winner]int) {
	counts = make(map[Winner]int)
	for _, seat := range seats {
		if !seat.eligible() {
			continue
		}
		eligible++
		if seat.Report != Nobody {
			counts[seat.Report]++
		}
	}
	return eligible, counts
}
