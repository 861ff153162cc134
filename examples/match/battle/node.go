// Package battle is the sending half of the game: a node on which matches are
// fought, which owes each result to the lobby until it has the receipt.
//
// # What becomes of a result
//
// The room's vote decides. The result goes to the node's journal, then to the
// outbox, both synced to disk; only then may the room close. From the outbox a
// relay delivers it, again and again, until the lobby proves with a receipt that
// the match is settled. A node that is killed at any point goes on from its
// journal and its outbox.
package battle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/clock"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/room"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// Outbox is where results are owed from. [outbox.Dir] is one.
type Outbox interface {
	// Put makes e durable. Putting the same event again is safe.
	Put(ctx context.Context, e event.Event) error
}

// Config makes a node.
type Config struct {
	// Name identifies the node to the lobby. It must be set.
	Name string
	// Matches is how many matches are fought in all, those in the journal
	// included.
	Matches int
	// Seed decides how each of them goes.
	Seed uint64
	// TeamSize is the number of players in a team, 1 or more.
	TeamSize int
	// Workers is how many matches are fought at once, 1 or more.
	Workers int
	// VoteWindow is the room's. Zero: its default of ten seconds.
	VoteWindow time.Duration
	// Replays is the directory of the replay files. It must be set.
	Replays string

	// Journal and what it held when it was opened. It must be set.
	Journal *Journal
	Entries []Entry
	// Outbox must be set.
	Outbox Outbox
	// Lobby must have a URL and a client.
	Lobby LobbyClient
	// Logger must be set.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	var broken []error
	check := func(ok bool, rule string) {
		if !ok {
			broken = append(broken, errors.New("battle: Config: "+rule))
		}
	}
	check(c.Name != "", "Name must be set")
	check(c.Matches >= 0, "Matches must not be negative")
	check(c.TeamSize >= 1, "TeamSize must be 1 or more")
	check(c.Workers >= 1, "Workers must be 1 or more")
	check(c.Replays != "", "Replays must be set")
	check(c.Journal != nil, "Journal must be set")
	check(c.Outbox != nil, "Outbox must be set")
	check(c.Lobby.URL != "" && c.Lobby.Client != nil, "Lobby must have a URL and a Client")
	check(c.Logger != nil, "Logger must be set")
	return errors.Join(broken...)
}

// Node fights matches. Make one with [New].
type Node struct {
	config Config
	dwell  Dwell
}

// New returns a node.
func New(config Config) (*Node, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Node{config: config}, nil
}

// Dwell returns the metric of how long rooms stay Finished.
func (n *Node) Dwell() *Dwell { return &n.dwell }

// match is one match that is to be fought.
type match struct {
	number int
	roomID string
	// lost says that the node had asked for the room before it died: whatever
	// battle there was is gone.
	lost bool
}

