package main

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// misconduct is what the risk service does, and how a bet is then rejected.
type misconduct struct {
	mode risk.Mode
	code acceptance.Code
}

func misconductOf(name fault.Name) misconduct {
	switch name {
	case faults.EvidenceExpired:
		return misconduct{risk.Expired, acceptance.CodeEvidenceExpired}
	case faults.EvidenceForeign:
		return misconduct{risk.Foreign, acceptance.CodeEvidenceForeign}
	case faults.EvidenceVersion:
		return misconduct{risk.Inadmissible, acceptance.CodeEvidenceVersion}
	case faults.EvidenceFuture:
		return misconduct{risk.Future, acceptance.CodeEvidenceFromFuture}
	case faults.RiskSlow:
		return misconduct{risk.Slow, acceptance.CodeRiskUnavailable}
	default:
		return misconduct{risk.Down, acceptance.CodeRiskUnavailable}
	}
}

// wrongEvidence has the risk service misbehave about one bet, for as often as the
// API asks.
func (d *drill) wrongEvidence(name fault.Name) func(context.Context, string) (bool, error) {
	wrong := misconductOf(name)
	return func(ctx context.Context, stage string) (bool, error) {
		command, err := d.bet(ctx, stage, "bet", "5.00")
		if err != nil {
			return false, err
		}
		if err := d.desk.Instruct(ctx, risk.Instruction{Mode: wrong.mode, CommandID: command.ID}); err != nil {
			return false, err
		}
		told, err := d.ask(ctx, command, punter.AnyAPI)
		if err != nil {
			return false, err
		}
		report, err := d.desk.RiskReport(ctx)
		if err != nil {
			return false, err
		}
		read, _ := told.Decision()
		answered := report.Commands[command.ID][wrong.mode] // other scenes may use the same mode
		if read.Verdict != acceptance.Rejected || read.Content().Code != wrong.code || answered == 0 {
			return false, nil
		}
		return true, d.ledger.Observe(name, "%s: the service answered %q %d times, and the bet was rejected: %s", command.ID, wrong.mode, answered, wrong.code)
	}
}

// suspension suspends a market while a bet on it is under way: its risk evidence
// is late, and is there only after the suspension.
func (d *drill) suspension(ctx context.Context, stage string) (bool, error) {
	if err := d.visit(ctx, stage); err != nil {
		return false, err
	}
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	if err := d.desk.Instruct(ctx, risk.Instruction{Mode: risk.Slow, CommandID: command.ID, Times: 1}); err != nil {
		return false, err
	}
	var told punter.Told
	var during audit.Suspension
	err = atOnce(ctx,
		func(ctx context.Context) (err error) {
			told, err = d.ask(ctx, command, punter.AnyAPI)
			return err
		},
		func(ctx context.Context) (err error) {
			during, err = d.suspendUnderWay(ctx, stage, command.ID)
			return err
		})
	if err != nil {
		return false, err
	}
	if during.To, err = d.books.now(ctx); err != nil {
		return false, err
	}
	if err := d.desk.Resume(ctx, stage); err != nil {
		return false, err
	}
	d.suspensionsMutex.Lock()
	d.suspensions = append(d.suspensions, during)
	d.suspensionsMutex.Unlock()
	read, _ := told.Decision()
	if read.Verdict != acceptance.Rejected || read.Content().Code != acceptance.CodeMarketSuspended {
		return false, nil
	}
	return true, d.ledger.Observe(faults.Suspension, "%s was with the risk service when market %s was suspended, and was rejected: %s", command.ID, stage, acceptance.CodeMarketSuspended)
}

// visit has each API process take a bet on the stage's market before anything
// happens to it.
func (d *drill) visit(ctx context.Context, stage string) error {
	first, err := d.bet(ctx, stage, "first", "1.00")
	if err != nil {
		return err
	}
	second := first
	second.ID = stage + "-second"
	_, err = d.bothAtOnce(ctx, first, second)
	return err
}

