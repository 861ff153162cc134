package audit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// Report is the audit's judgement.
type Report struct {
	Figures
	// Problems says in words what is not as it should be. Empty: the books
	// are in order.
	Problems []string
	// Sums are the rating points of all players together.
	Sums RatingSums
	// Compensated counts the rooms released early whose players were rated
	// by [lobby.CompensationRule].
	Compensated int
	// LongestDwell is the longest that a room stayed Finished.
	LongestDwell time.Duration
}

// InOrder reports whether nothing is lost, doubled or owed, and nothing else is
// wrong either.
func (r *Report) InOrder() bool {
	return r.Lost == 0 && r.Doubled == 0 && r.OutboxLeft == 0 && len(r.Problems) == 0
}

// RatingSums are rating points over all players. After = Before + Changes, and
// Changes is zero, since what one team gains the other loses.
type RatingSums struct{ Before, Changes, After int }

// Judge compares the facts. It fills everything in [Figures] but Store, Faults
// and Seconds, which are not the audit's to know.
func Judge(facts Facts) Report {
	books := file(facts)
	report := Report{}
	report.Matches = len(facts.Finished)
	report.OutboxLeft = len(facts.Owed)
	report.Quarantined = len(facts.SetAside)
	for _, finished := range facts.Finished {
		report.judgeMatch(books, finished)
		report.judgeSettlement(books, finished.RoomID)
	}
	report.judgeStrangers(books)
	report.judgeRatings(facts.Tables)
	report.judgeReleases(books, facts.Tables)
	report.judgeReplays(facts)
	report.countReceipts(facts.Receipts)
	report.countSetAside(books, facts.SetAside)
	report.countDeliveries(facts.Deliveries)
	for _, match := range facts.Tables.Matches {
		if match.Decision.Suspect {
			report.Suspect++
		}
		if match.Decision.Winner == vote.Draw {
			report.Draws++
		}
	}
	for _, dwelt := range facts.Dwelt {
		report.LongestDwell = max(report.LongestDwell, dwelt)
	}
	return report
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// books are the facts by room.
type books struct {
	finished map[string]int // how often
	owed     map[string]bool
	receipts map[string]receipt.Receipt
	matches  map[string][]lobby.Match
	players  map[string][]lobby.PlayerResult
	replays  map[string][]lobby.Replay
	events   map[string][]event.Event
	releases map[string][]lobby.Release
}

func file(facts Facts) books {
	b := books{
		finished: make(map[string]int), owed: make(map[string]bool),
		receipts: make(map[string]receipt.Receipt),
		matches:  by(facts.Tables.Matches, func(m lobby.Match) string { return m.RoomID }),
		players:  by(facts.Tables.PlayerResults, func(p lobby.PlayerResult) string { return p.RoomID }),
		replays:  by(facts.Tables.Replays, func(p lobby.Replay) string { return p.RoomID }),
		events:   by(facts.Tables.Events, func(e event.Event) string { return e.Key.ID }),
		releases: by(facts.Tables.Releases, func(f lobby.Release) string { return f.RoomID }),
	}
	for _, finished := range facts.Finished {
		b.finished[finished.RoomID]++
	}
	for _, room := range facts.Owed {
		b.owed[room] = true
	}
	for _, r := range facts.Receipts {
		b.receipts[r.Key.ID] = r
	}
	return b
}

func by[T any](rows []T, room func(T) string) map[string][]T {
	grouped := make(map[string][]T)
	for _, row := range rows {
		grouped[room(row)] = append(grouped[room(row)], row)
	}
	return grouped
}

// judgeMatch compares one finished match with what was kept of it.
func (r *Report) judgeMatch(b books, finished result.Result) {
	room := finished.RoomID
	missing, twice := b.effects(room)
	stored, hasReceipt := b.receipts[room]
	switch sum, err := finished.Fingerprint(); {
	case !hasReceipt:
		missing = append(missing, "receipt")
	case stored.Requested != finished.Kind():
		missing = append(missing, fmt.Sprintf("receipt for %q (it is for %q)", finished.Kind(), stored.Requested))
	case err != nil || !stored.Fingerprint.Equal(sum):
		missing = append(missing, "receipt with its fingerprint")
	}
	if matches := b.matches[room]; len(matches) > 0 && matches[0].Decision != finished.Decision {
		missing = append(missing, "decision as it was finished")
	}
	if replays := b.replays[room]; len(replays) > 0 && replays[0].Path != finished.ReplayPath {
		missing = append(missing, "replay path as it was finished")
	}
	if len(missing) > 0 && (!b.owed[room] || hasReceipt) {
		r.Lost++
		r.problem("lost: match %s has no %v", room, missing)
	}
	if len(twice) > 0 {
		r.Doubled++
		r.problem("doubled: match %s has more than one %v", room, twice)
	}
}

// effects returns what a settled match should have and lacks, and what it has
// too often.
func (b books) effects(room string) (missing, twice []string) {
	check := func(what string, count int) {
		switch {
		case count == 0:
			missing = append(missing, what)
		case count > 1:
			twice = append(twice, what)
		}
	}
	check("finish", b.finished[room])
	check("match row", len(b.matches[room]))
	check("replay row", len(b.replays[room]))
	check("event", len(b.events[room]))
	players := make(map[string]int)
	for _, player := range b.players[room] {
		players[player.Player]++
	}
	if len(players) == 0 {
		missing = append(missing, "player rows")
	}
	for _, player := range slices.Sorted(maps.Keys(players)) {
		check("row of "+player, players[player])
	}
	return missing, twice
}

// judgeStrangers looks for effects of matches that nobody finished.
func (r *Report) judgeStrangers(b books) {
	strangers := make(map[string]bool)
	for _, rooms := range []map[string]bool{known(b.receipts), known(b.matches), known(b.players), known(b.replays), known(b.events)} {
		for room := range rooms {
			if b.finished[room] == 0 {
				strangers[room] = true
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(strangers)) {
		r.Doubled++
		r.problem("doubled: match %s was settled, and never finished", room)
	}
}

func known[T any](rows map[string]T) map[string]bool {
	rooms := make(map[string]bool)
	for room := range rows {
		rooms[room] = true
	}
	return rooms
}

// judgeRatings adds up every player's changes.
func (r *Report) judgeRatings(tables lobby.Tables) {
	changes := make(map[string]int)
	for _, played := range tables.PlayerResults {
		changes[played.Player] += played.Change
		r.Sums.Changes += played.Change
	}
	for _, rating := range tables.Ratings {
		r.Sums.Before += rating.Initial
		r.Sums.After += rating.Current
		if rating.Current != rating.Initial+changes[rating.Player] {
			r.Doubled++
			r.problem("doubled: %s has rating %d, began with %d and changed by %d", rating.Player, rating.Current, rating.Initial, changes[rating.Player])
		}
	}
	if r.Sums.Before != r.Sums.After {
		r.problem("the sum of all ratings was %d and is %d", r.Sums.Before, r.Sums.After)
	}
}

// judgeReleases checks that players came free after their settlement, or on an
// operator's word and with its compensation, and that they all did.
func (r *Report) judgeReleases(b books, tables lobby.Tables) {
	ordered := make(map[string]lobby.EarlyRelease)
	for _, release := range tables.EarlyReleases {
		ordered[release.RoomID] = release
	}
	early := make(map[string]bool)
	for _, release := range tables.Releases {
		if release.Settled || early[release.RoomID] {
			continue
		}
		early[release.RoomID] = true
		if order, found := ordered[release.RoomID]; !found || release.By != order.Operator {
			r.problem("released before the settlement, on no operator's word: room %s", release.RoomID)
		}
	}
	r.ReleasedEarly = len(early)
	for _, release := range tables.EarlyReleases {
		if compensated(release, b.matches[release.RoomID], b.players[release.RoomID]) {
			r.Compensated++
		} else if !b.owed[release.RoomID] {
			r.problem("released early and not rated by the rule: room %s", release.RoomID)
		}
	}
	for _, room := range tables.Rooms {
		if !b.owed[room.ID] {
			r.problem("room %s is open still", room.ID)
		}
	}
	if len(b.owed) == 0 && len(tables.InBattle) > 0 {
		r.problem("in battle still, though nothing is owed: %v", tables.InBattle)
	}
}

// compensated reports whether a match was rated from the ratings that an early
// release froze.
func compensated(release lobby.EarlyRelease, matches []lobby.Match, players []lobby.PlayerResult) bool {
	if len(matches) != 1 || len(players) != len(release.Frozen) {
		return false
	}
	for _, player := range players {
		if frozen, found := release.Frozen[player.Player]; !found || frozen != player.Rated {
			return false
		}
	}
	return ratedByEnd(matches[0].Decision, players)
}

// judgeReplays checks that a replay row has a file exactly where it names one.
func (r *Report) judgeReplays(facts Facts) {
	files := make(map[string]bool)
	for _, path := range facts.ReplayFiles {
		files[path] = true
	}
	for _, replay := range facts.Tables.Replays {
		switch {
		case replay.Path == "":
			r.ReplayMissing++
		case !files[replay.Path]:
			r.ReplayMissing++
			r.problem("the replay of match %s should be in %s and is not", replay.RoomID, replay.Path)
		}
	}
}

func (r *Report) countReceipts(receipts []receipt.Receipt) {
	for _, stored := range receipts {
		switch stored.Outcome {
		case settle.Settled:
			r.Settled++
		case settle.Aborted:
			r.Aborted++
		}
	}
}

// countSetAside counts the conflicts among what was set aside: what is no
// repeat of the request that its key has a receipt for.
func (r *Report) countSetAside(b books, files []SetAside) {
	for _, file := range files {
		if file.Event == nil {
			continue
		}
		stored, found := b.receipts[file.Event.Key.ID]
		if found && !stored.Fingerprint.Equal(file.Event.Fingerprint) {
			r.Conflicts++
		}
	}
}

func (r *Report) countDeliveries(deliveries []lobby.Delivery) {
	for _, delivery := range deliveries {
		switch delivery.State {
		case lobby.Arrived:
			r.Deliveries++
		case lobby.Replayed:
			r.Replays++
		}
	}
}
