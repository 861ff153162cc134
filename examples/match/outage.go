package main

import (
	"context"
	"fmt"
	"net/http"
	"syscall"

	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/lobby"
)

const (
	// waitingResults is how many results the outage lasts for.
	waitingResults = 8
	// earlyReleases is how many rooms the operator releases.
	earlyReleases = 3
)

// outage is a time in which no result is settled: the operator releases some
// players early, and the battle node is killed while it owes results.
func (d *drill) outage(ctx context.Context) error {
	if !d.options.Arms(faults.KillBattle) && !d.options.Arms(faults.EarlyRelease) {
		return nil
	}
	select {
	case <-d.proxy.OutageBegan():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := d.waitForResults(ctx); err != nil {
		return err
	}
	if d.options.Arms(faults.EarlyRelease) {
		if err := d.releaseEarly(ctx); err != nil {
			return err
		}
	}
	if d.options.Arms(faults.KillBattle) {
		if err := d.killBattle(ctx); err != nil {
			return err
		}
	}
	d.proxy.EndOutage()
	return nil
}

// waitForResults waits until the outbox holds as many results as the outage is
// to last for, or all that can be.
func (d *drill) waitForResults(ctx context.Context) error {
	return wait.Until(ctx, func() (bool, error) {
		settled, err := d.books.settled(ctx)
		if err != nil {
			return false, err
		}
		owed, err := d.directory.owed()
		return len(owed) >= min(waitingResults, d.options.matches-settled), err
	})
}

// releaseEarly has an operator release rooms whose results wait. It counts
// where the players came free and the store had no receipt.
func (d *drill) releaseEarly(ctx context.Context) error {
	released := 0
	return wait.Until(ctx, func() (bool, error) {
		owed, err := d.directory.owed()
		if err != nil {
			return false, err
		}
		for _, e := range owed {
			if released >= min(earlyReleases, len(owed)) {
				return true, nil
			}
			freed, err := d.operatorReleases(ctx, e.Key.ID)
			if err != nil {
				return false, err
			}
			_, settled, err := d.books.Receipt(ctx, e.Key)
			if err != nil {
				return false, err
			}
			if freed == 0 || settled {
				continue
			}
			released++
			if err := d.ledger.Observe(faults.EarlyRelease, "%d players of room %s are free, and the store has no receipt of it", freed, e.Key.ID); err != nil {
				return false, err
			}
		}
		return released > 0, nil
	})
}

// operatorReleases returns how many players came free; none where the room is
// not ready for it, or the lobby cannot answer now.
func (d *drill) operatorReleases(ctx context.Context, room string) (freed int, err error) {
	var answer struct {
		Freed int `json:"freed"`
	}
	request := lobby.ReleaseRequest{Operator: "the operator on duty", Reason: "no settlements for a long time"}
	status, err := post(ctx, d.client, d.proxyServer.URL()+"/rooms/"+room+"/release", request, &answer)
	switch {
	case status == http.StatusConflict, status == http.StatusGone, status == http.StatusBadGateway:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("release room %s early: %w", room, err)
	}
	return answer.Freed, nil
}

// killBattle kills the battle node, counts what it still owes on disk, and
// starts it again.
func (d *drill) killBattle(ctx context.Context) error {
	signal, err := d.battle.Kill()
	if err != nil {
		return err
	}
	owed, err := d.directory.owed()
	if err != nil {
		return err
	}
	if signal == syscall.SIGKILL && len(owed) > 0 {
		if err := d.ledger.Observe(faults.KillBattle, "the battle node was reaped with signal %d and owes %d results on disk", int(signal), len(owed)); err != nil {
			return err
		}
	}
	return d.battle.Start(ctx)
}
