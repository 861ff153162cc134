package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/desk"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// closeRace posts the result of a market and voids the bet on it, at two API
// processes at once.
func (d *drill) closeRace(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	if _, err := d.ask(ctx, command, punter.AnyAPI); err != nil {
		return false, err
	}
	reference := referenceOf(command)
	var settled api.ResultAnswer
	var voidErr error
	err = atOnce(ctx,
		func(ctx context.Context) (err error) {
			settled, err = d.desk.At(0).Result(ctx, resultOf(stage, "home"))
			return err
		},
		func(ctx context.Context) error {
			_, voidErr = d.desk.At(1).Void(ctx, reference, "case-of-"+stage)
			if errors.Is(voidErr, desk.ErrRefused) {
				return nil
			}
			return voidErr
		})
	if err != nil {
		return false, err
	}
	stored, found, err := d.books.Receipt(ctx, acceptance.ClosingKey(tenant, reference.Wallet, reference.ID))
	if err != nil || !found {
		return false, err
	}
	settleRefused := slices.ContainsFunc(settled.Bets, func(b api.ClosedBet) bool {
		return b.Problem != nil && b.Problem.Type == api.TypeClosedOtherwise
	})
	if settleRefused == (voidErr != nil) {
		return false, nil // one came after the other
	}
	return true, d.ledger.Observe(faults.CloseRace, "bet %s is %s by attempt %s; settling was refused: %v, voiding was refused: %v",
		reference.ID, stored.Outcome, stored.Attempt, settleRefused, voidErr != nil)
}

// resultOf is the result that a market gets in this run.
func resultOf(marketID, winner string) api.ResultRequest {
	return api.ResultRequest{Market: marketID, Version: "final-" + marketID, Winner: winner, Void: winner == ""}
}

// restart crashes the database under a bet and starts it again.
func (d *drill) restart(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	before, err := d.serverStart(ctx)
	if err != nil {
		return false, err
	}
	server := d.database.Private()
	if err := server.Crash(ctx); err != nil {
		return false, err
	}
	meanwhile, err := d.deliver(ctx, command)
	if restartErr := server.Restart(ctx); err != nil || restartErr != nil {
		return false, errors.Join(err, restartErr)
	}
	d.delivery.consumer.Pool.Reset() // its connections are of the time before
	after, err := d.serverStart(ctx)
	if err != nil {
		return false, err
	}
	told, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	read, decided := told.Decision()
	if !decided || !meanwhile.Passing() || !after.After(before) {
		return false, nil
	}
	return true, d.ledger.Observe(faults.Restart, "the server that ran since %v crashed, and runs since %v; meanwhile bet %s got status %d, and then was %s",
		before, after, command.ID, meanwhile.Status, read.Verdict)
}

// serverStart says since when the database server runs.
func (d *drill) serverStart(ctx context.Context) (since time.Time, err error) {
	for range maxConnections { // connections of the time before are found broken one by one
		if err = d.database.Pool.QueryRow(ctx, `SELECT pg_postmaster_start_time()`).Scan(&since); err == nil {
			return since, nil
		}
	}
	return time.Time{}, err
}

// maxConnections is more than the drill's own pool has.
const maxConnections = 64
