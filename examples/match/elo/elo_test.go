package elo_test

import (
	"testing"

	"github.com/settleonce/settleonce/examples/match/elo"
	"github.com/settleonce/settleonce/examples/match/vote"
)

func TestChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		winner   vote.Winner
		one, two []int
		want     int
	}{
		{"equals", vote.TeamOne, []int{1500, 1500}, []int{1400, 1600}, 16},
		{"equals, the other way", vote.TeamTwo, []int{1500}, []int{1500}, -16},
		{"a draw of equals moves nothing", vote.Draw, []int{1500}, []int{1500}, 0},
		{"a draw helps the weaker", vote.Draw, []int{1300}, []int{1700}, 13},
		{"a tenfold favourite wins little", vote.TeamOne, []int{1900}, []int{1500}, 3},
		{"and loses much", vote.TeamTwo, []int{1900}, []int{1500}, -29},
		{"aborted", vote.Nobody, []int{1900}, []int{1500}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := elo.Change(test.winner, test.one, test.two); got != test.want {
				t.Errorf("change %d, want %d", got, test.want)
			}
		})
	}
}
