package risk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// decided is what becomes of a bet, and how often the service was asked.
type decided struct {
	Verdict acceptance.Verdict
	Code    acceptance.Code
	Asked   int
}

// What a house makes of each mode that does not pass, and of one that does.
func TestDecisionInEveryMode(t *testing.T) {
	t.Parallel()
	rejected := func(code acceptance.Code, asked int) decided { return decided{acceptance.Rejected, code, asked} }
	for mode, want := range map[risk.Mode]struct{ always, once decided }{
		risk.Honest:       {decided{acceptance.Accepted, "", 1}, decided{acceptance.Accepted, "", 1}},
		risk.Refuse:       {rejected(acceptance.CodeRiskRefused, 1), rejected(acceptance.CodeRiskRefused, 1)},
		risk.Refer:        {decided{acceptance.Pending, "", 1}, decided{acceptance.Pending, "", 1}},
		risk.Slow:         {rejected(acceptance.CodeRiskUnavailable, 2), decided{acceptance.Accepted, "", 2}},
		risk.Down:         {rejected(acceptance.CodeRiskUnavailable, 2), decided{acceptance.Accepted, "", 2}},
		risk.Overloaded:   {rejected(acceptance.CodeRiskUnavailable, 2), decided{acceptance.Accepted, "", 2}},
		risk.Nonsense:     {rejected(acceptance.CodeRiskUnavailable, 2), decided{acceptance.Accepted, "", 2}},
		risk.Expired:      {rejected(acceptance.CodeEvidenceExpired, 2), decided{acceptance.Accepted, "", 2}},
		risk.Foreign:      {rejected(acceptance.CodeEvidenceForeign, 1), rejected(acceptance.CodeEvidenceForeign, 1)},
		risk.Inadmissible: {rejected(acceptance.CodeEvidenceVersion, 1), rejected(acceptance.CodeEvidenceVersion, 1)},
		risk.Future:       {rejected(acceptance.CodeEvidenceFromFuture, 1), rejected(acceptance.CodeEvidenceFromFuture, 1)},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want.always, decide(t, risk.Instruction{Mode: mode})); diff != "" {
				t.Errorf("always %s (-want +got)\n%s", mode, diff)
			}
			if diff := cmp.Diff(want.once, decide(t, risk.Instruction{Mode: mode, Times: 1})); diff != "" {
				t.Errorf("once %s (-want +got)\n%s", mode, diff)
			}
		})
	}
}

// decide has a house in memory decide a bet under an instruction. It gives up on
// an answer once it is known that none will come, and no earlier.
func decide(t *testing.T, instruction risk.Instruction) decided {
	t.Helper()
	service, err := risk.NewService(risk.ServiceConfig{Version: "model-7", Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	giveUp := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == risk.OpinionsPath {
			asked.Add(1)
			r = whenWaiting(r, func() { giveUp <- struct{}{} })
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	call(t, "POST", server.URL, jsonOf(t, instruction))
	client := newClient(t, server.URL)
	patient := func(ctx context.Context, c *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-giveUp:
				cancel()
			case <-ctx.Done():
			}
		}()
		return client.Assess(ctx, c, sum)
	}
	decision, err := openHouse(t, patient).Accept(t.Context(), betOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return decided{decision.Verdict, decision.Code, int(asked.Load())}
}

// assess is the Assess of acceptance.Risk.
type assess func(context.Context, *acceptance.Command, fingerprint.Digest) (acceptance.Evidence, error)

// openHouse opens a house with a wallet and a market.
func openHouse(t *testing.T, assess assess) *house.House {
	t.Helper()
	tables := memory.New(memory.Config{})
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: tables})
	if err != nil {
		t.Fatal(err)
	}
	if err := tables.OpenWallets(t.Context(), []money.Amount{euros("100.00")}, "alice"); err != nil {
		t.Fatal(err)
	}
	err = tables.OpenMarket(t.Context(), market.Opening{
		ID: "m", Event: "e", Prices: []market.Price{{Selection: "home", Odds: evens(t)}}, Limits: []money.Amount{euros("1000.00")},
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := house.New(house.Config{
		Tenant: "acme", Store: fake, Books: tables, ReferralLifetime: time.Hour,
		Risk: acceptance.Risk{
			Assess: assess, CallTimeout: time.Minute,
			Admissible: func(version string) bool { return version == "model-7" },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func betOf(t *testing.T) acceptance.Command {
	t.Helper()
	command := *commandOf("bet-1")
	command.Type.Kind = acceptance.Single
	command.Legs[0].QuoteVersion, command.Legs[0].Odds = "1", evens(t)
	return command
}

func evens(t *testing.T) money.Odds {
	t.Helper()
	odds, err := money.ParseOdds("2.00")
	if err != nil {
		t.Fatal(err)
	}
	return odds
}
