package acceptance_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
)

func mustFingerprint(tb testing.TB, c *acceptance.Command, unorderedLegs bool) fingerprint.Digest {
	tb.Helper()
	digest, err := c.Fingerprint(unorderedLegs)
	if err != nil {
		tb.Fatal(err)
	}
	return digest
}

// TestGoldenFingerprints pins digests that receipts out there hold. A
// difference is never mended here: it needs another version of the schema.
func TestGoldenFingerprints(t *testing.T) {
	t.Parallel()
	full, least, accumulator := fullCommand(t), leastCommand(t), leastCommand(t)
	legs(t, &accumulator, 2)
	accumulator.Type.Kind = acceptance.Accumulator
	slices.Reverse(accumulator.Legs)
	for name, golden := range map[string]struct {
		command            *acceptance.Command
		ordered, unordered string
	}{
		"full": {
			&full,
			"bet.command/1:295e7905c3fdd459ff849e55bf8a24c15532623be5876dd5ca62dbae886d79e6",
			"bet.command.unordered-legs/1:e6c1fb51a7d737eafbdb3361beededdc950dc923f49352037000ccabe61a046f",
		},
		"least": {
			&least,
			"bet.command/1:a2370fbc569809d4069ea2486afa59c41ddfcb5cf64ad1592b971c7ac22295f6",
			"bet.command.unordered-legs/1:7784baf0a5376455579ffdd12b8df34b68f70e2e02910f69da86cd5b3c2c5d14",
		},
		"accumulator": {
			&accumulator,
			"bet.command/1:d82772ade8fdf334e36aea59f0d9152760f1503a917b534e69f495cda9249bad",
			"bet.command.unordered-legs/1:fb53764efb4f011ee24c4ffb7acaa3a8efc1709570891e59b85d01145957e28d",
		},
	} {
		if got := mustFingerprint(t, golden.command, false).String(); got != golden.ordered {
			t.Errorf("%s, ordered: %s, want %s", name, got, golden.ordered)
		}
		if got := mustFingerprint(t, golden.command, true).String(); got != golden.unordered {
			t.Errorf("%s, unordered: %s, want %s", name, got, golden.unordered)
		}
	}
}

// TestGoldenCanonical pins one form itself, so that a changed digest can be
// traced to a field.
func TestGoldenCanonical(t *testing.T) {
	t.Parallel()
	c := leastCommand(t)
	got, err := c.Canonical(false)
	if err != nil {
		t.Fatal(err)
	}
	want := "\x01{s\x02ids\x05bet-1" +
		"s\x04legs[{s\x05events\amatch-1s\x06markets\x06winners\x04oddsd\x0521e-1s\rquote_versions\x02v1s\tselections\x04home}]" +
		"s\vodds_change{s\x06policys\x05exact}" +
		"s\x05stake{s\x06amountd\x031e1s\bcurrencys\x03EUR}" +
		"s\nstake_modes\x05total" +
		"s\x06tenants\x04shop" +
		"s\x04type{s\x04kinds\x06single}" +
		"s\x06wallets\x03w-7}"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
}