// suspendUnderWay suspends a market once the risk service has been asked about
// the command.
func (d *drill) suspendUnderWay(ctx context.Context, marketID, commandID string) (audit.Suspension, error) {
	err := wait.Until(ctx, func() (bool, error) {
		report, err := d.desk.RiskReport(ctx)
		asked := !slices.ContainsFunc(report.Pending, func(i risk.Instruction) bool { return i.CommandID == commandID })
		return asked, err
	})
	if err != nil {
		return audit.Suspension{}, err
	}
	if err := d.desk.Suspend(ctx, marketID); err != nil {
		return audit.Suspension{}, err
	}
	from, err := d.books.now(ctx)
	return audit.Suspension{Market: marketID, From: from}, err
}

// refer has a bet referred to a trader, and returns what the player was told.
func (d *drill) refer(ctx context.Context, stage string) (acceptance.Command, punter.Told, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return acceptance.Command{}, punter.Told{}, err
	}
	if err := d.desk.Instruct(ctx, risk.Instruction{Mode: risk.Refer, CommandID: command.ID}); err != nil {
		return acceptance.Command{}, punter.Told{}, err
	}
	told, err := d.ask(ctx, command, punter.AnyAPI)
	return command, told, err
}

// referralLate has a trader approve a bet after the player has asked again.
func (d *drill) referralLate(ctx context.Context, stage string) (bool, error) {
	command, first, err := d.refer(ctx, stage)
	if err != nil {
		return false, err
	}
	second, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	if err := d.resolve(ctx, command, acceptance.Approve); err != nil {
		return false, err
	}
	last, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	one, _ := first.Decision()
	two, _ := second.Decision()
	three, _ := last.Decision()
	if one.Verdict != acceptance.Pending || two.Verdict != acceptance.Pending || !bytes.Equal(one.Decision, two.Decision) || three.Verdict != acceptance.Accepted {
		return false, nil
	}
	return true, d.ledger.Observe(faults.ReferralLate, "%s was pending, pending again with the same %d bytes, and after the trader's word accepted by attempt %s", command.ID, len(two.Decision), three.Receipt.Attempt)
}

// referralExpired has a trader approve a bet when its time is up.
func (d *drill) referralExpired(ctx context.Context, stage string) (bool, error) {
	command, first, err := d.refer(ctx, stage)
	if err != nil {
		return false, err
	}
	pending, _ := first.Decision()
	until := pending.Content().ExpiresAt
	if pending.Verdict != acceptance.Pending || until.IsZero() {
		return false, nil
	}
	var now time.Time
	err = wait.Until(ctx, func() (bool, error) {
		now, err = d.books.now(ctx)
		return !now.Before(until), err
	})
	if err != nil {
		return false, err
	}
	if err := d.resolve(ctx, command, acceptance.Approve); err != nil {
		return false, err
	}
	last, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	read, _ := last.Decision()
	if read.Verdict != acceptance.Rejected || read.Content().Code != acceptance.CodeReferralExpired {
		return false, nil
	}
	return true, d.ledger.Observe(faults.ReferralExpired, "%s was pending until %v; approved at %v it is rejected: %s", command.ID, until, now, acceptance.CodeReferralExpired)
}

// resolve gives a trader's word on a command, and notes down what the trader is
// told, which is the same decision that the player gets.
func (d *drill) resolve(ctx context.Context, command acceptance.Command, ruling acceptance.TraderRuling) error {
	body, err := d.desk.Resolve(ctx, referenceOf(command), ruling)
	if err != nil {
		return err
	}
	return d.notes.Append(punter.Note{Reference: referenceOf(command), Told: &punter.Told{Status: http.StatusOK, Body: body}})
}

func referenceOf(command acceptance.Command) bet.Reference {
	return bet.Reference{Wallet: command.Wallet, ID: command.ID}
}
