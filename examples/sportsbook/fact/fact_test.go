package fact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
)

const tenant = "house"

func euros(t *testing.T, text string) money.Amount {
	t.Helper()
	amount, err := (*money.Registry)(nil).Parse(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// slip is the command that everything here became of.
func slip() bet.Reference { return bet.Reference{Wallet: "ann", ID: "slip-1"} }

// everything returns a fact of each kind.
func everything(t *testing.T) map[receipt.Kind]fact.Fact {
	t.Helper()
	odds, err := money.ParseOdds("2.10")
	if err != nil {
		t.Fatal(err)
	}
	closing := func(state bet.State, payout string) *bet.Closing {
		return &bet.Closing{
			Reference: slip(), State: state, ResultVersion: "feed-1", Payout: euros(t, payout), Rounding: bet.Rounding, Attempt: "a-2",
		}
	}
	return map[receipt.Kind]fact.Fact{
		acceptance.Pending:  {Reference: slip(), Became: acceptance.Pending},
		acceptance.Requoted: {Reference: slip(), Became: acceptance.Requoted},
		acceptance.Rejected: {Reference: slip(), Became: acceptance.Rejected, Code: acceptance.CodeInsufficientFunds},
		acceptance.Accepted: {Reference: slip(), Became: acceptance.Accepted, Placed: &bet.Bet{
			Reference: slip(), Kind: acceptance.Single, Stake: euros(t, "10.00"), Payout: euros(t, "21.00"),
			Legs: []bet.Leg{{Market: "final", Selection: "home", Odds: odds, Tick: "1"}}, Attempt: "a-1",
		}},
		settle.Settled: {Reference: slip(), Became: settle.Settled, Closing: closing(bet.Settled, "21.00")},
		settle.Voided:  {Reference: slip(), Became: settle.Voided, Closing: closing(bet.Voided, "10.00")},
	}
}

func eventOf(t *testing.T, f fact.Fact) event.Event {
	t.Helper()
	e, err := f.Event(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Every fact comes out of its event, also as it arrives over HTTP, as it went in.
func TestEveryFactSurvivesItsEvent(t *testing.T) {
	t.Parallel()
	for became, f := range everything(t) {
		e := eventOf(t, f)
		if e.Type != "sportsbook.bet."+string(became) || e.OrderingKey != "ann" {
			t.Errorf("%s: type %q, ordering key %q", became, e.Type, e.OrderingKey)
		}
		text, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		var arrived event.Event
		if err := json.Unmarshal(text, &arrived); err != nil {
			t.Fatal(err)
		}
		got, err := fact.FromEvent(arrived)
		if err != nil {
			t.Errorf("%s: %v", became, err)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", became, diff)
		}
	}
}

// What became of one command is told under one key where one thing excludes the
// other, and under another where both can be true.
func TestEachFactHasTheKeyOfItsReceipt(t *testing.T) {
	t.Parallel()
	placing, closing := acceptance.PlacingKey(tenant, "ann", "slip-1"), acceptance.ClosingKey(tenant, "ann", "slip-1")
	want := map[receipt.Kind]receipt.Key{
		acceptance.Pending:  acceptance.ReferralKey(tenant, "ann", "slip-1"),
		acceptance.Requoted: placing, acceptance.Rejected: placing, acceptance.Accepted: placing,
		settle.Settled: closing, settle.Voided: closing,
	}
	for became, f := range everything(t) {
		if got := eventOf(t, f).Key; got != want[became] {
			t.Errorf("%s: key %s, want %s", became, got, want[became])
		}
	}
}

func TestWhatContradictsItselfIsNoFact(t *testing.T) {
	t.Parallel()
	all := everything(t)
	for _, test := range []struct {
		name  string
		of    receipt.Kind
		spoil func(f *fact.Fact)
		want  string
	}{
		{"no wallet", acceptance.Pending, func(f *fact.Fact) { f.Wallet = "" }, "wallet and bet must be set"},
		{"no bet", acceptance.Pending, func(f *fact.Fact) { f.ID = "" }, "wallet and bet must be set"},
		{"unknown kind", acceptance.Pending, func(f *fact.Fact) { f.Became = "lucky" }, `is "lucky"`},
		{"rejected without a code", acceptance.Rejected, func(f *fact.Fact) { f.Code = "" }, "code must be set"},
		{"requoted with a code", acceptance.Requoted, func(f *fact.Fact) { f.Code = "x" }, "and nowhere else"},
		{"accepted without a bet", acceptance.Accepted, func(f *fact.Fact) { f.Placed = nil }, "placed must be set"},
		{"rejected with a bet", acceptance.Rejected, func(f *fact.Fact) { f.Placed = all[acceptance.Accepted].Placed }, "placed must be set"},
		{"another's bet", acceptance.Accepted, func(f *fact.Fact) {
			placed := *f.Placed
			placed.ID = "slip-2"
			f.Placed = &placed
		}, "placed must be the fact's own bet"},
		{"bet without a stake", acceptance.Accepted, func(f *fact.Fact) {
			placed := *f.Placed
			placed.Stake = money.Amount{}
			f.Placed = &placed
		}, "placed.stake must be set"},
		{"settled without a closing", settle.Settled, func(f *fact.Fact) { f.Closing = nil }, "closing must be set"},
		{"pending with a closing", acceptance.Pending, func(f *fact.Fact) { f.Closing = all[settle.Settled].Closing }, "closing must be set"},
		{"settled by the closing of a void", settle.Settled, func(f *fact.Fact) { f.Closing = all[settle.Voided].Closing }, `closing.state must be "settled"`},
		{"another's closing", settle.Settled, func(f *fact.Fact) {
			closing := *f.Closing
			closing.Wallet = "bob"
			f.Closing = &closing
		}, "closing must be of the fact's own bet"},
		{"closing without a payout", settle.Settled, func(f *fact.Fact) {
			closing := *f.Closing
			closing.Payout = money.Amount{}
			f.Closing = &closing
		}, "closing.payout must be set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := all[test.of]
			test.spoil(&f)
			if _, err := f.Event(tenant); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// An event whose envelope says something else than its content is not believed.
func TestEnvelopeMustSayWhatTheContentSays(t *testing.T) {
	t.Parallel()
	all := everything(t)
	for _, test := range []struct {
		name  string
		spoil func(e *event.Event)
		want  string
	}{
		{"no JSON", func(e *event.Event) { e.Data = []byte("nonsense") }, "data"},
		{"no fact", func(e *event.Event) { e.Data = []byte("{}") }, "must be set"},
		{"type", func(e *event.Event) { e.Type = "sportsbook.bet.voided" }, `the event's type is "sportsbook.bet.voided"`},
		{"key", func(e *event.Event) { e.Key.ID = "slip-2" }, "the event's key is house/ann/place-bet/slip-2"},
		{"line", func(e *event.Event) { e.OrderingKey = "bob" }, `the event's ordering key is "bob"`},
		{"content", func(e *event.Event) {
			e.Data = bytes.Replace(e.Data, []byte("10.00"), []byte("99.00"), 1)
		}, "the event's fingerprint is"},
		{"fingerprint", func(e *event.Event) { e.Fingerprint = eventOf(t, all[acceptance.Pending]).Fingerprint }, "the event's fingerprint is"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := eventOf(t, all[acceptance.Accepted])
			test.spoil(&e)
			_, err := fact.FromEvent(e)
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, receipt.ErrSchemaVersion) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// What a newer house says, a newer build may understand.
func TestNewerSchemaIsNotTheEventsFault(t *testing.T) {
	t.Parallel()
	e := eventOf(t, everything(t)[acceptance.Pending])
	digest, err := fingerprint.Of(fingerprint.Schema{Name: "sportsbook.bet", Version: 2}, "whatever")
	if err != nil {
		t.Fatal(err)
	}
	e.Fingerprint = digest
	if _, err := fact.FromEvent(e); !errors.Is(err, receipt.ErrSchemaVersion) {
		t.Errorf("error %v, want receipt.ErrSchemaVersion", err)
	}
}
