package battle

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/settleonce/settleonce/examples/match/clock"
	"github.com/settleonce/settleonce/examples/match/room"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// ending is how the simulated players of a match behave at its end.
type ending int

const (
	agreed   ending = iota // all who report agree
	drawn                  // on a draw
	deserted               // most have left; those who stayed agree
	cheated                // the kicked player says something else
	doubtful               // too few report for a strict majority
	tied                   // the teams contradict each other
	silent                 // nobody reports
)

// blockSize is how many matches show every ending.
const blockSize = 10

// block returns what every ten matches are made of, in an order drawn from the
// seed. So a short run shows every ending too.
func block() [blockSize]ending {
	return [...]ending{agreed, agreed, agreed, drawn, deserted, cheated, doubtful, doubtful, tied, silent}
}

// step is something that happens in a match, so long after its start.
type step struct {
	at time.Duration
	do func(*room.Room) error
}

// script returns what happens in match number, counted from 1, of the run with
// this seed. It depends on nothing else.
func script(seed uint64, number, teamSize int) []step {
	index := number - 1
	order := repeatable(seed, index/blockSize).Perm(blockSize)
	random := repeatable(seed^0x5e771e, number)
	winner := vote.TeamOne
	if random.IntN(2) == 1 {
		winner = vote.TeamTwo
	}
	end := 5*time.Minute + time.Duration(random.IntN(900))*time.Second
	steps := reports(block()[order[index%blockSize]], winner, end, 2*teamSize)
	if random.IntN(2) == 1 {
		steps = append(steps, wanderer(random.IntN(2*teamSize), end/2)...)
	}
	// However it went, the game ends the room once more after the dwell has
	// begun, and a client reports late. Neither changes anything.
	return append(steps,
		step{end + 15*time.Second, func(r *room.Room) error { r.End(); return nil }},
		step{end + 20*time.Second, func(r *room.Room) error { return r.Report(0, vote.Draw) }},
	)
}

// repeatable returns random numbers that are the same in every run.
func repeatable(seed uint64, stream int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(stream))) //nolint:gosec // nothing is secret about a simulation
}

func reports(how ending, winner vote.Winner, end time.Duration, seats int) (steps []step) {
	report := func(winner vote.Winner, seats ...int) {
		for i, seat := range seats {
			at := end + time.Duration(i)*time.Second
			steps = append(steps, step{at, func(r *room.Room) error { return r.Report(seat, winner) }})
		}
	}
	all := make([]int, seats)
	for i := range all {
		all[i] = i
	}
	half := seats / 2
	switch how {
	case agreed:
		report(winner, all...)
	case drawn:
		report(vote.Draw, all...)
	case deserted:
		for _, seat := range all[1:] {
			steps = append(steps, step{end - time.Second, func(r *room.Room) error { return r.Leave(seat) }})
		}
		report(winner, 0)
	case cheated:
		steps = append(steps, step{end - time.Second, func(r *room.Room) error { return r.Kick(seats - 1) }})
		report(winner, all[:seats-1]...)
	case doubtful:
		report(winner, all[:half]...)
	case tied:
		report(vote.TeamOne, all[:half]...)
		report(vote.TeamTwo, all[half:]...)
	case silent:
	}
	return steps
}

// wanderer is a player who loses the connection in mid-battle and comes back.
func wanderer(seat int, at time.Duration) []step {
	return []step{
		{at, func(r *room.Room) error { return r.Leave(seat) }},
		{at + 5*time.Second, func(r *room.Room) error { return r.Return(seat) }},
	}
}

// perform runs the steps on a simulated clock until the room has closed. Some
// reports are refused, as they would be in the field; the room goes on.
func perform(simulated *clock.Simulated, r *room.Room, steps []step) error {
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var unexpected error
	for _, s := range steps {
		simulated.AfterFunc(s.at, func() {
			err := s.do(r)
			if errors.Is(err, room.ErrNotEligible) || errors.Is(err, room.ErrReported) {
				err = nil
			}
			unexpected = errors.Join(unexpected, err)
		})
	}
	simulated.Run()
	return unexpected
}
