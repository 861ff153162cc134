package acceptance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// newReferringHouse returns a house whose risk service leaves every command to
// a trader, who has a minute.
func newReferringHouse(t *testing.T, faults ...receipttest.Fault) *house {
	t.Helper()
	return newHouse(t, func(h *house, c *config) {
		c.Risk.Assess = func(ctx context.Context, c *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
			evidence, err := h.approve(ctx, c, sum)
			evidence.Opinion = acceptance.RiskRefer
			return evidence, err
		}
		c.Referral.Lifetime = time.Minute
		c.Referral.Record = func(_ context.Context, tx houseTx, p *acceptance.PendingBet) error {
			h.called("Record")
			return tx.Set("desk/"+p.Command.ID, record{stake: p.Command.Stake})
		}
	}, faults...)
}

func approving() acceptance.Resolution {
	return acceptance.Resolution{Ruling: acceptance.Approve, By: "tess", Reason: "known player"}
}

func (h *house) resolve(id string, r acceptance.Resolution) answer {
	h.t.Helper()
	decision, err := h.runner.Resolve(h.t.Context(), "shop", "ann", id, r)
	if err != nil {
		h.t.Fatalf("Resolve of %q: %v", id, err)
	}
	return decision
}

func TestReferral(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	command := single(t, "b1", "10.00")
	command.Meta = map[string]string{"ip": "192.0.2.1"}
	pending := h.accept(command)
	if pending.Verdict != acceptance.Pending || !pending.ExpiresAt.Equal(opening.Add(time.Minute)) || pending.Evidence == nil {
		t.Fatalf("pending: %+v", pending)
	}
	if diff := cmp.Diff([]string{"Assess", "Record"}, h.calls()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if _, found := h.world.Get("desk/b1"); !found {
		t.Error("the desk knows nothing")
	}

	again := h.accept(command)
	if !again.Replayed || again.Verdict != acceptance.Pending || string(again.Receipt.Value) != string(pending.Receipt.Value) || len(h.calls()) != 0 {
		t.Errorf("meanwhile: %+v", again)
	}
	found, err := h.runner.Lookup(t.Context(), "shop", "ann", "b1")
	if err != nil || found.Verdict != acceptance.Pending {
		t.Errorf("Lookup: %+v, %v", found, err)
	}
	changed := single(t, "b1", "20.00")
	if _, err := h.runner.Accept(t.Context(), changed); !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Errorf("another command meanwhile: %v", err)
	}

	accepted := h.resolve("b1", approving())
	if accepted.Verdict != acceptance.Accepted || accepted.Replayed || accepted.Resolution.By != "tess" || accepted.Evidence == nil {
		t.Fatalf("resolved: %+v", accepted)
	}
	if diff := cmp.Diff([]string{"LockWallet", "Quote", "Place"}, h.calls()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if accepted.Receipt.Key != command.Key() || !accepted.Receipt.Fingerprint.Equal(pending.Receipt.Fingerprint) {
		t.Errorf("receipt: %+v", accepted.Receipt)
	}

	late := h.resolve("b1", acceptance.Resolution{Ruling: acceptance.Decline, By: "tom"})
	if !late.Replayed || late.Verdict != acceptance.Accepted {
		t.Errorf("a second ruling: %+v", late)
	}
	final := h.accept(command)
	final.Replayed = false
	if diff := cmp.Diff(accepted, final, byValue()...); diff != "" {
		t.Errorf("the command's answer (-resolved +answer):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"refer-bet pending", "place-bet accepted"}, h.verdicts()); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
	if h.available() != "90.00 EUR" {
		t.Errorf("available: %s", h.available())
	}
}

// TestResolutions has every ruling, before and after the time is up.
func TestResolutions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		resolution acceptance.Resolution
		arrange    func(*house)
		verdict    acceptance.Verdict
		code       acceptance.Code
		detail     string
	}{
		{name: "approve", resolution: approving(), verdict: acceptance.Accepted},
		{name: "approve in the last instant", resolution: approving(), arrange: func(h *house) { h.wait(time.Minute - time.Microsecond) }, verdict: acceptance.Accepted},
		{name: "approve too late", resolution: approving(), arrange: func(h *house) { h.wait(time.Minute) }, verdict: acceptance.Rejected, code: acceptance.CodeReferralExpired},
		{name: "approve without funds", resolution: approving(), arrange: func(h *house) { h.put("wallet/ann", record{available: eur(h.t, "1.00")}) }, verdict: acceptance.Rejected, code: acceptance.CodeInsufficientFunds},
		{name: "approve at another price", resolution: approving(), arrange: func(h *house) { h.move("v2", "1.90") }, verdict: acceptance.Requoted},
		{name: "grant the requested price", resolution: acceptance.Resolution{Ruling: acceptance.Approve, By: "tess", GrantRequested: true}, arrange: func(h *house) { h.move("v2", "1.90") }, verdict: acceptance.Accepted},
		{name: "no grant for a suspended market", resolution: acceptance.Resolution{Ruling: acceptance.Approve, By: "tess", GrantRequested: true}, arrange: func(h *house) { quoted(func(q *acceptance.Quote) { q.Status = acceptance.MarketSuspended })(h, nil) }, verdict: acceptance.Rejected, code: acceptance.CodeMarketSuspended, detail: "legs[0]"},
		{name: "decline", resolution: acceptance.Resolution{Ruling: acceptance.Decline, By: "tess", Reason: "too much"}, verdict: acceptance.Rejected, code: acceptance.CodeReferralDeclined, detail: "too much"},
		{name: "decline too late", resolution: acceptance.Resolution{Ruling: acceptance.Decline, By: "tess", Reason: "too much"}, arrange: func(h *house) { h.wait(time.Hour) }, verdict: acceptance.Rejected, code: acceptance.CodeReferralExpired},
		{name: "expire too early", resolution: acceptance.Resolution{Ruling: acceptance.Expire}, verdict: acceptance.Pending},
		{name: "expire", resolution: acceptance.Resolution{Ruling: acceptance.Expire}, arrange: func(h *house) { h.wait(time.Minute) }, verdict: acceptance.Rejected, code: acceptance.CodeReferralExpired},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newReferringHouse(t)
			h.accept(single(t, "b1", "10.00"))
			if test.arrange != nil {
				test.arrange(h)
			}
			got := h.resolve("b1", test.resolution)
			if got.Verdict != test.verdict || got.Code != test.code || got.Detail != test.detail {
				t.Errorf("got %s %q %q, want %s %q %q", got.Verdict, got.Code, got.Detail, test.verdict, test.code, test.detail)
			}
			if got.Verdict == acceptance.Accepted && !got.Bet.Odds.Equal(odds(t, "2.00")) {
				t.Errorf("the bet stands at %s", got.Bet.Odds)
			}
			if again := h.accept(single(t, "b1", "10.00")); !again.Replayed || string(again.Receipt.Value) != string(got.Receipt.Value) {
				t.Errorf("the command's answer: %+v", again)
			}
		})
	}
}

