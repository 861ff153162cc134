package acceptance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
)

// generator makes commands from a seed. No two texts that it makes are equal.
type generator struct {
	tb     testing.TB
	random *rand.Rand
	texts  int
}

func newGenerator(tb testing.TB, seed uint64) *generator {
	tb.Helper()
	return &generator{tb: tb, random: rand.New(rand.NewPCG(seed, seed))}
}

func (g *generator) text() string {
	g.texts++
	return fmt.Sprintf("t%d", g.texts)
}

func (g *generator) odds() money.Odds {
	return oddsOf(g.tb, fmt.Sprintf("%d.%04d", 2+g.random.IntN(900_000), g.random.IntN(10_000)))
}

func (g *generator) stake() money.Amount {
	return stakeOf(g.tb, fmt.Sprintf("%d.%02d EUR", 1+g.random.IntN(1e12), g.random.IntN(100)))
}

func (g *generator) leg() acceptance.Leg {
	return acceptance.Leg{
		Event: g.text(), Market: g.text(), Selection: g.text(), Line: g.text(),
		QuoteVersion: g.text(), Odds: g.odds(), Proof: g.text(),
	}
}

// command makes a valid system of four to ten legs with every field set.
func (g *generator) command() acceptance.Command {
	c := acceptance.Command{
		Tenant: g.text(), Wallet: g.text(), ID: g.text(),
		Type:       acceptance.BetType{Kind: acceptance.System, Sizes: []int{2, 3}},
		Stake:      g.stake(),
		StakeMode:  acceptance.StakePerLine,
		OddsChange: acceptance.OddsChange{Policy: acceptance.OddsAny, WithinBasisPoints: 1 + g.random.IntN(9_000)},
		Funding:    g.text(), Consents: g.text(),
		Extra: json.RawMessage(`{"note":"` + g.text() + `"}`),
		Meta:  map[string]string{g.text(): g.text()},
	}
	for range 4 + g.random.IntN(7) {
		c.Legs = append(c.Legs, g.leg())
	}
	return c
}

func (g *generator) someLeg(c *acceptance.Command) *acceptance.Leg {
	return &c.Legs[g.random.IntN(len(c.Legs))]
}

// changes says of every field that counts how another value is put there. The
// command stays valid. The key is the field's path in Go.
func (g *generator) changes() map[string]func(c *acceptance.Command) {
	return map[string]func(c *acceptance.Command){
		"Tenant": func(c *acceptance.Command) { c.Tenant = g.text() },
		"Wallet": func(c *acceptance.Command) { c.Wallet = g.text() },
		"ID":     func(c *acceptance.Command) { c.ID = g.text() },

		"Legs.Event":        func(c *acceptance.Command) { g.someLeg(c).Event = g.text() },
		"Legs.Market":       func(c *acceptance.Command) { g.someLeg(c).Market = g.text() },
		"Legs.Selection":    func(c *acceptance.Command) { g.someLeg(c).Selection = g.text() },
		"Legs.Line":         func(c *acceptance.Command) { g.someLeg(c).Line = "" },
		"Legs.QuoteVersion": func(c *acceptance.Command) { g.someLeg(c).QuoteVersion = g.text() },
		"Legs.Odds": func(c *acceptance.Command) {
			leg := g.someLeg(c)
			leg.Odds = oddsOf(g.tb, leg.Odds.Decimal().String()+"1") // the least digit more
		},

		"Type.Kind":  func(c *acceptance.Command) { c.Type = acceptance.BetType{Kind: acceptance.Accumulator} },
		"Type.Sizes": func(c *acceptance.Command) { c.Type.Sizes = []int{2, 4} },
		"Stake": func(c *acceptance.Command) {
			c.Stake = stakeOf(g.tb, c.Stake.Decimal().String()+[]string{" USD", " GBP", " CHF"}[g.random.IntN(3)])
		},
		"StakeMode":                    func(c *acceptance.Command) { c.StakeMode = "" },
		"OddsChange.Policy":            func(c *acceptance.Command) { c.OddsChange = acceptance.OddsChange{Policy: acceptance.OddsBetter} },
		"OddsChange.WithinBasisPoints": func(c *acceptance.Command) { c.OddsChange.WithinBasisPoints++ },
		"Funding":                      func(c *acceptance.Command) { c.Funding = "" },
		"Consents":                     func(c *acceptance.Command) { c.Consents = "" },
		"Extra":                        func(c *acceptance.Command) { c.Extra = json.RawMessage(`{"note":["` + g.text() + `"]}`) },
	}
}

