// Package elo computes what a match between two teams does to ratings.
package elo

import (
	"math"

	"github.com/settleonce/settleonce/examples/match/vote"
)

const (
	// Start is the rating of a new player.
	Start = 1500
	// weight is the most that one match can move a rating, Elo's K.
	weight = 32
	// scale is the difference in rating that makes a tenfold favourite.
	scale = 400
)

// Change returns what each player of team one gains and each player of team
// two loses; negative the other way round. It is computed from the teams'
// mean ratings. An aborted match, whose winner is nobody, changes nothing.
//
// Teams of one size keep the sum of all ratings as it was, which the audit
// relies on.
func Change(winner vote.Winner, teamOne, teamTwo []int) int {
	var score float64
	switch winner {
	case vote.TeamOne:
		score = 1
	case vote.Draw:
		score = 0.5
	case vote.TeamTwo:
		score = 0
	default:
		return 0
	}
	expected := 1 / (1 + math.Pow(10, (mean(teamTwo)-mean(teamOne))/scale))
	return int(math.Round(weight * (score - expected)))
}

func mean(ratings []int) float64 {
	if len(ratings) == 0 {
		return Start
	}
	sum := 0
	for _, rating := range ratings {
		sum += rating
	}
	return float64(sum) / float64(len(ratings))
}