// TestResolutionThatExpiresInTheQueue: the trader was in time, but the wallet
// was not free before the time was up.
func TestResolutionThatExpiresInTheQueue(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	h.accept(single(t, "b1", "10.00"))
	slow := h.config
	slow.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
		h.wait(time.Minute)
		return h.lockWallet(ctx, tx, c)
	}
	h.runner = h.newRunner(slow)
	got := h.resolve("b1", approving())
	if got.Verdict != acceptance.Rejected || got.Code != acceptance.CodeReferralExpired || len(h.bets()) != 0 {
		t.Errorf("decision: %+v, bets %v", got, h.bets())
	}
}

// TestApprovedBetKnowsItsResolution: a limit may yield to a trader's word.
func TestApprovedBetKnowsItsResolution(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	var heard []*acceptance.Resolution
	listening := h.config
	listening.Limits = func(_ context.Context, _ houseTx, p *acceptance.Proposal) (acceptance.Ruling, error) {
		heard = append(heard, p.Resolution)
		return acceptance.Ruling{}, nil
	}
	h.runner = h.newRunner(listening)
	h.accept(single(t, "b1", "10.00"))
	h.resolve("b1", approving())
	word := approving()
	if diff := cmp.Diff([]*acceptance.Resolution{&word}, heard); diff != "" {
		t.Errorf("Limits heard (-want +got):\n%s", diff)
	}
}

// TestResolutionKeepsWhatTheReferralKnew: the rules that had a say before it,
// and the command's canonical form, so that a conflict can still name fields.
func TestResolutionKeepsWhatTheReferralKnew(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	known := h.config
	barring := acceptance.RuleVersion{Name: "barring", Version: "2"}
	known.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
		return acceptance.Ruling{Rules: []acceptance.RuleVersion{barring}}, nil
	}
	known.Limits = h.limits
	h.runner = h.newRunner(known)
	h.accept(single(t, "b1", "10.00"))
	got := h.resolve("b1", approving())
	if diff := cmp.Diff([]acceptance.RuleVersion{barring, {Name: "stake", Version: "7"}}, got.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	_, err := h.runner.Accept(t.Context(), single(t, "b1", "11.00"))
	conflict, ok := errors.AsType[*receipt.ConflictError](err)
	if !ok || len(conflict.Paths) == 0 {
		t.Errorf("another command: %v, paths %v", err, conflict)
	}
}

