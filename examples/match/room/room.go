// Package room is one match on a battle node: its seats, its vote and its end.
//
// A room is Playing until a vote decides or its time is up, then Finished for
// a while, so that clients which come back can still be told how it ended,
// then Closed. It finishes once: whatever asks again, later or at the same
// moment, gets the decision that stands.
package room

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settleonce/settleonce/examples/match/clock"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// Errors of a report that does not count.
var (
	// ErrSeat is true for a seat that the room does not have.
	ErrSeat = errors.New("room: no such seat")
	// ErrNotReportable is true for a report that names no possible end.
	ErrNotReportable = errors.New("room: a report must name a team or a draw")
	// ErrNotEligible is true for a report of a seat that is offline or
	// kicked.
	ErrNotEligible = errors.New("room: the seat may not report")
	// ErrReported is true for a second report of a seat that differs from
	// its first, which stands.
	ErrReported = errors.New("room: the seat has reported something else")
)

// State is where a room is in its life.
type State int

// The states, in their order.
const (
	Playing State = iota
	Finished
	Closed
)

// Config makes a room.
type Config struct {
	// Seats is how many players the room has. They start online. It must be
	// 1 or more.
	Seats int
	// Clock is required.
	Clock clock.Clock
	// VoteWindow is how long after the first report a relative majority
	// decides. Zero: ten seconds.
	VoteWindow time.Duration
	// PlayLimit is how long the room may play without a report. Zero: an
	// hour.
	PlayLimit time.Duration
	// Dwell is how long the room stays Finished. Zero: thirty seconds.
	Dwell time.Duration

	// Finish is required. It is called once, with the room already Finished,
	// and makes the decision durable. The room does not close before it has
	// returned.
	Finish func(vote.Decision)
	// BattleEnd tells one client that the battle has ended. Nil: nobody is
	// told.
	BattleEnd func(seat int, decision vote.Decision)
	// Close is called once, when the room is Closed, with how long it was
	// Finished. Nil: nothing is called.
	Close func(dwelt time.Duration)
}

// Room is one match. Safe for concurrent use; no callback runs under its lock.
type Room struct {
	config Config

	mu         sync.Mutex
	state      State
	seats      []vote.Seat
	decision   vote.Decision
	finishedAt time.Time
	stopTimer  func() // of the play limit, then of the vote window
	voting     bool   // the first report has come
}

