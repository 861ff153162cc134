package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

const tenant = "house"

// noon is when everything was recorded.
func noon() time.Time { return time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC) }

func euros(t *testing.T, text string) money.Amount {
	t.Helper()
	var registry *money.Registry
	amount, err := registry.Parse(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func odds(t *testing.T, text string) money.Odds {
	t.Helper()
	parsed, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// ann is the wallet of everything that happens here.
func ann(id string) bet.Reference { return bet.Reference{Wallet: "ann", ID: id} }

// story are facts under construction.
type story struct {
	t *testing.T
	audit.Facts
	available, held money.Amount
}

// inOrder are the facts of six commands of one wallet: a bet that was settled, one
// that was voided, a rejection, a requote, the consent to it, whose bet was
// settled, and one that a trader declined. A seventh was refused its consent.
// Nobody delivers their events.
func inOrder(t *testing.T) audit.Facts {
	t.Helper()
	s := &story{t: t, available: euros(t, "0.00"), held: euros(t, "0.00")}
	s.Tenant = tenant
	s.post(wallet.NewDeposit("deposit", "ann", euros(t, "100.00")))
	s.place("settled", "")
	s.close("settled", bet.Settled, "21.05")
	s.place("voided", "")
	s.close("voided", bet.Voided, "10.00")
	s.decide("rejected", acceptance.Rejected, "", nil)
	s.decide("requoted", acceptance.Requoted, "", nil)
	s.place("consenting", "requoted")
	s.close("consenting", bet.Settled, "21.05")
	s.Receipts = append(s.Receipts, s.receipt(acceptance.ConsentKey(tenant, "ann", "requoted"), "consented", "{}"))
	s.refer("referred")
	s.decide("referred", acceptance.Rejected, "", nil)
	s.Sent = append(s.Sent, ann("late-consent"))
	s.Answers = append(s.Answers, audit.Answer{Reference: ann("late-consent"), Conflict: true})
	s.Tables.Wallets = []wallet.Wallet{{ID: "ann", Balances: []wallet.Balance{{Wallet: "ann", Available: s.available, Held: s.held}}}}
	s.Tables.Markets = []market.Market{{ID: "final", Result: &market.Result{Version: "1", Winner: "home"}}}
	s.Tables.Stripes = []exposure.Stripe{{
		Selection: exposure.Selection{Market: "final", Selection: "home"}, Limit: euros(t, "50.00"), Taken: euros(t, "0.00"),
	}}
	s.Suspensions = []audit.Suspension{{Market: "final", From: noon().Add(time.Second), To: noon().Add(2 * time.Second)}}
	return s.Facts
}

// command is what ann's client sends under an ID: ten on the home side.
func (s *story) command(id, consents string) *acceptance.Command {
	s.t.Helper()
	return &acceptance.Command{
		Tenant: tenant, Wallet: "ann", ID: id, Stake: euros(s.t, "10.00"), Consents: consents,
		Type: acceptance.BetType{Kind: acceptance.Single},
		Legs: []acceptance.Leg{{Event: "cup", Market: "final", Selection: "home", QuoteVersion: "1", Odds: odds(s.t, "2.1049")}},
	}
}

func fingerprintOf(t *testing.T, command *acceptance.Command) fingerprint.Digest {
	t.Helper()
	sum, err := command.Fingerprint(false)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// legsOf are the legs of a command as its decision has them.
func legsOf(command *acceptance.Command) []acceptance.DecidedLeg {
	legs := make([]acceptance.DecidedLeg, len(command.Legs))
	for i, leg := range command.Legs {
		legs[i] = acceptance.DecidedLeg{
			Event: leg.Event, Market: leg.Market, Selection: leg.Selection, Line: leg.Line,
			Requested: acceptance.RequestedQuote{Version: leg.QuoteVersion, Odds: leg.Odds},
		}
	}
	return legs
}

func (s *story) receipt(key receipt.Key, outcome receipt.Kind, value string) receipt.Receipt {
	return receipt.Receipt{Key: key, Outcome: outcome, Value: []byte(value), Attempt: "attempt-" + key.ID, RecordedAt: noon()}
}

// post adds a transaction to the journal and the balances.
func (s *story) post(transaction wallet.Transaction) {
	s.t.Helper()
	s.Tables.Journal = append(s.Tables.Journal, transaction)
	for _, entry := range transaction.Entries {
		var err error
		switch entry.Account.Kind {
		case wallet.Available:
			s.available, err = s.available.Add(entry.Amount)
		case wallet.Held:
			s.held, err = s.held.Add(entry.Amount)
		case wallet.House, wallet.Outside:
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// decide has a command sent, decided and answered twice.
func (s *story) decide(id string, verdict acceptance.Verdict, consents string, placed *bet.Bet) {
	s.t.Helper()
	sent := s.command(id, consents)
	value, err := json.Marshal(map[string]any{
		"verdict": verdict, "bet": placed, "consents": consents, "legs": legsOf(sent),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	answer := audit.Answer{
		Reference: ann(id), Sent: sent, Verdict: verdict, Decision: value, Attempt: "attempt-" + id, Fingerprint: fingerprintOf(s.t, sent),
	}
	again := answer
	again.Sent = s.command(id, consents)
	s.Answers = append(s.Answers, answer, again)
	s.Sent = append(s.Sent, ann(id))
	stored := s.receipt(acceptance.PlacingKey(tenant, "ann", id), verdict, string(value))
	stored.Fingerprint = answer.Fingerprint
	s.Receipts = append(s.Receipts, stored)
	s.tell(acceptance.PlacingKey(tenant, "ann", id), verdict)
}

// tell has an event committed that says what became of a command.
func (s *story) tell(key receipt.Key, became receipt.Kind) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"wallet": key.Scope, "bet": key.ID, "became": became})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Events = append(s.Events, event.Event{ID: fmt.Sprint("event-", len(s.Events)+1), Key: key, Data: text})
}

// place has a command accepted, with a stake of ten.
func (s *story) place(id, consents string) {
	s.t.Helper()
	placed := bet.Bet{
		Reference: ann(id), Kind: acceptance.Single, Stake: euros(s.t, "10.00"), Payout: euros(s.t, "21.05"),
		Legs:    []bet.Leg{{Market: "final", Selection: "home", Odds: odds(s.t, "2.1049"), Tick: "1"}},
		Attempt: "attempt-" + id,
	}
	s.decide(id, acceptance.Accepted, consents, &placed)
	s.Tables.Bets = append(s.Tables.Bets, placed)
	s.Tables.Holds = append(s.Tables.Holds, bet.Hold{Reference: ann(id), Amount: placed.Stake, Attempt: placed.Attempt})
	s.Tables.Taken = append(s.Tables.Taken, bet.Taken{Reference: ann(id), Take: exposure.Take{
		Selection: exposure.Selection{Market: "final", Selection: "home"}, Amount: euros(s.t, "11.00"),
	}})
	stake := wallet.NewStake("stake-"+id, "ann", placed.Stake)
	stake.Bet, stake.Attempt = id, placed.Attempt
	s.post(stake)
}

// close settles or voids a bet.
func (s *story) close(id string, state bet.State, payout string) {
	s.t.Helper()
	stake := euros(s.t, "10.00")
	movement := wallet.NewVoid("close-"+id, "ann", stake)
	kind := settle.Voided
	if state == bet.Settled {
		movement, kind = wallet.NewSettlement("close-"+id, "ann", stake, euros(s.t, payout)), settle.Settled
	}
	movement.Bet, movement.Attempt = id, "attempt-"+id
	s.post(movement)
	s.Tables.HoldEnds = append(s.Tables.HoldEnds, bet.HoldEnd{
		Reference: ann(id), Consumed: state == bet.Settled, Amount: stake, Attempt: "attempt-" + id,
	})
	closing := bet.Closing{
		Reference: ann(id), State: state, ResultVersion: "1", Payout: euros(s.t, payout), Rounding: bet.Rounding, Attempt: "attempt-" + id,
	}
	s.Tables.Closings = append(s.Tables.Closings, closing)
	value, err := json.Marshal(closing)
	if err != nil {
		s.t.Fatal(err)
	}
	key := acceptance.ClosingKey(tenant, "ann", id)
	s.Receipts = append(s.Receipts, s.receipt(key, kind, string(value)))
	s.tell(key, kind)
}

// refer has a command left to a trader, and its client told so. It is decided
// later.
func (s *story) refer(id string) {
	s.t.Helper()
	sent := s.command(id, "")
	value, err := json.Marshal(map[string]any{"verdict": "pending", "legs": legsOf(sent)})
	if err != nil {
		s.t.Fatal(err)
	}
	stored := s.receipt(acceptance.ReferralKey(tenant, "ann", id), acceptance.Pending, string(value))
	stored.Fingerprint = fingerprintOf(s.t, sent)
	s.Answers = append(s.Answers, audit.Answer{
		Reference: ann(id), Sent: sent, Verdict: acceptance.Pending, Decision: value, Attempt: stored.Attempt, Fingerprint: stored.Fingerprint,
	})
	s.Receipts = append(s.Receipts, stored)
	s.Tables.Referrals = append(s.Tables.Referrals, bet.Referral{Reference: ann(id), Stake: euros(s.t, "10.00")})
	s.tell(acceptance.ReferralKey(tenant, "ann", id), acceptance.Pending)
}

func TestBooksInOrder(t *testing.T) {
	t.Parallel()
	report := audit.Judge(inOrder(t))
	if !report.InOrder() {
		t.Errorf("problems %q", report.Problems)
	}
	want := audit.Figures{
		Requests: 7, Accepted: 3, Rejected: 2, Requoted: 1, Pending: 1, Replays: 6, Conflicts: 1,
		Settled: 2, Voided: 1, Events: 10,
	}
	if diff := cmp.Diff(want, report.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if got := report.Sums["EUR"][wallet.Available].String(); got != "122.1" {
		t.Errorf("available %s, want 122.1", got)
	}
}

// resend has a client have sent something else, and the decision and the receipt
// say the same: the bet alone is left as it was.
func resend(t *testing.T, f *audit.Facts, id string, change func(c *acceptance.Command)) {
	t.Helper()
	var sum fingerprint.Digest
	var value []byte
	for i := range f.Answers {
		answer := &f.Answers[i]
		if answer.ID != id {
			continue
		}
		change(answer.Sent)
		var members map[string]any
		if err := json.Unmarshal(answer.Decision, &members); err != nil {
			t.Fatal(err)
		}
		members["legs"], members["consents"] = legsOf(answer.Sent), answer.Sent.Consents
		var err error
		if value, err = json.Marshal(members); err != nil {
			t.Fatal(err)
		}
		sum = fingerprintOf(t, answer.Sent)
		answer.Decision, answer.Fingerprint = value, sum
	}
	for i := range f.Receipts {
		if f.Receipts[i].Key == acceptance.PlacingKey(tenant, "ann", id) {
			f.Receipts[i].Value, f.Receipts[i].Fingerprint = value, sum
		}
	}
}

// redecide replaces a text in the decision on a command, wherever that is kept or
// told.
func redecide(f *audit.Facts, id, text, by string) {
	for i := range f.Answers {
		if f.Answers[i].ID == id {
			f.Answers[i].Decision = bytes.ReplaceAll(f.Answers[i].Decision, []byte(text), []byte(by))
		}
	}
	for i := range f.Receipts {
		if f.Receipts[i].Key == acceptance.PlacingKey(tenant, "ann", id) {
			f.Receipts[i].Value = bytes.ReplaceAll(f.Receipts[i].Value, []byte(text), []byte(by))
		}
	}
}

// without takes the i-th row out.
func without[T any](rows []T, i int) []T { return append(append([]T(nil), rows[:i]...), rows[i+1:]...) }

func TestEveryFaultInTheBooksIsFound(t *testing.T) {
	t.Parallel()
	amount := func(text string) money.Amount { return euros(t, text) }
	type counts struct{ lost, doubled, unbalanced int }
	for _, test := range []struct {
		name  string
		spoil func(f *audit.Facts)
		want  counts
		text  string
	}{
		{"told what is not kept", func(f *audit.Facts) {
			f.Receipts = without(f.Receipts, 4)
		}, counts{lost: 1, doubled: 1}, "rejected} was answered, and there is no receipt"},
		{"decided twice", func(f *audit.Facts) {
			again := f.Receipts[4]
			again.Revision = 1
			f.Receipts = append(f.Receipts, again)
		}, counts{doubled: 1}, "more than one receipt of the house under house/ann/place-bet/rejected"},
		{"told otherwise", func(f *audit.Facts) {
			for i := range f.Answers {
				if f.Answers[i].ID == "rejected" {
					f.Answers[i].Decision = []byte(`{"verdict":"accepted"}`)
				}
			}
		}, counts{lost: 1}, "answered otherwise than its receipt says"},
		{"told of another receipt", func(f *audit.Facts) { f.Receipts[4].Attempt = "other" }, counts{lost: 1}, `told of a receipt of attempt "attempt-rejected", and its receipt is another`},
		{"told of another fingerprint", func(f *audit.Facts) {
			sum, err := fingerprint.Of(fingerprint.Schema{Name: "test", Version: 1}, "another command")
			if err != nil {
				t.Fatal(err)
			}
			f.Receipts[4].Fingerprint = sum
		}, counts{lost: 2}, "and its receipt is another"},
		{"told in two ways", func(f *audit.Facts) {
			f.Answers[0].Decision = append([]byte(" "), f.Answers[0].Decision...)
		}, counts{lost: 1, doubled: 1}, "answered in 2 ways"},
		{"pending told otherwise", func(f *audit.Facts) {
			for i := range f.Answers {
				if f.Answers[i].Verdict == acceptance.Pending {
					f.Answers[i].Decision = []byte(`{}`)
				}
			}
		}, counts{lost: 1}, "answered otherwise"},
		{"referral without its row", func(f *audit.Facts) { f.Tables.Referrals = nil }, counts{lost: 1}, "was referred, and the desk has 0 of it"},
		{"referral twice", func(f *audit.Facts) {
			f.Tables.Referrals = append(f.Tables.Referrals, f.Tables.Referrals[0])
		}, counts{doubled: 1}, "was referred, and the desk has 2 of it"},
		{"unanswered", func(f *audit.Facts) { f.Sent = append(f.Sent, ann("silence")) }, counts{}, "unanswered: command {ann silence}"},
		{"refused", func(f *audit.Facts) {
			f.Answers = append(f.Answers, audit.Answer{Reference: ann("settled"), Refusal: "because"})
		}, counts{}, "refused: command {ann settled}: because"},
		{"never sent", func(f *audit.Facts) { f.Sent = without(f.Sent, 0) }, counts{doubled: 1}, "took effect and was never sent"},
		{"unreadable receipt", func(f *audit.Facts) {
			f.Receipts[4].Value = []byte("nonsense")
			for i := range f.Answers {
				if f.Answers[i].ID == "rejected" {
					f.Answers[i].Decision = []byte("nonsense")
				}
			}
		}, counts{lost: 1}, "cannot be read"},
		{"sent with what only the fingerprint has", func(f *audit.Facts) {
			f.Answers[0].Sent.Funding = "bonus"
		}, counts{lost: 1}, "{ann settled} was sent with another fingerprint than what is kept"},
		{"decided for a changed body", func(f *audit.Facts) {
			changed := f.Answers[0]
			sent := *changed.Sent
			sent.Stake = amount("50.00")
			changed.Sent = &sent
			f.Answers = append(f.Answers, changed)
		}, counts{lost: 1}, "{ann settled} was sent with another fingerprint, stake than what is kept"},
		{"sent with another stake than everything has", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) { c.Stake = amount("12.00") })
		}, counts{lost: 1}, "{ann settled} was sent with another stake than what is kept"},
		{"sent with the stake of each of several lines", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) {
				c.Legs = append(c.Legs, c.Legs[0])
				c.Type, c.StakeMode = acceptance.BetType{Kind: acceptance.System, Sizes: []int{1, 2}}, acceptance.StakePerLine
			})
		}, counts{lost: 1}, "{ann settled} was sent with another number of legs, stake, type.kind than what is kept"},
		{"sent as another kind of bet", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) { c.Type.Kind = acceptance.Accumulator })
		}, counts{lost: 1}, "{ann settled} was sent with another type.kind than what is kept"},
		{"sent on another market", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) { c.Legs[0].Market = "semi-final" })
		}, counts{lost: 1}, "{ann settled} was sent with another legs[0].market than what is kept"},
		{"sent on another selection", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) { c.Legs[0].Selection = "away" })
		}, counts{lost: 1}, "{ann settled} was sent with another legs[0].selection than what is kept"},
		{"sent at other odds", func(f *audit.Facts) {
			resend(t, f, "settled", func(c *acceptance.Command) { c.Legs[0].Odds = odds(t, "2.2") })
		}, counts{lost: 1}, "{ann settled} was sent with another legs[0].odds than what is kept"},
		{"under another wallet than everything has", func(f *audit.Facts) {
			f.Receipts[0].Key.Scope = "eve"
			for _, reference := range []*bet.Reference{&f.Tables.Bets[0].Reference, &f.Tables.Holds[0].Reference} {
				reference.Wallet = "eve"
			}
			stake := wallet.NewStake("stake-settled", "eve", amount("10.00"))
			stake.Bet, stake.Attempt = "settled", "attempt-settled"
			f.Tables.Journal[1] = stake
		}, counts{lost: 2, doubled: 2, unbalanced: 9}, "command {eve settled} took effect and was never sent"},
		{"decided on another event", func(f *audit.Facts) {
			redecide(f, "rejected", `"event":"cup"`, `"event":"league"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].event than what is kept"},
		{"decided on another market", func(f *audit.Facts) {
			redecide(f, "rejected", `"market":"final"`, `"market":"semi-final"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].market than what is kept"},
		{"decided on another selection", func(f *audit.Facts) {
			redecide(f, "rejected", `"selection":"home"`, `"selection":"away"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].selection than what is kept"},
		{"decided on another line", func(f *audit.Facts) {
			redecide(f, "rejected", `"selection":"home"`, `"selection":"home","line":"2.5"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].line than what is kept"},
		{"decided on another quote", func(f *audit.Facts) {
			redecide(f, "rejected", `"version":"1"`, `"version":"2"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].quote_version than what is kept"},
		{"decided on other odds", func(f *audit.Facts) {
			redecide(f, "rejected", `"odds":"2.1049"`, `"odds":"2.2"`)
		}, counts{lost: 1}, "{ann rejected} was sent with another legs[0].odds than what is kept"},
		{"decided on no legs", func(f *audit.Facts) {
			redecide(f, "rejected", `"legs":[`, `"legs":[],"sent":[`)
		}, counts{lost: 1}, "{ann rejected} was sent with another number of legs than what is kept"},
		{"decided on another consent", func(f *audit.Facts) {
			redecide(f, "consenting", `"consents":"requoted"`, `"consents":"rejected"`)
		}, counts{lost: 2}, "{ann consenting} was sent with another consents than what is kept"},
		{"referred for something else", func(f *audit.Facts) {
			for i := range f.Answers {
				if f.Answers[i].Verdict == acceptance.Pending {
					f.Answers[i].Sent.Stake = amount("50.00")
				}
			}
		}, counts{lost: 1}, "{ann referred} was sent with another fingerprint than what is kept"},
		{"told to nobody who sent it", func(f *audit.Facts) {
			for i := range f.Answers {
				if f.Answers[i].ID == "settled" {
					f.Answers[i].Sent = nil
				}
			}
		}, counts{}, "command {ann settled} has a final decision, and no client that sent it was told"},
		{"consent used twice", func(f *audit.Facts) {
			resend(t, f, "rejected", func(c *acceptance.Command) { c.Consents = "requoted" })
		}, counts{doubled: 1}, `the consent to "requoted" of wallet ann was used twice`},
		{"consent without receipt", func(f *audit.Facts) {
			f.Receipts = without(f.Receipts, 8)
		}, counts{lost: 1}, `consents to "requoted", and there is no receipt of that`},
		{"accepted while suspended", func(f *audit.Facts) { f.Suspensions[0].From = noon() }, counts{}, "late: command"},
		{"no bet", func(f *audit.Facts) { f.Tables.Bets = without(f.Tables.Bets, 0) }, counts{lost: 1}, "was accepted and has no [bet]"},
		{"legs of no bet", func(f *audit.Facts) {
			f.Tables.StrayLegs = []bet.Reference{ann("rejected")}
		}, counts{doubled: 1}, "command {ann rejected} has a leg, and no bet"},
		{"bet twice", func(f *audit.Facts) { f.Tables.Bets = append(f.Tables.Bets, f.Tables.Bets[0]) }, counts{doubled: 1}, "more than one [bet]"},
		{"no hold", func(f *audit.Facts) { f.Tables.Holds = without(f.Tables.Holds, 0) }, counts{lost: 1}, "has no [hold]"},
		{"hold of a rejection", func(f *audit.Facts) {
			f.Tables.Holds[0].Reference = ann("rejected")
		}, counts{lost: 1, doubled: 1, unbalanced: 1}, "no receipt that accepts it"},
		{"another stake", func(f *audit.Facts) { f.Tables.Bets[0].Stake = amount("9.00") }, counts{lost: 1, unbalanced: 1}, "disagree: the receipt, the bet, the hold and the stake of command {ann settled}"},
		{"another payout", func(f *audit.Facts) { f.Tables.Bets[0].Payout = amount("9.00") }, counts{}, "disagree"},
		{"other odds", func(f *audit.Facts) {
			f.Tables.Bets[0].Legs = []bet.Leg{f.Tables.Bets[0].Legs[0]}
			f.Tables.Bets[0].Legs[0].Odds = odds(t, "9")
		}, counts{lost: 1, unbalanced: 1}, "disagree"},
		{"another attempt", func(f *audit.Facts) { f.Tables.Holds[0].Attempt = "other" }, counts{}, "disagree"},
		{"another hold", func(f *audit.Facts) { f.Tables.Holds[0].Amount = amount("9.00") }, counts{}, "disagree"},
		{"another stake in the journal", func(f *audit.Facts) {
			stake := wallet.NewStake("stake-settled", "ann", amount("9.00"))
			stake.Bet, stake.Attempt = "settled", "attempt-settled"
			f.Tables.Journal[1] = stake
		}, counts{unbalanced: 6}, "disagree: the receipt, the bet, the hold and the stake of command {ann settled}"},
		{"receipt of another kind than it says", func(f *audit.Facts) { f.Receipts[4].Outcome = acceptance.Requoted }, counts{lost: 2, doubled: 1}, "does not say what its kind does"},
		{"closed by another attempt", func(f *audit.Facts) { f.Tables.Closings[0].Attempt = "other" }, counts{}, "the closing of bet {ann settled}"},
		{"settled and voided", func(f *audit.Facts) {
			void := wallet.NewVoid("again", "ann", amount("10.00"))
			void.Bet = "settled"
			f.Tables.Journal = append(f.Tables.Journal, void)
		}, counts{doubled: 1, unbalanced: 4}, "both settled and voided"},
		{"closed twice", func(f *audit.Facts) {
			f.Tables.HoldEnds = append(f.Tables.HoldEnds, f.Tables.HoldEnds[0])
		}, counts{doubled: 1}, "was closed 2 times"},
		{"closing without receipt", func(f *audit.Facts) {
			f.Receipts = without(f.Receipts, 1)
		}, counts{doubled: 2}, "was closed, and there is no receipt"},
		{"closed by its receipt alone", func(f *audit.Facts) { f.Tables.Closings = without(f.Tables.Closings, 0) }, counts{lost: 1, unbalanced: 1}, "closed by its receipt, and not in the books"},
		{"closed otherwise", func(f *audit.Facts) { f.Tables.Closings[0].State = bet.Voided }, counts{}, "the closing of bet {ann settled}"},
		{"closed by another result", func(f *audit.Facts) { f.Tables.Closings[0].ResultVersion = "2" }, counts{}, "the closing of bet {ann settled}"},
		{"receipt of another closing", func(f *audit.Facts) {
			f.Receipts[1].Value = bytes.ReplaceAll(f.Receipts[1].Value, []byte("settled"), []byte("voided"))
		}, counts{}, "the closing of bet {ann settled}"},
		{"another kind of bet", func(f *audit.Facts) { f.Tables.Bets[0].Kind = acceptance.System }, counts{lost: 1}, "disagree: the receipt, the bet, the hold and the stake of command {ann settled}"},
		{"entry of no transaction", func(f *audit.Facts) {
			f.Tables.Journal = append(f.Tables.Journal, wallet.Transaction{ID: "stray", Entries: []wallet.Entry{
				{Account: wallet.Account{Kind: wallet.House}, Amount: amount("5.00")},
			}})
		}, counts{unbalanced: 1}, "transaction stray sums to 5 EUR"},
		{"hold released and consumed", func(f *audit.Facts) { f.Tables.HoldEnds[0].Consumed = false }, counts{}, "the closing of bet {ann settled}"},
		{"another payout than the journal's", func(f *audit.Facts) {
			f.Tables.Closings[0].Payout = amount("22.00")
		}, counts{}, "the journal and the closing of bet {ann settled}"},
		{"paid for a lost bet", func(f *audit.Facts) {
			f.Tables.Markets[0].Result = &market.Result{Version: "1", Winner: "away"}
		}, counts{unbalanced: 2}, "bet {ann settled} was paid 21.05 EUR, and should have been paid 0"},
		{"paid for a void market", func(f *audit.Facts) {
			f.Tables.Markets[0].Result = &market.Result{Version: "1", Void: true}
		}, counts{unbalanced: 2}, "should have been paid 10"},
		{"no event", func(f *audit.Facts) { f.Events = without(f.Events, 0) }, counts{lost: 1}, "there is no event that {ann settled} is accepted"},
		{"event twice", func(f *audit.Facts) {
			again := f.Events[0]
			again.ID = "another"
			f.Events = append(f.Events, again)
		}, counts{doubled: 1}, "there are 2 events that {ann settled} is accepted"},
		{"event under another fact's key", func(f *audit.Facts) {
			for i := range f.Events {
				if f.Events[i].Key == acceptance.ReferralKey(tenant, "ann", "referred") {
					f.Events[i].Key = acceptance.PlacingKey(tenant, "ann", "referred")
				}
			}
		}, counts{lost: 1, doubled: 1}, "or is under another key than its own"},
		{"event of nothing", func(f *audit.Facts) {
			f.Events = append(f.Events, event.Event{Key: acceptance.PlacingKey(tenant, "bob", "x"), Data: []byte(`{}`)})
		}, counts{doubled: 1}, "and no receipt"},
		{"unbalanced transaction", func(f *audit.Facts) {
			f.Tables.Journal[2].Entries[1].Amount = amount("11.00")
		}, counts{unbalanced: 1}, "transaction close-settled sums to 1 EUR"},
		{"wallet is not its journal", func(f *audit.Facts) {
			f.Tables.Wallets[0].Balances[0].Available = amount("1.00")
		}, counts{unbalanced: 1}, "wallet ann has 1.00 EUR available, and its journal 122.1"},
		{"no balance", func(f *audit.Facts) { f.Tables.Wallets = nil }, counts{unbalanced: 1}, "which has no such balance"},
		{"overdrawn", func(f *audit.Facts) {
			f.Tables.Journal = append(without(f.Tables.Journal, 0), f.Tables.Journal[0])
		}, counts{unbalanced: 1}, "available of wallet ann is -10 EUR after transaction stake-settled"},
		{"stripe", func(f *audit.Facts) { f.Tables.Stripes[0].Taken = amount("1.00") }, counts{unbalanced: 1}, "stripe 0 of home on final has"},
		{"stripe over its limit", func(f *audit.Facts) {
			f.Tables.Taken = append(f.Tables.Taken, bet.Taken{Reference: ann("elsewhere"), Take: exposure.Take{
				Selection: exposure.Selection{Market: "final", Selection: "home"}, Amount: amount("60.00"),
			}})
			f.Tables.Stripes[0].Taken = amount("60.00")
		}, counts{unbalanced: 1}, "over its limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := inOrder(t)
			test.spoil(&facts)
			report := audit.Judge(facts)
			if got := (counts{report.Lost, report.Doubled, report.Unbalanced}); got != test.want {
				t.Errorf("counts %+v, want %+v; problems:\n%s", got, test.want, strings.Join(report.Problems, "\n"))
			}
			if text := strings.Join(report.Problems, "\n"); !strings.Contains(text, test.text) || report.InOrder() {
				t.Errorf("problems %q do not say %q", text, test.text)
			}
		})
	}
}

// A bet may stand at other odds than were sent where the player takes them.
func TestOddsAreThoseThatThePlayerTakes(t *testing.T) {
	t.Parallel()
	any500 := acceptance.OddsChange{Policy: acceptance.OddsAny, WithinBasisPoints: 500}
	for _, test := range []struct {
		name   string
		change acceptance.OddsChange
		sent   string // the bet stands at 2.1049
		taken  bool
	}{
		{"no policy, the same", acceptance.OddsChange{}, "2.1049", true},
		{"no policy, better", acceptance.OddsChange{}, "2.1048", false},
		{"exact, better", acceptance.OddsChange{Policy: acceptance.OddsExact}, "2.1048", false},
		{"better, better", acceptance.OddsChange{Policy: acceptance.OddsBetter}, "2.1048", true},
		{"better, the same", acceptance.OddsChange{Policy: acceptance.OddsBetter}, "2.1049", true},
		{"better, worse", acceptance.OddsChange{Policy: acceptance.OddsBetter}, "2.105", false},
		{"any, better", any500, "1.5", true},
		{"any, worse within the bound", any500, "2.2156", true},  // down to 2.10482
		{"any, worse beyond the bound", any500, "2.2157", false}, // down to 2.104915
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := inOrder(t)
			resend(t, &facts, "settled", func(c *acceptance.Command) {
				c.Legs[0].Odds, c.OddsChange = odds(t, test.sent), test.change
			})
			report := audit.Judge(facts)
			if report.InOrder() != test.taken || (report.Lost == 0) != test.taken {
				t.Errorf("problems %q; want that the odds are taken: %t", report.Problems, test.taken)
			}
		})
	}
}

// A bet that nobody has closed is in the books, and is said to be open.
func TestOpenBet(t *testing.T) {
	t.Parallel()
	s := &story{t: t, available: euros(t, "0.00"), held: euros(t, "0.00")}
	s.Tenant = tenant
	s.post(wallet.NewDeposit("deposit", "ann", euros(t, "100.00")))
	s.place("open", "")
	s.Tables.Wallets = []wallet.Wallet{{ID: "ann", Balances: []wallet.Balance{{Wallet: "ann", Available: s.available, Held: s.held}}}}
	report := audit.Judge(s.Facts)
	want := []string{"open: bet {ann open} is neither settled nor voided"}
	if diff := cmp.Diff(want, report.Problems); diff != "" || report.Open != 1 {
		t.Errorf("%d open, problems (-want +got):\n%s", report.Open, diff)
	}
}

func TestLineHasItsFixedForm(t *testing.T) {
	t.Parallel()
	line, err := audit.Figures{Store: "memory", Faults: map[string]int{"lost-answer": 2}, Seconds: 1.5}.Line()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"store":"memory","requests":0,"accepted":0,"rejected":0,"requoted":0,"pending":0,"replays":0,"conflicts":0,` +
		`"settled":0,"voided":0,"events":0,"published":0,"projected":0,"faults":{"lost-answer":2},"lost":0,"doubled":0,"unbalanced":0,"seconds":1.5}`
	if line != want || !json.Valid([]byte(line)) {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
}

func TestTableShowsWhatCounts(t *testing.T) {
	t.Parallel()
	report := audit.Judge(inOrder(t))
	report.Faults = map[string]int{"seen": 2, "unseen": 0}
	report.Problems = []string{"something is wrong"}
	var table strings.Builder
	catalogue := fault.Catalogue{{Name: "seen", Effect: "it was seen"}}
	if err := report.Write(&table, catalogue); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"lost", "doubled", "unbalanced", "journal EUR", "available 122.1", "it was seen", "MISSING", "something is wrong"} {
		if !strings.Contains(table.String(), text) {
			t.Errorf("the table does not say %q:\n%s", text, table.String())
		}
	}
}