// TestReferralExpiresWithTheNextAccept: nobody resolved, and the command comes
// again.
func TestReferralExpiresWithTheNextAccept(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	h.accept(single(t, "b1", "10.00"))
	h.wait(time.Minute)
	if _, err := h.runner.Accept(t.Context(), single(t, "b1", "11.00")); !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Errorf("another command: %v", err)
	}
	h.calls()
	got := h.accept(single(t, "b1", "10.00"))
	if got.Verdict != acceptance.Rejected || got.Code != acceptance.CodeReferralExpired || got.Replayed || len(h.calls()) != 0 {
		t.Errorf("decision: %+v", got)
	}
	if !got.ExpiresAt.IsZero() || got.Evidence == nil || got.Legs == nil || strings.Contains(string(got.Receipt.Value), `"command"`) {
		t.Errorf("what the rejection holds: %+v", got)
	}
	if again := h.accept(single(t, "b1", "10.00")); !again.Replayed || again.Code != acceptance.CodeReferralExpired {
		t.Errorf("replay: %+v", again)
	}
}

// TestLongestCommandIsReferred: every command that is valid fits into the
// receipt of its referral, whatever it is written with.
func TestLongestCommandIsReferred(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"<", `"`, "\u2028"} {
		h := newReferringHouse(t)
		c := single(t, "b1", "10.00")
		c.Type.Kind = acceptance.Accumulator
		leg := c.Legs[0]
		leg.Proof = strings.Repeat(character, acceptance.MaxProof/len(character))
		leg.Event = strings.Repeat(character, acceptance.MaxText/len(character))
		leg.Selection, leg.Line, leg.QuoteVersion = leg.Event, leg.Event, leg.Event
		c.Legs = nil
		for i := range acceptance.MaxLegs {
			leg.Market = fmt.Sprint(i)
			c.Legs = append(c.Legs, leg)
			h.put("market/"+leg.Market, record{quote: open(t, leg.QuoteVersion, "2.00")})
		}
		c.Funding = leg.Event
		c.Extra = json.RawMessage(`{"a":"` + strings.Repeat("<", acceptance.MaxExtra-8) + `"}`)
		if got := h.accept(c); got.Verdict != acceptance.Pending {
			t.Errorf("%q: %s", character, got.Verdict)
		}
		if got := h.resolve("b1", approving()); got.Verdict != acceptance.Accepted {
			t.Errorf("%q, resolved: %s %s", character, got.Verdict, got.Code)
		}
	}
}

// TestPendingOutlivesTheConfig: a build that refers nothing still answers what
// was referred.
func TestPendingOutlivesTheConfig(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	h.accept(single(t, "b1", "10.00"))
	bare := h.config
	bare.Risk, bare.Referral = acceptance.Risk{}, acceptance.Referral[houseTx]{}
	bare.UnorderedLegs = true
	h.runner = h.newRunner(bare)
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Pending {
		t.Errorf("meanwhile: %+v", got)
	}
	if got := h.resolve("b1", approving()); got.Verdict != acceptance.Accepted {
		t.Errorf("resolved: %+v", got)
	}
}

// TestReferralExpiresUnderAnotherSchema: the build that finds the time to be up
// makes its fingerprints in another way than the one that referred.
func TestReferralExpiresUnderAnotherSchema(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	h.accept(single(t, "b1", "10.00"))
	unordered := h.config
	unordered.UnorderedLegs = true
	h.runner = h.newRunner(unordered)
	h.wait(time.Minute)
	if _, err := h.runner.Accept(t.Context(), single(t, "b1", "11.00")); !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Errorf("another command: %v", err)
	}
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Rejected || got.Code != acceptance.CodeReferralExpired {
		t.Errorf("decision: %+v", got)
	}
	h.runner = h.newRunner(h.config)
	if again := h.accept(single(t, "b1", "10.00")); !again.Replayed || again.Code != acceptance.CodeReferralExpired {
		t.Errorf("replay: %+v", again)
	}
}

// TestResolveTakesNoPendingAnswer: the player asks again, and the trader's word
// joins that call's flight. What the player hears is no answer to the trader.
func TestResolveTakesNoPendingAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newReferringHouse(t)
		h.accept(single(t, "b1", "10.00"))
		release := make(chan struct{})
		busy := h.config
		busy.Risk.Assess = nil
		busy.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
			if c.ID == "other" {
				<-release
			}
			return h.lockWallet(ctx, tx, c)
		}
		h.runner = h.newRunner(busy)
		var all sync.WaitGroup
		all.Go(func() { h.accept(single(t, "other", "1.00")) })
		synctest.Wait()
		all.Go(func() {
			if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Pending {
				t.Errorf("the player: %+v", got)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if got := h.resolve("b1", approving()); got.Verdict != acceptance.Accepted || got.Replayed {
				t.Errorf("the trader: %+v", got)
			}
		})
		synctest.Wait()
		close(release)
		all.Wait()
	})
}