// New opens a room and starts its time.
func New(config Config) (*Room, error) {
	var broken []error
	if config.Seats < 1 {
		broken = append(broken, fmt.Errorf("room: Seats must be 1 or more, is %d", config.Seats))
	}
	if config.Clock == nil {
		broken = append(broken, errors.New("room: Clock must be set"))
	}
	if config.Finish == nil {
		broken = append(broken, errors.New("room: Finish must be set"))
	}
	if config.VoteWindow < 0 || config.PlayLimit < 0 || config.Dwell < 0 {
		broken = append(broken, errors.New("room: VoteWindow, PlayLimit and Dwell must not be negative"))
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	setDefault(&config.VoteWindow, 10*time.Second)
	setDefault(&config.PlayLimit, time.Hour)
	setDefault(&config.Dwell, 30*time.Second)
	room := &Room{config: config, seats: make([]vote.Seat, config.Seats)}
	for i := range room.seats {
		room.seats[i].Online = true
	}
	room.mu.Lock()
	defer room.mu.Unlock()
	room.stopTimer = config.Clock.AfterFunc(config.PlayLimit, room.End)
	return room, nil
}

func setDefault(field *time.Duration, value time.Duration) {
	if *field == 0 {
		*field = value
	}
}

// State returns where the room is in its life.
func (r *Room) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Decision returns how the room ended; false while it is Playing.
func (r *Room) Decision() (vote.Decision, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decision, r.state != Playing
}

// Report takes what a seat says about the end. The first report starts the
// vote's window. Once the room has finished, a report changes nothing and is no
// error: the client has yet to hear of the end.
func (r *Room) Report(seat int, winner vote.Winner) error {
	if !winner.Reportable() {
		return fmt.Errorf("%w, not %v", ErrNotReportable, winner)
	}
	return r.change(seat, func(s *vote.Seat) error {
		switch {
		case !s.Online || s.Kicked:
			return fmt.Errorf("%w: seat %d is offline or kicked", ErrNotEligible, seat)
		case s.Report != vote.Nobody && s.Report != winner:
			return fmt.Errorf("%w: seat %d, %v", ErrReported, seat, s.Report)
		}
		s.Report = winner
		r.openVote()
		return nil
	})
}

// Leave takes a seat offline. Fewer eligible seats can make a majority.
func (r *Room) Leave(seat int) error {
	return r.change(seat, func(s *vote.Seat) error { s.Online = false; return nil })
}

// Return brings a seat back online. A client that returns to a Finished room is
// told the end.
func (r *Room) Return(seat int) error {
	err := r.change(seat, func(s *vote.Seat) error { s.Online = true; return nil })
	if err != nil {
		return err
	}
	r.mu.Lock()
	tell := r.state == Finished && !r.seats[seat].Kicked
	decision := r.decision
	r.mu.Unlock()
	if tell && r.config.BattleEnd != nil {
		r.config.BattleEnd(seat, decision)
	}
	return nil
}

// Kick takes a seat's vote away for good. Fewer eligible seats can make a
// majority.
func (r *Room) Kick(seat int) error {
	return r.change(seat, func(s *vote.Seat) error { s.Kicked = true; return nil })
}

// End finishes the room with the reports that there are. Ending it again does
// nothing.
func (r *Room) End() {
	r.mu.Lock()
	if r.state != Playing {
		r.mu.Unlock()
		return
	}
	r.finish(vote.Final(r.seats)) // unlocks
}

// change changes a seat and finishes the room if that made a majority. While
// the room is Finished, seats still come and go; the decision stands.
func (r *Room) change(seat int, apply func(*vote.Seat) error) error {
	r.mu.Lock()
	if seat < 0 || seat >= len(r.seats) {
		r.mu.Unlock()
		return fmt.Errorf("%w: %d of %d", ErrSeat, seat, len(r.seats))
	}
	playing := r.state == Playing
	err := apply(&r.seats[seat])
	if !playing || err != nil {
		r.mu.Unlock()
		if playing {
			return err
		}
		return nil
	}
	decision, decided := vote.Majority(r.seats)
	if !decided {
		r.mu.Unlock()
		return nil
	}
	r.finish(decision) // unlocks
	return nil
}

// openVote replaces the play limit by the vote's window at the first report.
// The lock is held.
func (r *Room) openVote() {
	if r.voting || r.state != Playing {
		return
	}
	r.voting = true
	r.stopTimer()
	r.stopTimer = r.config.Clock.AfterFunc(r.config.VoteWindow, r.End)
}

// finish is entered with the lock held and the room Playing, and is the only
// way out of Playing. It unlocks before it calls anybody.
func (r *Room) finish(decision vote.Decision) {
	r.state = Finished
	r.decision = decision
	r.finishedAt = r.config.Clock.Now()
	r.stopTimer()
	present := make([]int, 0, len(r.seats))
	for i, seat := range r.seats {
		if seat.Online && !seat.Kicked {
			present = append(present, i)
		}
	}
	r.mu.Unlock()

	if r.config.BattleEnd != nil {
		for _, seat := range present {
			r.config.BattleEnd(seat, decision)
		}
	}
	r.config.Finish(decision)
	left := r.config.Dwell - r.config.Clock.Now().Sub(r.finishedAt)
	r.config.Clock.AfterFunc(left, r.close)
}

func (r *Room) close() {
	r.mu.Lock()
	r.state = Closed
	dwelt := r.config.Clock.Now().Sub(r.finishedAt)
	r.mu.Unlock()
	if r.config.Close != nil {
		r.config.Close(dwelt)
	}
}
