package audit

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/settleonce/settleonce/examples/match/elo"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// judgeSettlement checks what one match was settled as: its receipt and its
// event must say what its rows do, those rated must be those who were in the
// room, and their changes what the end makes of their ratings.
func (r *Report) judgeSettlement(b books, room string) {
	if len(b.matches[room]) != 1 {
		return // lost or doubled, which has been said
	}
	match, players := b.matches[room][0], b.players[room]
	if stored, found := b.receipts[room]; found && !says(stored.Value, match, players) {
		r.problem("the receipt of match %s does not say what its rows do", room)
	}
	for _, e := range b.events[room] {
		if !says(e.Data, match, players) {
			r.problem("the event of match %s does not say what its rows do", room)
		}
	}
	if !ratedByEnd(match.Decision, players) {
		r.problem("match %s changed ratings by other than its end", room)
	}
	// The room has been deleted with its roster, but it has let out whom it
	// held, once the receipt was answered with.
	rated := names(players, func(p lobby.PlayerResult) string { return p.Player })
	freed := names(b.releases[room], func(f lobby.Release) string { return f.Player })
	if !b.owed[room] && !slices.Equal(rated, freed) {
		r.problem("match %s rated %v, and its room let out %v", room, rated, freed)
	}
}

// says reports whether text is the settlement that stands in the rows.
func says(text []byte, match lobby.Match, players []lobby.PlayerResult) bool {
	var said lobby.Settlement
	if err := json.Unmarshal(text, &said); err != nil {
		return false
	}
	return said.Match == match && slices.Equal(byPlayer(said.Players), byPlayer(players))
}

func byPlayer(rows []lobby.PlayerResult) []lobby.PlayerResult {
	return slices.SortedFunc(slices.Values(rows), func(a, b lobby.PlayerResult) int { return cmp.Compare(a.Player, b.Player) })
}

// ratedByEnd reports whether the changes are what the decision makes of the
// ratings that the players were rated from.
func ratedByEnd(decision vote.Decision, players []lobby.PlayerResult) bool {
	var one, two []int
	for _, player := range players {
		if player.Team == 1 {
			one = append(one, player.Rated)
		} else {
			two = append(two, player.Rated)
		}
	}
	change := elo.Change(decision.Winner, one, two)
	return !slices.ContainsFunc(players, func(p lobby.PlayerResult) bool {
		return p.Team == 1 && p.Change != change || p.Team != 1 && p.Change != -change
	})
}

func names[T any](rows []T, name func(T) string) []string {
	found := make([]string, len(rows))
	for i, row := range rows {
		found[i] = name(row)
	}
	slices.Sort(found)
	return found
}