// Run takes up what the journal left unfinished, then fights the remaining
// matches, and returns when all of them are in the outbox and their rooms
// closed.
func (n *Node) Run(ctx context.Context) error {
	matches, err := n.takeUp(ctx)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	queue := make(chan match)
	var workers sync.WaitGroup
	for range n.config.Workers {
		workers.Go(func() {
			for m := range queue {
				if err := n.fight(ctx, m); err != nil {
					fail(fmt.Errorf("battle: match %d: %w", m.number, err))
					return
				}
			}
		})
	}
feeding:
	for _, m := range matches {
		select {
		case queue <- m:
		case <-ctx.Done():
			break feeding
		}
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// takeUp hands over what the journal owes, and returns the matches that are not
// finished yet: first those that were under way.
func (n *Node) takeUp(ctx context.Context) ([]match, error) {
	opened := make(map[int]string)
	owed := make(map[int]Entry)
	finished := make(map[int]bool)
	for _, entry := range n.config.Entries {
		switch entry.Kind {
		case Opened:
			opened[entry.Number] = entry.RoomID
		case Finished:
			finished[entry.Number] = true
			owed[entry.Number] = entry
		case HandedOver:
			delete(owed, entry.Number)
		}
	}
	var lost, fresh []match
	for number := 1; number <= n.config.Matches; number++ {
		if entry, owes := owed[number]; owes {
			if err := n.handOverAgain(ctx, entry); err != nil {
				return nil, err
			}
		}
		roomID, wasOpened := opened[number]
		switch {
		case finished[number]:
		case wasOpened:
			lost = append(lost, match{number, roomID, true})
		default:
			fresh = append(fresh, match{number, receipt.NewID(), false})
		}
	}
	return append(lost, fresh...), nil
}

// handOverAgain hands over what an earlier process may have handed over. Where
// the outbox holds something else for the match, that is for people to look at;
// it must not keep the node from everything else, and the journal goes on owing.
func (n *Node) handOverAgain(ctx context.Context, entry Entry) error {
	err := n.handOver(ctx, entry)
	if errors.Is(err, outbox.ErrConflict) {
		n.config.Logger.Error("battle: the outbox contradicts the journal", "room", entry.RoomID, "error", err)
		return nil
	}
	return err
}

// fight plays one match from the opening of its room to its close.
func (n *Node) fight(ctx context.Context, m match) error {
	if !m.lost {
		if err := n.config.Journal.Append(Entry{Kind: Opened, Number: m.number, RoomID: m.roomID}); err != nil {
			return err
		}
	}
	answer, err := n.config.Lobby.open(ctx, lobby.OpenRequest{RoomID: m.roomID, Node: n.config.Name, TeamSize: n.config.TeamSize})
	if err != nil {
		return err
	}
	m.lost = m.lost && answer.Existed
	simulated := clock.NewSimulated(time.Now())
	var broken error
	var told []int
	opened, err := room.New(room.Config{
		Seats:      len(answer.Room.Players()),
		Clock:      simulated,
		VoteWindow: n.config.VoteWindow,
		Finish: func(decision vote.Decision) {
			n.dwell.Enter()
			broken = n.finish(ctx, m, decision, simulated.Now())
		},
		// Simulated clients have no connections to be sent anything on.
		BattleEnd: func(seat int, _ vote.Decision) { told = append(told, seat) },
		Close: func(dwelt time.Duration) {
			n.dwell.Leave(dwelt)
			closed := Entry{Kind: Closed, Number: m.number, RoomID: m.roomID, Dwelt: dwelt, Told: told}
			broken = errors.Join(broken, n.config.Journal.Append(closed))
		},
	})
	if err != nil {
		return err
	}
	steps := script(n.config.Seed, m.number, n.config.TeamSize)
	if m.lost {
		// The players' clients have gone with the battle: nobody reports.
		steps = []step{{0, func(r *room.Room) error { r.End(); return nil }}}
	}
	return errors.Join(perform(simulated, opened, steps), broken)
}

// finish makes the end of a room durable. Once it is in the journal, the node
// owes it.
func (n *Node) finish(ctx context.Context, m match, decision vote.Decision, at time.Time) error {
	replay, err := writeReplay(n.config.Replays, m.number, m.roomID, decision)
	if err != nil {
		n.config.Logger.Warn("battle: a match goes without its replay", "room", m.roomID, "error", err)
	}
	r := result.Result{RoomID: m.roomID, Decision: decision, ReplayPath: replay}
	if decision.Aborted {
		r.Reason = "the players' reports decide nothing"
		if m.lost {
			r.Reason = "the battle node was restarted"
		}
	}
	e, err := r.Event(n.config.Name, at)
	if err != nil {
		return err
	}
	entry := Entry{Kind: Finished, Number: m.number, RoomID: m.roomID, Event: &e}
	if err := n.config.Journal.Append(entry); err != nil {
		return err
	}
	return n.handOver(ctx, entry)
}

// handOver puts a finished match into the outbox. Doing so again is safe: at
// worst the lobby gets a duplicate.
func (n *Node) handOver(ctx context.Context, entry Entry) error {
	if err := n.config.Outbox.Put(ctx, *entry.Event); err != nil {
		return err
	}
	if err := n.config.Lobby.ended(ctx, entry.RoomID); err != nil {
		n.config.Logger.Warn("battle: the lobby does not know yet that a battle has ended", "room", entry.RoomID, "error", err)
	}
	return n.config.Journal.Append(Entry{Kind: HandedOver, Number: entry.Number, RoomID: entry.RoomID})
}
