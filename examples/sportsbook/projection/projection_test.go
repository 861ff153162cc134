package projection_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

// story is a life of two wallets, in the order of the commits.
func (t *trial) story() []event.Event {
	return []event.Event{
		t.accepted("ann", "one", "10.00", "final"),
		t.decided("ann", "two", acceptance.Requoted),
		t.accepted("ann", "three", "5.50", "semi", "final"),
		t.closed("one", bet.Settled, "21.05"),
		t.decided("bob", "one", acceptance.Pending),
		t.decided("bob", "one", acceptance.Rejected),
		t.accepted("ann", "four", "1.00", "final"),
		t.closed("four", bet.Voided, "1.00"),
	}
}

// wantStory compares the tables with what the story comes to.
func (t *trial) wantStory() {
	t.Helper()
	want := projection.Tables{
		Wallets: []projection.Wallet{
			{
				ID:     "ann",
				Counts: map[receipt.Kind]int{acceptance.Accepted: 3, acceptance.Requoted: 1, settle.Settled: 1, settle.Voided: 1},
				Sums:   []projection.Sum{{Staked: t.euros("16.50"), AtStake: t.euros("5.50"), Returned: t.euros("22.05")}},
				Latest: &projection.Latest{Position: 24, Bet: "four", Became: settle.Voided},
			},
			{
				ID:     "bob",
				Counts: map[receipt.Kind]int{acceptance.Pending: 1, acceptance.Rejected: 1},
				Latest: &projection.Latest{Position: 18, Bet: "one", Became: acceptance.Rejected},
			},
		},
		Turnovers: []projection.Turnover{
			{Market: "final", Bets: 3, Staked: t.euros("16.50")},
			{Market: "semi", Bets: 1, Staked: t.euros("5.50")},
		},
	}
	got := t.tables()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(projection.Tables{}, "Journal"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if len(got.Journal) != 8 {
		t.Errorf("the journal has %d entries, want 8", len(got.Journal))
	}
}

func TestEventsComeToWhatTheyTell(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	events := trial.story()
	receipts := trial.take(events...)
	trial.wantStory()
	journal := trial.tables().Journal
	stake, payout := trial.euros("10.00"), trial.euros("21.05")
	want := []projection.Entry{
		{
			Reference: bet.Reference{Wallet: "ann", ID: "one"}, Became: acceptance.Accepted, EventID: events[0].ID, Position: 3,
			Stake: &stake, Attempt: receipts[0].Attempt,
		},
		{
			Reference: bet.Reference{Wallet: "ann", ID: "two"}, Became: acceptance.Requoted, EventID: events[1].ID, Position: 6,
			Attempt: receipts[1].Attempt,
		},
	}
	if line := receipts[0].OrderingKey; line != "ann" {
		t.Errorf("the receipt is of line %q", line)
	}
	if diff := cmp.Diff(want, journal[:2]); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	entries, err := trial.Entries(t.Context(), bet.Reference{Wallet: "ann", ID: "one"})
	if err != nil || len(entries) != 2 || entries[1].Payout == nil || !entries[1].Payout.Equal(payout) {
		t.Errorf("entries of one bet %+v, error %v", entries, err)
	}
}

// Whatever comes again, whenever, gets the receipt that it has, and changes
// nothing.
func TestEventThatComesAgainChangesNothing(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	events := trial.story()
	first := trial.take(events...)
	for i, again := range trial.take(events...) {
		if !bytes.Equal(again.Value, first[i].Value) || again.Attempt != first[i].Attempt {
			t.Errorf("event %d got another receipt: %+v", i, again)
		}
	}
	trial.wantStory()
}

func TestManyDeliveriesAtOnceTakeEffectOnce(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	e := trial.accepted("ann", "one", "10.00", "final")
	var deliveries sync.WaitGroup
	for range 8 {
		deliveries.Go(func() {
			if _, err := trial.Take(context.WithoutCancel(t.Context()), e); err != nil {
				t.Error(err)
			}
		})
	}
	deliveries.Wait()
	if got := trial.ann().Counts[acceptance.Accepted]; got != 1 {
		t.Errorf("counted %d times", got)
	}
}

// Without its receipts the projection takes everything as often as it comes: it
// is they that keep it from that, and no constraint.
func TestReceiptsAloneKeepEventsFromBeingTakenTwice(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, sabotage.WithoutReceipts[pgx.Tx])
	events := trial.story()
	trial.take(events...)
	trial.take(events...)
	if got := trial.ann().Counts[acceptance.Accepted]; got != 6 {
		t.Errorf("counted %d times, want 6", got)
	}
	if got := len(trial.tables().Journal); got != 16 {
		t.Errorf("the journal has %d entries, want 16", got)
	}
}

