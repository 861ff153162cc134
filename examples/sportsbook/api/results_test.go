package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

func result(body string) request {
	return request{method: "POST", path: "/results", as: trader, body: body}
}

// double is the body of a bet on home in both markets.
func double() string {
	return single(`}],`, `},{"event":"e1","market":"m2","selection":"home","quote_version":"1","odds":"2.00"}],`, "single", "accumulator")
}

// A won single, a lost one, and a double that waits for its other market.
func TestResults(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("won", single()), acceptance.Accepted)
	v.mustPlace(t, place("lost", single("home", "away", `"2.00"`, `"3.00"`)), acceptance.Accepted)
	v.mustPlace(t, place("double", double()), acceptance.Accepted)
	v.wantBalance(t, "70.00", "30.00")

	first := v.send(t, result(`{"market":"m1","version":"feed-1","winner":"home"}`))
	answer := decoded[api.ResultAnswer](t, first)
	want := api.ResultAnswer{Market: "m1", Version: "feed-1", Bets: []api.ClosedBet{
		{Reference: bet.Reference{Wallet: "alice", ID: "double"}, State: bet.Open},
		{Reference: bet.Reference{Wallet: "alice", ID: "lost"}, State: bet.Settled},
		{Reference: bet.Reference{Wallet: "alice", ID: "won"}, State: bet.Settled},
	}}
	if diff := cmp.Diff(want, answer, cmpopts.IgnoreFields(api.ClosedBet{}, "Closing", "Receipt")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, payout := range []string{"", `"0.00"`, `"20.00"`} {
		closed := answer.Bets[i]
		if (closed.Receipt == nil) != (payout == "") || !strings.Contains(string(closed.Closing), payout) {
			t.Errorf("%s is closed by %s, receipt %+v; want a payout of %s", closed.ID, closed.Closing, closed.Receipt, payout)
		}
	}
	v.wantBalance(t, "90.00", "10.00")

	// The same result again changes nothing, and answers the same.
	again := decoded[api.ResultAnswer](t, v.send(t, result(`{"market":"m1","version":"feed-1","winner":"home"}`)))
	for i := range answer.Bets {
		answer.Bets[i].Replayed = answer.Bets[i].State != bet.Open
	}
	if diff := cmp.Diff(answer, again); diff != "" {
		t.Errorf("the same result again (-first +again)\n%s", diff)
	}
	v.wantBalance(t, "90.00", "10.00")

	// Another result does not get in.
	for _, other := range []string{
		`{"market":"m1","version":"feed-2","winner":"home"}`,
		`{"market":"m1","version":"feed-1","winner":"away"}`,
		`{"market":"m1","version":"feed-1","void":true}`,
	} {
		problemOf(t, v.send(t, result(other)), http.StatusConflict, api.TypeClosedOtherwise)
	}

	// A leg on a void market counts as if it were not there.
	doubles := decoded[api.ResultAnswer](t, v.send(t, result(`{"market":"m2","version":"feed-3","void":true}`)))
	if len(doubles.Bets) != 1 || doubles.Bets[0].State != bet.Settled || !strings.Contains(string(doubles.Bets[0].Closing), `"20.00"`) {
		t.Errorf("the double is closed by %+v", doubles)
	}
	v.wantBalance(t, "110.00", "0.00")
}

// Bets whose only market is void are voided.
func TestVoidResult(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
	answer := decoded[api.ResultAnswer](t, v.send(t, result(`{"market":"m1","version":"feed-1","void":true}`)))
	if len(answer.Bets) != 1 || answer.Bets[0].State != bet.Voided {
		t.Errorf("answer %+v", answer)
	}
	v.wantBalance(t, "100.00", "0.00")
}

// A bet that a trader has voided is not said to be open, neither while the result
// of its other market is missing nor afterwards.
func TestResultOfAVoidedBet(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("double", double()), acceptance.Accepted)
	v.send(t, request{method: "POST", path: "/bets/double/void?wallet=alice", as: trader, body: `{"version":"case-1"}`})
	for _, market := range []string{"m1", "m2"} {
		answer := decoded[api.ResultAnswer](t, v.send(t, result(`{"market":"`+market+`","version":"feed-1","winner":"home"}`)))
		if len(answer.Bets) != 1 || answer.Bets[0].State != bet.Voided || answer.Bets[0].Closing != nil || answer.Unfinished != 0 {
			t.Errorf("%s: answer %+v", market, answer)
		}
	}
}

