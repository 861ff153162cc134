package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

const (
	// workers is how many players bet at once.
	workers = 16
	// everyMove is after how many bets of the traffic a quote moves.
	everyMove = 2
)

// slip is one bet of the ordinary traffic, as the seed wants it. What it stands
// at is what the market says when it is filled in.
type slip struct {
	id         string
	wallet     string
	legs       []pick
	stake      money.Amount
	change     acceptance.OddsChange
	loseAnswer bool
	// consents says whether the player takes other odds when they are
	// offered.
	consents bool
	// moves are quotes that move before the slip is sent.
	moves []move
}

type pick struct{ market, selection string }

type move struct {
	market string
	price  market.Price
}

// newSlips plans the ordinary traffic. The same seed plans the same.
func (d *drill) newSlips() []slip {
	random := rand.New(rand.NewPCG(d.options.seed, 0xbe7)) //nolint:gosec // a plan is to repeat
	policies := []acceptance.OddsChange{
		{},
		{Policy: acceptance.OddsBetter},
		{Policy: acceptance.OddsAny, WithinBasisPoints: 500},
	}
	slips := make([]slip, d.options.bets)
	for i := range slips {
		s := slip{
			id:     fmt.Sprintf("slip-%05d", i),
			wallet: playerName(random.IntN(players)),
			stake:  euros(fmt.Sprintf("%d.%02d", 1+random.IntN(20), random.IntN(100))),
			change: policies[random.IntN(len(policies))],
		}
		for _, m := range random.Perm(markets)[:1+random.IntN(3)/2] {
			s.legs = append(s.legs, pick{marketName(m), selections()[random.IntN(3)]})
		}
		s.loseAnswer = random.IntN(20) == 0 && d.options.Arms(faults.LostAnswer)
		s.consents = random.IntN(2) == 0
		if i%everyMove == 0 {
			price := market.Price{
				Selection: s.legs[0].selection,
				Odds:      odds(fmt.Sprintf("%d.%02d", 1+random.IntN(4), 5+random.IntN(95))),
			}
			s.moves = []move{{s.legs[0].market, price}}
		}
		slips[i] = s
	}
	return slips
}

// traffic has players bet.
func (d *drill) traffic(ctx context.Context, slips []slip) error {
	return eachOf(ctx, workers, slips, func(ctx context.Context, s slip) error {
		defer d.decided.Add(1)
		command, err := d.fillIn(ctx, s)
		if err != nil {
			return err
		}
		for _, m := range s.moves {
			if err := d.desk.Move(ctx, m.market, m.price); err != nil {
				return err
			}
		}
		var meets []fault.Name
		if s.loseAnswer {
			meets = append(meets, faults.LostAnswer)
		}
		told, err := d.ask(ctx, command, punter.AnyAPI, meets...)
		if err != nil || !s.consents {
			return err
		}
		if read, _ := told.Decision(); read.Verdict == acceptance.Requoted {
			_, err = d.ask(ctx, consent(command, read, s.id+"-again"), punter.AnyAPI)
		}
		return err
	})
}

// fillIn makes a command of a slip, at the quotes that the player sees.
func (d *drill) fillIn(ctx context.Context, s slip) (acceptance.Command, error) {
	command := acceptance.Command{
		Tenant: tenant, Wallet: s.wallet, ID: s.id, Stake: s.stake, OddsChange: s.change,
		Type: acceptance.BetType{Kind: acceptance.Single},
		Meta: map[string]string{"device": "drill"},
	}
	if len(s.legs) > 1 {
		command.Type.Kind = acceptance.Accumulator
	}
	for _, picked := range s.legs {
		leg, err := d.leg(ctx, picked.market, picked.selection)
		if err != nil {
			return acceptance.Command{}, err
		}
		command.Legs = append(command.Legs, leg)
	}
	return command, nil
}

// leg returns a leg at the quote that a player sees now.
func (d *drill) leg(ctx context.Context, marketID, selection string) (acceptance.Leg, error) {
	seen, err := d.desk.Market(ctx, marketID)
	if err != nil {
		return acceptance.Leg{}, err
	}
	for _, offered := range seen.Selections {
		if offered.ID == selection {
			return acceptance.Leg{
				Event: seen.Event, Market: seen.ID, Selection: selection, Line: seen.Line,
				QuoteVersion: fmt.Sprint(offered.Tick), Odds: offered.Odds,
			}, nil
		}
	}
	return acceptance.Leg{}, fmt.Errorf("market %s has no selection %q", marketID, selection)
}

// consent takes the odds that a decision offers.
func consent(requoted acceptance.Command, offer punter.Decision, id string) acceptance.Command {
	command := requoted
	command.ID, command.Consents = id, requoted.ID
	command.Legs = nil
	for i, offered := range offer.Content().Legs {
		leg := requoted.Legs[i]
		leg.QuoteVersion, leg.Odds = offered.Quote.Version, offered.Quote.Odds
		command.Legs = append(command.Legs, leg)
	}
	return command
}

// ask sends a command until it is told something.
func (d *drill) ask(ctx context.Context, command acceptance.Command, api int, meets ...fault.Name) (punter.Told, error) {
	return d.clients.Ask(ctx, punter.Delivery{Command: command, API: api}, meets...)
}