// What a relay was late with does not replace what is newer. A fact that was held
// up for long, and comes for the first time, counts all the same.
func TestOldDeliveryIsNotTheNewest(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	first, second := trial.accepted("ann", "one", "10.00", "final"), trial.decided("ann", "two", acceptance.Requoted)
	third := trial.decided("ann", "three", acceptance.Rejected)
	trial.take(first, third, first)
	want := &projection.Latest{Position: 9, Bet: "three", Became: acceptance.Rejected}
	if diff := cmp.Diff(want, trial.ann().Latest); diff != "" {
		t.Errorf("newest (-want +got):\n%s", diff)
	}
	trial.take(second)
	got := trial.ann()
	if diff := cmp.Diff(want, got.Latest); diff != "" || got.Counts[acceptance.Requoted] != 1 {
		t.Errorf("counts %v, newest (-want +got):\n%s", got.Counts, diff)
	}
}

// A closing looks for the stake among all that became of the bet.
func TestBetThatWasReferredIsClosed(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	trial.take(
		trial.accepted("ann", "another", "3.00", "final"), trial.decided("ann", "one", acceptance.Pending),
		trial.accepted("ann", "one", "10.00", "final"), trial.closed("one", bet.Voided, "10.00"),
	)
	want := []projection.Sum{{Staked: trial.euros("13.00"), AtStake: trial.euros("3.00"), Returned: trial.euros("10.00")}}
	if diff := cmp.Diff(want, trial.ann().Sums); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

// An audit is shown what stands in one table alone, where it has no business.
func TestTablesShowWhatStandsInOneAlone(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	for _, stray := range []string{
		`INSERT INTO latest VALUES ('ann', 1, 'one', 'accepted')`, `INSERT INTO counts VALUES ('bob', 'accepted', 1)`,
		`INSERT INTO sums VALUES ('cid', 'EUR', 0, 0, 0)`,
	} {
		if _, err := trial.database.Pool.Exec(t.Context(), stray); err != nil {
			t.Fatal(err)
		}
	}
	var shown []string
	for _, wallet := range trial.tables().Wallets {
		shown = append(shown, wallet.ID)
	}
	if diff := cmp.Diff([]string{"ann", "bob", "cid"}, shown); diff != "" {
		t.Errorf("wallets (-want +got):\n%s", diff)
	}
}

// A bet counts once for each of its markets, however many legs it has there.
func TestMarketWithTwoLegs(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	trial.take(trial.accepted("ann", "one", "10.00", "final", "semi", "final"))
	want := []projection.Turnover{
		{Market: "final", Bets: 1, Staked: trial.euros("10.00")}, {Market: "semi", Bets: 1, Staked: trial.euros("10.00")},
	}
	if diff := cmp.Diff(want, trial.tables().Turnovers); diff != "" {
		t.Errorf("turnovers (-want +got):\n%s", diff)
	}
}

// Whoever delivers events without positions leaves it open which is the newest.
func TestEventWithoutAPosition(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	e := trial.decided("ann", "one", acceptance.Requoted)
	e.Position = 0
	trial.take(e)
	if got := trial.ann(); got.Latest != nil || got.Counts[acceptance.Requoted] != 1 {
		t.Errorf("wallet %+v", got)
	}
}

// wantRefused wants an event to be refused by a code, and to change nothing.
func (t *trial) wantRefused(e event.Event, code string) {
	t.Helper()
	before := t.tables()
	stored, err := t.Take(t.Context(), e)
	var refused *settle.RefusedError
	if !errors.As(err, &refused) || refused.Code != code || !stored.Key.IsZero() {
		t.Errorf("receipt %v, error %v; want a refusal by %s", stored.Key, err, code)
	}
	if diff := cmp.Diff(before, t.tables()); diff != "" {
		t.Errorf("the refused event changed (-before +after):\n%s", diff)
	}
}

func TestClosingOfAnUnknownBetIsRefused(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	accepted, closed := trial.accepted("ann", "one", "10.00", "final"), trial.closed("one", bet.Settled, "21.00")
	trial.take(trial.accepted("bob", "one", "10.00", "final"))
	trial.wantRefused(closed, projection.CodeUnknownBet)
	trial.take(accepted, closed) // as soon as it is known, all is well
}

func TestMalformedFactIsRefused(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	e := trial.accepted("ann", "one", "10.00", "final")
	changed := e
	changed.Data = bytes.Replace(e.Data, []byte("10.00"), []byte("99.00"), 1)
	trial.wantRefused(changed, projection.CodeMalformed)
	newer := e
	digest, err := fingerprint.Of(fingerprint.Schema{Name: "sportsbook.bet", Version: 2}, "whatever")
	if err != nil {
		t.Fatal(err)
	}
	newer.Fingerprint = digest
	if _, err := trial.Take(t.Context(), newer); !errors.Is(err, receipt.ErrSchemaVersion) || errors.Is(err, settle.ErrRefused) {
		t.Errorf("error %v, want one that a newer build may mend", err)
	}
	trial.take(e)
}

func TestRefusedWalletIsTakenAgain(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	taken, held := trial.accepted("ann", "one", "10.00", "final"), trial.closed("one", bet.Voided, "10.00")
	trial.take(taken)
	for range 2 {
		if err := trial.Refuse(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"ann"}, trial.tables().Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	trial.wantRefused(held, projection.CodeRefusedWallet)
	trial.take(taken) // what has a receipt keeps it
	trial.take(trial.accepted("bob", "one", "10.00", "final"))
	if err := trial.TakeAgain(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	trial.take(held)
}

// A receipt is withheld until all that goes with it is done, and the event that
// then comes again makes up for it.
func TestNewestIsMadeUpFor(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	e := trial.decided("ann", "one", acceptance.Requoted)
	for _, rename := range []string{`ALTER TABLE latest RENAME TO away`, `ALTER TABLE away RENAME TO latest`} {
		if _, err := trial.database.Pool.Exec(t.Context(), rename); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(rename, "away") {
			if stored, err := trial.Take(t.Context(), e); err == nil || stored.Key != e.Key {
				t.Errorf("receipt of %v, error %v; want both, so that it is withheld", stored.Key, err)
			}
		}
	}
	trial.take(e)
	got := trial.ann()
	if got.Latest == nil || got.Latest.Bet != "one" || got.Counts[acceptance.Requoted] != 1 {
		t.Errorf("wallet %+v", got)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	trial := newTrial(t, nil)
	trial.take(trial.accepted("ann", "one", "10.00", "final"))
	for _, step := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, "/wallets/ann", http.StatusOK, `{"wallet":"ann","counts":{"accepted":1},"sums":[{"staked":{"amount":"10.00","currency":"EUR"},` +
			`"at_stake":{"amount":"10.00","currency":"EUR"},"returned":{"amount":"0.00","currency":"EUR"}}],"latest":{"position":3,"bet":"one","became":"accepted"}}`},
		{http.MethodGet, "/wallets/eve", http.StatusNotFound, "projection: unknown wallet eve"},
		{http.MethodPut, "/refused/ann", http.StatusNoContent, ""},
		{http.MethodPost, "/refused/ann", http.StatusMethodNotAllowed, "Method Not Allowed"},
	} {
		answer := httptest.NewRecorder()
		trial.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), step.method, step.path, nil))
		if got := strings.TrimSpace(answer.Body.String()); answer.Code != step.status || got != step.body {
			t.Errorf("%s %s: status %d, body %s", step.method, step.path, answer.Code, got)
		}
	}
	next := trial.decided("ann", "two", acceptance.Rejected)
	trial.wantRefused(next, projection.CodeRefusedWallet)
	trial.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/refused/ann", nil))
	trial.take(next)
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := projection.New(projection.Config{})
	for _, field := range []string{"Pool", "Store"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