// A bet that cannot be closed now holds up no other, and the same result
// closes it later.
func TestUnfinishedResult(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
	v.mustPlace(t, place("slip-2", single()), acceptance.Accepted)
	if err := v.fake.Inject(receipttest.FailBeforeCommit); err != nil {
		t.Fatal(err)
	}
	sent := result(`{"market":"m1","version":"feed-1","winner":"home"}`)
	sent.header = http.Header{api.RequestIDHeader: {"request-1"}}
	first := decoded[api.ResultAnswer](t, v.send(t, sent))
	if first.Unfinished != 1 || first.Bets[0].State != bet.Open || first.Bets[1].State != bet.Settled {
		t.Fatalf("answer %+v", first)
	}
	if problem := first.Bets[0].Problem; problem == nil || problem.Type != api.TypeUnavailable || problem.RequestID != "request-1" {
		t.Errorf("problem %+v", problem)
	}
	again := decoded[api.ResultAnswer](t, v.send(t, sent))
	if again.Unfinished != 0 || again.Bets[0].Replayed || !again.Bets[1].Replayed {
		t.Errorf("answer %+v", again)
	}
	v.wantBalance(t, "120.00", "0.00")
}

func TestVoid(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
	void := request{method: "POST", path: "/bets/slip-1/void?wallet=alice", as: trader, body: `{"version":"case-1"}`}
	first := decoded[api.ClosedBet](t, v.send(t, void))
	if first.State != bet.Voided || first.Replayed {
		t.Errorf("answer %+v", first)
	}
	again := decoded[api.ClosedBet](t, v.send(t, void))
	first.Replayed = true
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("again (-first +again)\n%s", diff)
	}
	v.wantBalance(t, "100.00", "0.00")

	other := void
	other.body = `{"version":"case-2"}`
	problemOf(t, v.send(t, other), http.StatusConflict, api.TypeClosedOtherwise)
	// Settling what is void is refused, and nothing to wait for.
	answer := decoded[api.ResultAnswer](t, v.send(t, result(`{"market":"m1","version":"feed-1","winner":"home"}`)))
	if answer.Unfinished != 0 || answer.Bets[0].Problem == nil || answer.Bets[0].Problem.Type != api.TypeClosedOtherwise {
		t.Errorf("answer %+v", answer)
	}
	v.wantBalance(t, "100.00", "0.00")

	unknown := void
	unknown.path = "/bets/slip-9/void?wallet=alice"
	problemOf(t, v.send(t, unknown), http.StatusNotFound, api.TypeNotFound)
	unknown.path, unknown.body = void.path, `{"version":""}`
	problemOf(t, v.send(t, unknown), http.StatusUnprocessableEntity, api.TypeInvalid)
}

func TestWrongResults(t *testing.T) {
	t.Parallel()
	v := open(t)
	for body, fields := range map[string]string{
		`{}`:                                 "market version winner",
		`{"market":"m1","version":"feed-1"}`: "winner",
		`{"market":"m1","version":"feed-1","winner":"home","void":true}`:           "winner",
		`{"market":"m1","version":"feed-1","winner":"draw"}`:                       "winner",
		`{"market":"m\u0000","version":"feed\n1","winner":"\u0007"}`:               "market version winner",
		`{"market":"m1","version":"feed-1","winner":1}`:                            "winner",
		`{"market":"m1","version":"feed-1","winner":"home","Void":false}`:          "Void",
		`{"market":"m1","version":"` + strings.Repeat("v", 129) + `","void":true}`: "version",
	} {
		problem := problemOf(t, v.send(t, result(body)), http.StatusUnprocessableEntity, api.TypeInvalid)
		var named []string
		for _, wrong := range problem.Errors {
			named = append(named, wrong.Field)
		}
		if got := strings.Join(named, " "); got != fields {
			t.Errorf("%s: errors about %q, want %q", body, got, fields)
		}
	}
	problemOf(t, v.send(t, result(`{"market":"m9","version":"feed-1","void":true}`)), http.StatusNotFound, api.TypeNotFound)
	if shown := v.send(t, request{method: "GET", path: "/markets/m1"}); !strings.Contains(shown.Body.String(), `"status":"open"`) {
		t.Errorf("a wrong result left the market %s", shown.Body)
	}
}

func (v *venue) wantBalance(t *testing.T, available, held string) {
	t.Helper()
	got := decoded[wallet.Wallet](t, v.send(t, request{method: "GET", path: "/wallets/alice"}))
	want := wallet.Wallet{ID: "alice", Balances: []wallet.Balance{
		{Wallet: "alice", Available: euros(t, available), Held: euros(t, held)},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wallet (-want +got)\n%s", diff)
	}
}
