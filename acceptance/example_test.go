package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// bookmaker is a house in memory: one wallet and one market. In production its
// callbacks get a pgx.Tx, or the house's own unit of work over one.
type bookmaker struct {
	world  receipttest.Memory[string]
	market acceptance.Quote
	runner *acceptance.Runner[*receipttest.MemoryTx[string], string]
	store  receipt.Store[*receipttest.MemoryTx[string]]
}

// openBookmaker opens a house in which refer goes to a trader.
func openBookmaker(refer func(*acceptance.Command) bool) (*bookmaker, error) {
	b := &bookmaker{market: acceptance.Quote{Version: "v1", Odds: mustOdds("2.00"), Status: acceptance.MarketOpen}}
	store, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[string]]{World: &b.world})
	if err != nil {
		return nil, err
	}
	b.store = store
	b.runner, err = acceptance.New(acceptance.Config[*receipttest.MemoryTx[string], string]{
		Store: store,
		Risk: acceptance.Risk{Assess: func(_ context.Context, c *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
			evidence := acceptance.Evidence{
				ID: "e1", Version: "model-4", Fingerprint: sum, Opinion: acceptance.RiskApprove,
				IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute),
			}
			if refer != nil && refer(c) {
				evidence.Opinion = acceptance.RiskRefer
			}
			return evidence, nil
		}},
		Referral:   acceptance.Referral[*receipttest.MemoryTx[string]]{Lifetime: time.Minute},
		LockWallet: b.lockWallet,
		Quote:      b.quote,
		Place:      b.place,
	})
	return b, err
}

func (b *bookmaker) lockWallet(_ context.Context, tx *receipttest.MemoryTx[string], c *acceptance.Command) (acceptance.Wallet, error) {
	text, found, err := tx.Get(c.Wallet)
	if err != nil {
		return acceptance.Wallet{}, err
	}
	if !found {
		text = "100.00"
	}
	available, err := new(money.Registry).Parse(text, "EUR")
	return acceptance.Wallet{Available: available}, err
}

func (b *bookmaker) quote(_ context.Context, _ *receipttest.MemoryTx[string], c *acceptance.Command) (acceptance.Board, error) {
	board := acceptance.Board{Now: time.Now()}
	for range c.Legs {
		board.Quotes = append(board.Quotes, b.market)
	}
	return board, nil
}

func (b *bookmaker) place(_ context.Context, tx *receipttest.MemoryTx[string], p *acceptance.Proposal) (string, error) {
	left, err := p.Wallet.Available.Sub(p.Stake)
	if err != nil {
		return "", err
	}
	return "bet-" + p.Command.ID, tx.Set(p.Command.Wallet, left.Decimal().String())
}

func bet(id, stake, version, price string) acceptance.Command {
	amount, err := new(money.Registry).Parse(stake, "EUR")
	if err != nil {
		panic(err)
	}
	return acceptance.Command{
		Tenant: "shop", Wallet: "ann", ID: id, Stake: amount,
		Type: acceptance.BetType{Kind: acceptance.Single},
		Legs: []acceptance.Leg{{Event: "final", Market: "1x2", Selection: "home", QuoteVersion: version, Odds: mustOdds(price)}},
	}
}

func mustOdds(text string) money.Odds {
	parsed, err := money.ParseOdds(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// The same command has the same answer for ever, and another one under its ID
// is a conflict.
func ExampleRunner_Accept() {
	ctx := context.Background()
	house, err := openBookmaker(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		decision, err := house.runner.Accept(ctx, bet("b1", "70.00", "v1", "2.00"))
		fmt.Println(decision.Verdict, decision.Bet, decision.Replayed, err)
	}
	decision, err := house.runner.Accept(ctx, bet("b2", "70.00", "v1", "2.00"))
	fmt.Println(decision.Verdict, decision.Code, err)

	_, err = house.runner.Accept(ctx, bet("b1", "7.00", "v1", "2.00"))
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); ok {
		fmt.Println("conflict in", conflict.Paths)
	}
	// Output:
	// accepted bet-b1 false <nil>
	// accepted bet-b1 true <nil>
	// rejected insufficient_funds <nil>
	// conflict in [$.stake.amount]
}

// The price has moved, so the player is asked, and consents with a new command.
func ExampleRunner_Chain() {
	ctx := context.Background()
	house, err := openBookmaker(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	house.market.Version, house.market.Odds = "v2", mustOdds("1.90")
	decision, err := house.runner.Accept(ctx, bet("b1", "10.00", "v1", "2.00"))
	offer := decision.Legs[0].Quote
	fmt.Println(decision.Verdict, offer.Version, offer.Odds, err)

	consent := bet("b2", "10.00", offer.Version, offer.Odds.String())
	consent.Consents = "b1"
	decision, err = house.runner.Accept(ctx, consent)
	fmt.Println(decision.Verdict, err)

	again := consent
	again.ID = "b3"
	_, err = house.runner.Accept(ctx, again)
	fmt.Println(errors.Is(err, acceptance.ErrConsentUsed))

	chain, err := house.runner.Chain(ctx, "shop", "ann", "b1")
	for _, link := range chain {
		fmt.Println(link.ID, link.Decision.Verdict)
	}
	fmt.Println(err)
	// Output:
	// requoted v2 1.9 <nil>
	// accepted <nil>
	// true
	// b1 requoted
	// b2 accepted
	// <nil>
}

// The risk service leaves a large bet to a trader.
func ExampleRunner_Resolve() {
	ctx := context.Background()
	house, err := openBookmaker(func(c *acceptance.Command) bool { return c.Stake.Decimal().IntPart() > 50 })
	if err != nil {
		fmt.Println(err)
		return
	}
	large := bet("b1", "70.00", "v1", "2.00")
	decision, err := house.runner.Accept(ctx, large)
	fmt.Println(decision.Verdict, err)

	decision, err = house.runner.Resolve(ctx, "shop", "ann", "b1", acceptance.Resolution{Ruling: acceptance.Approve, By: "tess"})
	fmt.Println(decision.Verdict, decision.Bet, err)

	decision, err = house.runner.Accept(ctx, large) // what the player's retry gets
	fmt.Println(decision.Verdict, decision.Bet, decision.Replayed, err)
	// Output:
	// pending <nil>
	// accepted bet-b1 <nil>
	// accepted bet-b1 true <nil>
}

// A bet is settled or voided, once, whichever comes first.
func ExampleClose() {
	ctx := context.Background()
	house, err := openBookmaker(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := house.runner.Accept(ctx, bet("b1", "10.00", "v1", "2.00")); err != nil {
		fmt.Println(err)
		return
	}
	closer, err := settle.New(settle.Config[*receipttest.MemoryTx[string]]{Store: house.store})
	if err != nil {
		fmt.Println(err)
		return
	}
	won := acceptance.Closing{Tenant: "shop", Wallet: "ann", ID: "b1", Kind: settle.Settled, ResultVersion: "r1"}
	payOut := func(_ context.Context, a *settle.Attempt[*receipttest.MemoryTx[string]]) (string, error) {
		return "paid 20.00", a.Tx().Set("ann", "110.00")
	}
	for range 2 {
		closed, err := acceptance.Close(ctx, closer, won, payOut)
		fmt.Println(closed.Value, closed.Replayed, err)
	}
	void := won
	void.Kind = settle.Voided
	_, err = acceptance.Close(ctx, closer, void, payOut)
	fmt.Println(errors.Is(err, receipt.ErrKindMismatch))
	// Output:
	// paid 20.00 false <nil>
	// paid 20.00 true <nil>
	// true
}