func TestResolveOfWhatWasNotReferred(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	if _, err := h.runner.Resolve(t.Context(), "shop", "ann", "b1", approving()); !errors.Is(err, acceptance.ErrNotPending) {
		t.Errorf("got %v, want ErrNotPending", err)
	}
	h.accept(single(t, "b1", "10.00"))
	if got := h.resolve("b1", approving()); !got.Replayed || got.Verdict != acceptance.Accepted {
		t.Errorf("of a decided command: %+v", got)
	}
}

func TestResolutionIsValidated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	for _, test := range []struct {
		resolution acceptance.Resolution
		want       []string
	}{
		{acceptance.Resolution{Ruling: "maybe", GrantRequested: true}, []string{"ruling", "by", "grant_requested"}},
		{acceptance.Resolution{Ruling: acceptance.Decline, By: "t\xff", Reason: "\xff"}, []string{"by", "reason"}},
	} {
		_, err := h.runner.Resolve(t.Context(), "shop", "ann", "b1", test.resolution)
		invalid, ok := errors.AsType[*acceptance.InvalidError](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		var fields []string
		for _, wrong := range invalid.Fields {
			fields = append(fields, wrong.Field)
		}
		if diff := cmp.Diff(test.want, fields); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	}
}

// TestConsentThatIsReferred: the referral uses the consent up, and its own
// resolution is no second consent.
func TestConsentThatIsReferred(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	referring := h.runner
	plain := h.config
	plain.Risk.Assess = nil
	h.runner = h.newRunner(plain)
	h.move("v2", "1.90")
	h.accept(single(t, "b1", "10.00"))
	h.runner = referring
	if got := h.accept(consenting(t, "b2", "b1", "v2", "1.90")); got.Verdict != acceptance.Pending {
		t.Fatalf("consent: %+v", got)
	}
	if _, err := h.runner.Accept(t.Context(), consenting(t, "b3", "b1", "v2", "1.90")); !errors.Is(err, acceptance.ErrConsentUsed) {
		t.Errorf("another consent: %v", err)
	}
	if got := h.accept(consenting(t, "b2", "b1", "v2", "1.90")); got.Verdict != acceptance.Pending {
		t.Errorf("meanwhile: %+v", got)
	}
	if got := h.resolve("b2", approving()); got.Verdict != acceptance.Accepted || got.Consents != "b1" {
		t.Errorf("resolved: %+v", got)
	}
}

// TestReferralUnderFaults: the pending fact and its resolution are each
// committed once, whatever becomes of an answer.
func TestReferralUnderFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []receipttest.Fault{
		receipttest.LoseAnswer, receipttest.UnknownThenFound, receipttest.UnknownThenNotFound,
		receipttest.UnknownThenRival, receipttest.RerunCallback, receipttest.RivalFirst,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			h := newReferringHouse(t, fault)
			if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Pending {
				t.Fatalf("pending: %+v", got)
			}
			if err := h.fake.Inject(fault); err != nil {
				t.Fatal(err)
			}
			if got := h.resolve("b1", approving()); got.Verdict != acceptance.Accepted {
				t.Errorf("resolved: %+v", got)
			}
			if diff := cmp.Diff([]string{"refer-bet pending", "place-bet accepted"}, h.verdicts()); diff != "" {
				t.Errorf("receipts (-want +got):\n%s", diff)
			}
			if h.available() != "90.00 EUR" || h.fake.Fired(fault) != 2 {
				t.Errorf("available %s, fault fired %d times", h.available(), h.fake.Fired(fault))
			}
		})
	}
}

// TestReferralExpiresInTheHousesCurrency: Events sees the stake as it was
// referred, whichever way the retry writes it.
func TestReferralExpiresInTheHousesCurrency(t *testing.T) {
	t.Parallel()
	registry, err := money.NewRegistry(money.Definition{Code: "POINTS", Scale: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := newReferringHouse(t)
	var told []string
	inPoints := h.config
	inPoints.Rules.Currencies = registry
	inPoints.Events = func(c *acceptance.Command, d *answer) ([]event.Event, error) {
		told = append(told, string(d.Verdict)+" "+c.Stake.String())
		return nil, nil
	}
	h.runner = h.newRunner(inPoints)
	command := single(t, "b1", "1.00")
	if err := command.Stake.UnmarshalJSON([]byte(`{"amount":"1.5","currency":"POINTS"}`)); err != nil {
		t.Fatal(err)
	}
	h.accept(command)
	h.wait(time.Minute)
	h.accept(command)
	if diff := cmp.Diff([]string{"pending 1.50 POINTS", "rejected 1.50 POINTS"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