// TestEqualEffectsHaveEqualFingerprints lists what may be written in two ways.
func TestEqualEffectsHaveEqualFingerprints(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(a, b *acceptance.Command){
		"stake mode": func(_, b *acceptance.Command) { b.StakeMode = acceptance.StakeTotal },
		"policy":     func(_, b *acceptance.Command) { b.OddsChange.Policy = acceptance.OddsExact },
		"sizes":      func(_, b *acceptance.Command) { b.Type.Sizes = []int{} },
		"empty extra": func(_, b *acceptance.Command) {
			b.Extra = json.RawMessage{}
		},
		"extra": func(a, b *acceptance.Command) {
			a.Extra = json.RawMessage(`{"a":1.50,"b":["é",{}]}`)
			b.Extra = json.RawMessage(` { "b" : [ "\u00e9", {} ] , "a" : 15e-1 } `)
		},
		"odds": func(a, b *acceptance.Command) {
			a.Legs[0].Odds, b.Legs[0].Odds = oddsOf(t, "2.5"), oddsOf(t, "2.500")
		},
		"stake": func(a, b *acceptance.Command) {
			a.Stake, b.Stake = stakeOf(t, "10.5 PTS"), stakeOf(t, "10.500 PTS")
		},
		"proof": func(_, b *acceptance.Command) { b.Legs[0].Proof = "another" },
		"meta":  func(_, b *acceptance.Command) { b.Meta = map[string]string{"trace": "1"} },
	} {
		a, b := leastCommand(t), leastCommand(t)
		write(&a, &b)
		for _, c := range []*acceptance.Command{&a, &b} {
			if err := c.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, unordered := range []bool{false, true} {
			if first, second := mustFingerprint(t, &a, unordered), mustFingerprint(t, &b, unordered); first != second {
				t.Errorf("%s, unordered %t: %v and %v", name, unordered, first, second)
			}
		}
	}
}

func TestOrderOfLegs(t *testing.T) {
	t.Parallel()
	for _, kind := range []acceptance.BetKind{acceptance.Accumulator, acceptance.System} {
		c := fullCommand(t)
		c.Type = acceptance.BetType{Kind: kind}
		swapped := c
		swapped.Legs = slices.Clone(c.Legs)
		slices.Reverse(swapped.Legs)
		asWritten := slices.Clone(swapped.Legs)
		if mustFingerprint(t, &c, false) == mustFingerprint(t, &swapped, false) {
			t.Errorf("%s: the order does not count", kind)
		}
		if mustFingerprint(t, &c, true) != mustFingerprint(t, &swapped, true) {
			t.Errorf("%s: the order counts where it should not", kind)
		}
		if diff := cmp.Diff(asWritten, swapped.Legs); diff != "" {
			t.Errorf("%s: Fingerprint changed the command (-want +got):\n%s", kind, diff)
		}
	}
}

// TestEveryOrderOfLegs takes legs that differ in one field each, so that every
// field is needed to put them in order.
func TestEveryOrderOfLegs(t *testing.T) {
	t.Parallel()
	c := leastCommand(t)
	c.Type.Kind = acceptance.Accumulator
	leg := c.Legs[0]
	for _, change := range []func(l *acceptance.Leg){
		func(l *acceptance.Leg) { l.Event = "other" },
		func(l *acceptance.Leg) { l.Market = "other" },
		func(l *acceptance.Leg) { l.Selection = "other" },
		func(l *acceptance.Leg) { l.Line = "other" },
	} {
		other := leg
		change(&other)
		c.Legs = append(c.Legs, other)
	}
	ordered, unordered := map[fingerprint.Digest]bool{}, map[fingerprint.Digest]bool{}
	permute(c.Legs, func() {
		ordered[mustFingerprint(t, &c, false)] = true
		unordered[mustFingerprint(t, &c, true)] = true
	})
	if len(ordered) != 5*4*3*2 || len(unordered) != 1 {
		t.Errorf("%d fingerprints with order and %d without, want 120 and 1", len(ordered), len(unordered))
	}
}

// permute calls visit with legs in every order.
func permute(legs []acceptance.Leg, visit func()) {
	var from func(place int)
	from = func(place int) {
		if place == len(legs) {
			visit()
			return
		}
		for i := place; i < len(legs); i++ {
			legs[place], legs[i] = legs[i], legs[place]
			from(place + 1)
			legs[place], legs[i] = legs[i], legs[place]
		}
	}
	from(0)
}

// TestLegsWithoutOrderKeepTheirFields swaps one field of two legs: that is
// another bet in any order.
func TestLegsWithoutOrderKeepTheirFields(t *testing.T) {
	t.Parallel()
	seen := map[fingerprint.Digest]string{}
	for name, swap := range map[string]func(a, b *acceptance.Leg){
		"nothing":       func(_, _ *acceptance.Leg) {},
		"event":         func(a, b *acceptance.Leg) { a.Event, b.Event = b.Event, a.Event },
		"market":        func(a, b *acceptance.Leg) { a.Market, b.Market = b.Market, a.Market },
		"selection":     func(a, b *acceptance.Leg) { a.Selection, b.Selection = b.Selection, a.Selection },
		"line":          func(a, b *acceptance.Leg) { a.Line, b.Line = b.Line, a.Line },
		"quote version": func(a, b *acceptance.Leg) { a.QuoteVersion, b.QuoteVersion = b.QuoteVersion, a.QuoteVersion },
		"odds":          func(a, b *acceptance.Leg) { a.Odds, b.Odds = b.Odds, a.Odds },
	} {
		c := fullCommand(t)
		swap(&c.Legs[0], &c.Legs[1])
		digest := mustFingerprint(t, &c, true)
		if other, taken := seen[digest]; taken {
			t.Errorf("swapping %s and %s gives one fingerprint", name, other)
		}
		seen[digest] = name
	}
}

func TestFingerprintUnder(t *testing.T) {
	t.Parallel()
	c := fullCommand(t)
	ordered, unordered := mustFingerprint(t, &c, false), mustFingerprint(t, &c, true)
	if ordered.Schema() == unordered.Schema() {
		t.Errorf("both ways have the schema %v", ordered.Schema())
	}
	for _, want := range []fingerprint.Digest{ordered, unordered} {
		if got, err := c.FingerprintUnder(want.Schema()); err != nil || got != want {
			t.Errorf("under %v: %v, %v; want %v", want.Schema(), got, err, want)
		}
	}
	for _, unknown := range []fingerprint.Schema{
		{}, {Name: "bet.command", Version: 2}, {Name: "bet.command.unordered-legs", Version: 2}, {Name: "match.result", Version: 1},
	} {
		if got, err := c.FingerprintUnder(unknown); !errors.Is(err, fingerprint.ErrUnknownSchema) || !got.IsZero() {
			t.Errorf("under %v: %v, %v; want ErrUnknownSchema", unknown, got, err)
		}
	}
}

// TestCanonicalNamesDifferences holds the canonical form against the digest,
// and sees that it leads to the fields.
func TestCanonicalNamesDifferences(t *testing.T) {
	t.Parallel()
	a, b := fullCommand(t), fullCommand(t)
	b.Legs[1].Odds, b.Stake, b.Extra = oddsOf(t, "1.92"), stakeOf(t, "2.51 EUR"), json.RawMessage(`{"each_way":true,"note":"<b>&</b>"}`)
	b.Type.Sizes, b.OddsChange.WithinBasisPoints, b.Funding = []int{2}, 499, ""
	var forms [2][]byte
	for i, c := range []*acceptance.Command{&a, &b} {
		for _, unordered := range []bool{false, true} {
			form, err := c.Canonical(unordered)
			if err != nil {
				t.Fatal(err)
			}
			want := mustFingerprint(t, c, unordered)
			if got, err := fingerprint.OfCanonical(want.Schema(), form); err != nil || got != want {
				t.Errorf("digest of the form: %v, %v; want %v", got, err, want)
			}
			forms[i] = form
		}
	}
	paths, err := fingerprint.Diff(forms[0], forms[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"$.extra.each_way", "$.funding", "$.legs[1].odds", "$.odds_change.within_basis_points", "$.stake.amount", "$.type.sizes[1]",
	}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestFingerprintRefusesWhatHasNoForm(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(c *acceptance.Command){
		"text":  func(c *acceptance.Command) { c.Wallet = "\xff" },
		"extra": func(c *acceptance.Command) { c.Extra = json.RawMessage(`{"a":1,"a":1}`) },
	} {
		c := leastCommand(t)
		breakIt(&c)
		if got, err := c.Fingerprint(false); !errors.Is(err, fingerprint.ErrInvalidValue) {
			t.Errorf("%s: %v, %v; want ErrInvalidValue", name, got, err)
		}
		if got, err := c.Canonical(false); !errors.Is(err, fingerprint.ErrInvalidValue) {
			t.Errorf("%s: %q, %v; want ErrInvalidValue", name, got, err)
		}
	}
}
