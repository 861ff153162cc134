package quotetoken_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

// unit is the caller's unit of work, over the store's transaction.
type unit interface {
	// Now reads the database's clock, such as SELECT clock_timestamp().
	Now(ctx context.Context) (time.Time, error)
}

// frozen stands in for a database.
type frozen struct{ now time.Time }

func (f frozen) Now(context.Context) (time.Time, error) { return f.now, nil }

// A feed owns the market. It signs what it quotes, the player's command carries
// the token, and the Quote callback of the house checks it.
func Example() {
	public, private, _ := ed25519.GenerateKey(nil)

	// In the feed: the clock first, then the state.
	feed, err := quotetoken.NewSigner(quotetoken.SignerConfig{KeyID: "feed-1", Issuer: "feed.example", PrivateKey: private})
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := time.Date(2026, 5, 9, 14, 30, 0, 0, time.UTC)
	odds, _ := money.ParseOdds("1.85")
	token, err := feed.Sign(quotetoken.Claims{
		Tenant: "shop", Event: "final", Market: "total", Selection: "over", Line: "2.5",
		Version: "t7", Odds: odds, Status: acceptance.MarketOpen,
		IssuedAt: clock, ExpiresAt: clock.Add(30 * time.Second), MaxStaleness: 5 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// In the house.
	verifier, err := quotetoken.NewVerifier(quotetoken.VerifierConfig{
		Keys:         []quotetoken.PublicKey{{ID: "feed-1", Issuer: "feed.example", Tenants: []string{"shop"}, Key: public}},
		MaxStaleness: 5 * time.Second,
		Skew:         100 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var config acceptance.Config[unit, string]
	config.Quote = func(ctx context.Context, tx unit, c *acceptance.Command) (acceptance.Board, error) {
		now, err := tx.Now(ctx)
		if err != nil {
			return acceptance.Board{}, err
		}
		return verifier.Board(c, now)
	}

	command := &acceptance.Command{Tenant: "shop", Legs: []acceptance.Leg{
		{Event: "final", Market: "total", Selection: "over", Line: "2.5", QuoteVersion: "t7", Odds: odds, Proof: token},
	}}
	for _, after := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} {
		board, err := config.Quote(context.Background(), frozen{clock.Add(after)}, command)
		if err != nil {
			fmt.Println(err)
			return
		}
		quote := board.Quotes[0]
		fmt.Printf("after %v: odds %q, refusal %q\n", after, quote.Odds, quote.Refusal)
	}
	// Output:
	// after 1s: odds "1.85", refusal ""
	// after 5s: odds "", refusal "quote_proof_stale"
	// after 30s: odds "", refusal "quote_proof_expired"
}
