package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// bet returns a bet on the stage's home side, from the stage's wallet, that
// takes no other odds.
func (d *drill) bet(ctx context.Context, stage, id, stake string) (acceptance.Command, error) {
	return d.fillIn(ctx, slip{
		id: stage + "-" + id, wallet: stage, legs: []pick{{stage, "home"}}, stake: euros(stake),
	})
}

// deliver sends a command once, without any fault.
func (d *drill) deliver(ctx context.Context, command acceptance.Command) (punter.Told, error) {
	return d.clients.Deliver(ctx, punter.Delivery{Command: command, API: punter.AnyAPI})
}

// sameAgain sends a decided command again.
func (d *drill) sameAgain(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	first, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	again, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil || !again.Replayed || again.Status != first.Status || !bytes.Equal(again.Body, first.Body) {
		return false, err
	}
	return true, d.ledger.Observe(faults.SameAgain, "%s: status %d and all %d bytes came again", command.ID, again.Status, len(again.Body))
}

// changedBody sends a decided command's key with another stake.
func (d *drill) changedBody(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	if _, err := d.ask(ctx, command, punter.AnyAPI); err != nil {
		return false, err
	}
	before, found, err := d.receiptOf(ctx, command)
	if err != nil || !found {
		return false, err
	}
	changed := command
	changed.Stake = euros("50.00")
	told, err := d.ask(ctx, changed, punter.AnyAPI)
	if err != nil || told.Problem().Type != api.TypeKeyReused {
		return false, err
	}
	after, _, err := d.receiptOf(ctx, command)
	if err != nil || after.Attempt != before.Attempt || !bytes.Equal(after.Value, before.Value) {
		return false, err
	}
	return true, d.ledger.Observe(faults.ChangedBody, "%s: status %d for a changed %v; the receipt of attempt %s stands", command.ID, told.Status, told.Problem().Paths, after.Attempt)
}

func (d *drill) receiptOf(ctx context.Context, command acceptance.Command) (receipt.Receipt, bool, error) {
	return d.books.Receipt(ctx, command.Key())
}

// lostAnswer has the proxy lose the answer to a bet. The proxy sees it.
func (d *drill) lostAnswer(ctx context.Context, stage string) (bool, error) {
	return d.meets(ctx, stage, faults.LostAnswer)
}

// killedAPI has the proxy kill the API process that decides a bet. The proxy sees
// it.
func (d *drill) killedAPI(ctx context.Context, stage string) (bool, error) {
	return d.meets(ctx, stage, faults.KillAPI)
}

// meets sends a bet whose first delivery meets a fault of the proxy's.
func (d *drill) meets(ctx context.Context, stage string, name fault.Name) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	before := d.ledger.Count(name)
	_, err = d.ask(ctx, command, punter.AnyAPI, name)
	return d.ledger.Count(name) > before, err
}

// priceMove loses the answer to a bet, moves the price, and sends the bet again.
func (d *drill) priceMove(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	if _, err := d.clients.Deliver(ctx, punter.Delivery{Command: command, API: punter.AnyAPI, Fault: faults.PriceMove}); err != nil {
		return false, err
	}
	if _, decided, err := d.receiptOf(ctx, command); err != nil || !decided {
		return false, err
	}
	moved, err := d.moveHome(ctx, stage, "1.55")
	if err != nil {
		return false, err
	}
	told, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	read, _ := told.Decision()
	legs := read.Content().Legs
	if moved.Equal(command.Legs[0].Odds) || read.Verdict != acceptance.Accepted || !told.Replayed ||
		len(legs) != 1 || legs[0].Quote.Version != command.Legs[0].QuoteVersion {
		return false, nil
	}
	return true, d.ledger.Observe(faults.PriceMove, "%s: the odds are %v and were %v; the decision at %v came again, attempt %s",
		command.ID, moved, command.Legs[0].Odds, legs[0].Quote.Odds, read.Receipt.Attempt)
}

// moveHome moves the odds of the stage's home side, and returns what they then
// are.
func (d *drill) moveHome(ctx context.Context, stage, to string) (money.Odds, error) {
	if err := d.desk.Move(ctx, stage, market.Price{Selection: "home", Odds: odds(to)}); err != nil {
		return money.Odds{}, err
	}
	leg, err := d.leg(ctx, stage, "home")
	return leg.Odds, err
}

// bothAtOnce sends one command to each API process at once, and returns what
// each was told. Where there is one process, it gets both.
func (d *drill) bothAtOnce(ctx context.Context, one, other acceptance.Command) (told [2]punter.Told, err error) {
	commands := [2]acceptance.Command{one, other}
	err = eachOf(ctx, 2, []int{0, 1}, func(ctx context.Context, i int) (err error) {
		told[i], err = d.ask(ctx, commands[i], i)
		return err
	})
	return told, err
}

// walletRace bets 70 twice from a wallet of 100.
func (d *drill) walletRace(ctx context.Context, stage string) (bool, error) {
	one, err := d.bet(ctx, stage, "one", "70.00")
	if err != nil {
		return false, err
	}
	other := one
	other.ID = stage + "-other"
	told, err := d.bothAtOnce(ctx, one, other)
	if err != nil {
		return false, err
	}
	verdicts := make(map[string]int)
	for _, t := range told {
		read, _ := t.Decision()
		verdicts[fmt.Sprint(read.Verdict, " ", read.Content().Code)]++
	}
	if verdicts["accepted "] != 1 || verdicts["rejected "+string(acceptance.CodeInsufficientFunds)] != 1 {
		return false, nil
	}
	return true, d.ledger.Observe(faults.WalletRace, "two bets of 70.00 EUR from wallet %s of 100.00 EUR, at two API processes: %v", stage, verdicts)
}

// consentRace has two commands consent to one requote.
func (d *drill) consentRace(ctx context.Context, stage string) (bool, error) {
	command, err := d.bet(ctx, stage, "bet", "5.00")
	if err != nil {
		return false, err
	}
	if _, err := d.moveHome(ctx, stage, "2.60"); err != nil {
		return false, err
	}
	requoted, err := d.ask(ctx, command, punter.AnyAPI)
	if err != nil {
		return false, err
	}
	offer, _ := requoted.Decision()
	if offer.Verdict != acceptance.Requoted {
		return false, nil
	}
	one, other := consent(command, offer, stage+"-one"), consent(command, offer, stage+"-other")
	told, err := d.bothAtOnce(ctx, one, other)
	if err != nil {
		return false, err
	}
	for i, winner := range []acceptance.Command{one, other} {
		read, decided := told[i].Decision()
		refused := told[1-i].Problem()
		if decided && refused.Type == api.TypeConsentUsed && refused.Successor == winner.ID {
			return true, d.ledger.Observe(faults.ConsentRace, "the requote of %s: %s is %s, and the other was refused with status %d, which names it",
				command.ID, winner.ID, read.Verdict, told[1-i].Status)
		}
	}
	return false, nil
}
