package house_test

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// A bet is placed, its answer is lost, and it is placed again: it stands once.
// Then its market has a result, and it is paid out, once too.
func Example() {
	ctx := context.Background()
	database := memory.New(memory.Config{})
	fake, err := receipttest.New(receipttest.Config[house.Unit]{
		World: database, Faults: []receipttest.Fault{receipttest.FailBeforeCommit, receipttest.LoseAnswer},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bookmaker, err := house.New(house.Config{Tenant: "demo", Store: fake, Books: database})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := open(ctx, database); err != nil {
		fmt.Println(err)
		return
	}
	command := acceptance.Command{
		Tenant: "demo", Wallet: "ann", ID: receipt.NewID(),
		Type: acceptance.BetType{Kind: acceptance.Single}, Stake: eur("70.00"),
		Legs: []acceptance.Leg{{Event: "final", Market: "winner", Selection: "home", QuoteVersion: "1", Odds: odds("2.10")}},
	}
	for range 3 {
		decision, err := bookmaker.Accept(ctx, command)
		fmt.Println(decision.Verdict, "replayed:", decision.Replayed, "error:", err != nil)
	}
	if err := database.CloseMarket(ctx, "winner", market.Result{Version: "feed-1", Winner: "home"}); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		closing, err := bookmaker.Settle(ctx, bet.Reference{Wallet: "ann", ID: command.ID})
		fmt.Println("paid", closing.Value.Payout, "replayed:", closing.Replayed, err)
	}
	found, err := database.Wallet(ctx, "ann")
	fmt.Println("available", found.Balances[0].Available, "held", found.Balances[0].Held, err)
	// Output:
	//  replayed: false error: true
	// accepted replayed: false error: false
	// accepted replayed: true error: false
	// paid 147.00 EUR replayed: false <nil>
	// paid 147.00 EUR replayed: true <nil>
	// available 177.00 EUR held 0.00 EUR <nil>
}

// open opens a wallet and a market.
func open(ctx context.Context, database *memory.Database) error {
	if err := database.OpenWallets(ctx, []money.Amount{eur("100.00")}, "ann"); err != nil {
		return err
	}
	return database.OpenMarket(ctx, market.Opening{
		ID: "winner", Event: "final",
		Prices: []market.Price{{Selection: "home", Odds: odds("2.10")}, {Selection: "away", Odds: odds("1.80")}},
		Limits: []money.Amount{eur("10000.00")},
	})
}

// eur and odds are for constants, which are right.

func eur(number string) money.Amount {
	amount, err := (*money.Registry)(nil).Parse(number, "EUR")
	if err != nil {
		panic(err)
	}
	return amount
}

func odds(number string) money.Odds {
	parsed, err := money.ParseOdds(number)
	if err != nil {
		panic(err)
	}
	return parsed
}