// without says of every field that does not count how it is changed.
func (g *generator) without() map[string]func(c *acceptance.Command) {
	return map[string]func(c *acceptance.Command){
		"Meta":       func(c *acceptance.Command) { c.Meta = map[string]string{g.text(): g.text()} },
		"Legs.Proof": func(c *acceptance.Command) { g.someLeg(c).Proof = g.text() },
	}
}

// fields returns the paths of the fields that count and of those that are
// tagged not to, down to types of other packages.
func fields(t reflect.Type, path string) (counted, uncounted []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name := path + field.Name
		inner := field.Type
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner = inner.Elem()
		}
		switch {
		case field.Tag.Get("fingerprint") == "-":
			uncounted = append(uncounted, name)
		case inner.Kind() == reflect.Struct && inner.PkgPath() == t.PkgPath():
			more, moreUncounted := fields(inner, name+".")
			counted, uncounted = append(counted, more...), append(uncounted, moreUncounted...)
		default:
			counted = append(counted, name)
		}
	}
	return counted, uncounted
}

// TestEveryFieldIsDecidedUpon fails where a field was added and nobody said
// whether it changes the effect.
func TestEveryFieldIsDecidedUpon(t *testing.T) {
	t.Parallel()
	counted, uncounted := fields(reflect.TypeFor[acceptance.Command](), "")
	g := newGenerator(t, 1)
	for name, check := range map[string]struct {
		fields  []string
		changes map[string]func(c *acceptance.Command)
	}{"counted": {counted, g.changes()}, "not counted": {uncounted, g.without()}} {
		slices.Sort(check.fields)
		if diff := cmp.Diff(check.fields, slices.Sorted(maps.Keys(check.changes))); diff != "" {
			t.Errorf("fields %s (-in the type +changed by the test):\n%s", name, diff)
		}
	}
}

// TestOneChangeGivesAnotherFingerprint makes ten thousand commands, and of each
// one that differs in a single field that counts. No two of them all have one
// fingerprint, whether the order of legs counts or not.
func TestOneChangeGivesAnotherFingerprint(t *testing.T) {
	t.Parallel()
	const commands = 10_000
	g := newGenerator(t, 7)
	changes := g.changes()
	names := slices.Sorted(maps.Keys(changes))
	for _, unordered := range []bool{false, true} {
		seen := map[fingerprint.Digest]string{}
		check := func(c *acceptance.Command, name string) {
			digest := mustFingerprint(t, c, unordered)
			if other, taken := seen[digest]; taken {
				t.Fatalf("%s and %s have one fingerprint, unordered %t", name, other, unordered)
			}
			seen[digest] = name
		}
		for i := range commands {
			original := g.command()
			check(&original, fmt.Sprintf("command %d", i))
			name := names[i%len(names)]
			changed := original
			changed.Legs = slices.Clone(original.Legs)
			changes[name](&changed)
			check(&changed, fmt.Sprintf("command %d with another %s", i, name))
			if i < 10*len(names) { // The rules are the same in all the others.
				if err := changed.Validate(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		if len(seen) != 2*commands {
			t.Errorf("%d fingerprints of %d commands", len(seen), 2*commands)
		}
	}
}

func TestWhatDoesNotCountChangesNoFingerprint(t *testing.T) {
	t.Parallel()
	g := newGenerator(t, 8)
	for name, change := range g.without() {
		for range 500 {
			original := g.command()
			changed := original
			changed.Legs = slices.Clone(original.Legs)
			change(&changed)
			if cmp.Equal(original, changed) {
				t.Fatalf("%s was not changed", name)
			}
			for _, unordered := range []bool{false, true} {
				if mustFingerprint(t, &original, unordered) != mustFingerprint(t, &changed, unordered) {
					t.Fatalf("%s changes the fingerprint", name)
				}
			}
		}
	}
}
