package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

const (
	// playedAtOnce is how many scenes are played at once.
	playedAtOnce = 6
	// spare is how many stages a scene has beyond those that it needs, for
	// when its fault was not seen.
	spare = 4
)

// scene is one fault as it is played, on a stage of its own: a wallet with a
// hundred euros and a market, both of the stage's name.
type scene struct {
	fault fault.Name
	// times is how often it is to be seen.
	times int
	// play plays it once. It reports whether the fault was seen, and has put
	// that down in the ledger. What was not seen, because something else went
	// wrong meanwhile, is played again on another stage.
	play func(ctx context.Context, stage string) (seen bool, err error)
}

// behindOutbox reports whether the scene is about what becomes of events behind
// the outbox. What one such scene does to a relay or to the projection, all
// others would see, so they are played one after the other.
func (s scene) behindOutbox() bool { return slices.Contains(faults.BehindOutbox(), s.fault) }

// stages returns the names of its stages.
func (s scene) stages() []string {
	names := make([]string, s.times+spare)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", s.fault, i)
	}
	return names
}

// allScenes returns every fault that is played, whether it is asked for or not.
// The cuts of commits have no scene: the traffic meets them.
func (d *drill) allScenes() []scene {
	often := max(1, min(d.options.bets/50, 10))
	return []scene{
		{faults.SameAgain, often, d.sameAgain},
		{faults.ChangedBody, often, d.changedBody},
		{faults.LostAnswer, often, d.lostAnswer},
		{faults.PriceMove, often, d.priceMove},
		{faults.WalletRace, often, d.walletRace},
		{faults.Suspension, often, d.suspension},
		{faults.ConsentRace, often, d.consentRace},
		{faults.EvidenceExpired, 1, d.wrongEvidence(faults.EvidenceExpired)},
		{faults.EvidenceForeign, 1, d.wrongEvidence(faults.EvidenceForeign)},
		{faults.EvidenceVersion, 1, d.wrongEvidence(faults.EvidenceVersion)},
		{faults.EvidenceFuture, 1, d.wrongEvidence(faults.EvidenceFuture)},
		{faults.RiskSlow, 1, d.wrongEvidence(faults.RiskSlow)},
		{faults.RiskDown, 1, d.wrongEvidence(faults.RiskDown)},
		{faults.ReferralLate, often, d.referralLate},
		{faults.ReferralExpired, 1, d.referralExpired},
		{faults.CloseRace, often, d.closeRace},
		{faults.KillAPI, 2, d.killedAPI},
		{faults.LostReceipt, often, d.lostReceipt},
		{faults.KillRelay, 1, d.killedRelay},
		{faults.StopRelay, 1, d.stoppedRelay},
		{faults.KillProjection, 2, d.killedProjection},
		{faults.ProjectionRefusal, 1, d.refusal},
		{faults.Restart, 1, d.restart},
	}
}

// trouble runs the ordinary traffic beside all scenes. The database is restarted
// last, in the middle of the traffic's second half, since no other scene could
// be seen while it is away.
func (d *drill) trouble(ctx context.Context) error {
	var before, behind, last []scene
	for _, s := range d.scenes {
		switch {
		case !d.options.Arms(s.fault):
		case s.fault == faults.Restart:
			last = append(last, s)
		case s.behindOutbox():
			behind = append(behind, s)
		default:
			before = append(before, s)
		}
	}
	slips := d.newSlips()
	half := len(slips) / 2
	first := func(ctx context.Context) error {
		return atOnce(ctx, d.betting(slips[:half]), d.playing(playedAtOnce, before), d.playing(1, behind))
	}
	second := func(ctx context.Context) error {
		return atOnce(ctx, d.betting(slips[half:]), d.playing(1, last))
	}
	if err := first(ctx); err != nil {
		return err
	}
	return second(ctx)
}

// betting has players bet, as [drill.traffic] does.
func (d *drill) betting(slips []slip) func(context.Context) error {
	return func(ctx context.Context) error { return d.traffic(ctx, slips) }
}

// playing plays scenes, so many at once.
func (d *drill) playing(atOnce int, scenes []scene) func(context.Context) error {
	return func(ctx context.Context) error { return eachOf(ctx, atOnce, scenes, d.playScene) }
}

// playScene plays a scene until it has been seen as often as it is to be.
func (d *drill) playScene(ctx context.Context, s scene) error {
	seen := 0
	for _, stage := range s.stages() {
		ok, err := s.play(ctx, stage)
		if err != nil {
			return fmt.Errorf("%s: %w", s.fault, err)
		}
		if ok {
			seen++
		}
		if seen == s.times {
			return nil
		}
	}
	return nil
}

// atOnce runs functions side by side. The first error ends all.
func atOnce(ctx context.Context, functions ...func(context.Context) error) error {
	return eachOf(ctx, len(functions), functions, func(ctx context.Context, function func(context.Context) error) error {
		return function(ctx)
	})
}

// eachOf does the work for each item, so many at once, in their order. The first
// error ends all.
func eachOf[T any](ctx context.Context, atOnce int, items []T, work func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting := make(chan T)
	var workers sync.WaitGroup
	for range min(atOnce, len(items)) {
		workers.Go(func() {
			for item := range waiting {
				if err := work(ctx, item); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, item := range items {
		select {
		case waiting <- item:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(waiting)
	workers.Wait()
	return context.Cause(ctx)
}
