package projection_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/drilltest"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

const tenant = "house"

// dsn is a server that the tests share.
var dsn string

func TestMain(m *testing.M) {
	os.Exit(drilltest.WithServer(func(server string) int {
		dsn = server
		return m.Run()
	}))
}

// trial is a projection in schemas of its own, which are empty.
type trial struct {
	*testing.T
	*projection.Projection
	database *database.Database
	position int64 // of the event that was committed last
}

func newTrial(t *testing.T, wrap func(receipt.Store[pgx.Tx]) receipt.Store[pgx.Tx]) *trial {
	t.Helper()
	opened, err := database.Open(t.Context(), database.Config{
		DSN: dsn, Name: "projection", Connect: projection.Connect, Create: projection.Create,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	var store receipt.Store[pgx.Tx] = opened.Store
	if wrap != nil {
		store = wrap(store)
	}
	made, err := projection.New(projection.Config{Pool: opened.Pool, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return &trial{T: t, Projection: made, database: opened}
}

func (t *trial) euros(text string) money.Amount {
	t.Helper()
	amount, err := (*money.Registry)(nil).Parse(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// commit returns a fact as its outbox hands it out: at the next position.
func (t *trial) commit(f fact.Fact) event.Event {
	t.Helper()
	e, err := f.Event(tenant)
	if err != nil {
		t.Fatal(err)
	}
	t.position += 3
	e.Position = t.position
	return e
}

func (t *trial) accepted(wallet, id, stake string, markets ...string) event.Event {
	t.Helper()
	reference := bet.Reference{Wallet: wallet, ID: id}
	placed := &bet.Bet{Reference: reference, Kind: acceptance.Single, Stake: t.euros(stake), Payout: t.euros(stake), Attempt: "a-1"}
	for _, market := range markets {
		odds, err := money.ParseOdds("2.10")
		if err != nil {
			t.Fatal(err)
		}
		placed.Legs = append(placed.Legs, bet.Leg{Market: market, Selection: "home", Odds: odds, Tick: "1"})
	}
	return t.commit(fact.Fact{Reference: reference, Became: acceptance.Accepted, Placed: placed})
}

// closed returns that a bet of ann's was closed.
func (t *trial) closed(id string, state bet.State, payout string) event.Event {
	t.Helper()
	reference := bet.Reference{Wallet: "ann", ID: id}
	return t.commit(fact.Fact{Reference: reference, Became: receipt.Kind(state), Closing: &bet.Closing{
		Reference: reference, State: state, ResultVersion: "feed-1", Payout: t.euros(payout), Rounding: bet.Rounding, Attempt: "a-2",
	}})
}

func (t *trial) decided(wallet, id string, verdict acceptance.Verdict) event.Event {
	t.Helper()
	f := fact.Fact{Reference: bet.Reference{Wallet: wallet, ID: id}, Became: verdict}
	if verdict == acceptance.Rejected {
		f.Code = acceptance.CodeInsufficientFunds
	}
	return t.commit(f)
}

// take delivers events, each of which must be taken.
func (t *trial) take(events ...event.Event) (receipts []receipt.Receipt) {
	t.Helper()
	for _, e := range events {
		stored, err := t.Take(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if stored.Key != e.Key || stored.Fingerprint != e.Fingerprint || stored.Outcome != settle.Settled {
			t.Errorf("the receipt of %s is %+v", e.Key, stored)
		}
		receipts = append(receipts, stored)
	}
	return receipts
}

func (t *trial) tables() projection.Tables {
	t.Helper()
	read, err := t.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (t *trial) ann() projection.Wallet {
	t.Helper()
	found, err := t.Wallet(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return found
}
