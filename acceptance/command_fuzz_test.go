package acceptance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
)

// FuzzCommandJSON reads any text. What is accepted has one meaning: encoding/json,
// lenient as it is, sees the same command.
func FuzzCommandJSON(f *testing.F) {
	for _, text := range []string{
		fullJSON, leastJSON, `{}`, `{"legs":[{}],"type":{"kind":"system","sizes":[1]}}`,
		`{"stake":{"amount":"1.50","currency":"PTS"},"extra":{"a":[1e5,"\ud83d\ude00"]}}`,
		`{"odds_change":{"policy":"any","within_basis_points":-0}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := fullCommand(t)
		read := before
		if err := read.UnmarshalJSON(text); err != nil {
			if len(wrongFields(t, err)) == 0 {
				t.Errorf("%v names no field", err)
			}
			if diff := cmp.Diff(before, read); diff != "" {
				t.Errorf("the command changed (-want +got):\n%s", diff)
			}
			return
		}
		checkAgainstStandardLibrary(t, text, read)
		checkRoundTrip(t, &read)
	})
}

func checkAgainstStandardLibrary(t *testing.T, text []byte, read acceptance.Command) {
	t.Helper()
	type lenient acceptance.Command // without the strict method
	var reference lenient
	if err := json.Unmarshal(text, &reference); err != nil {
		t.Fatalf("accepted, encoding/json says %v", err)
	}
	var extra bytes.Buffer
	if len(reference.Extra) > 0 {
		if err := json.Compact(&extra, reference.Extra); err != nil {
			t.Fatal(err)
		}
		reference.Extra = extra.Bytes()
	}
	if diff := cmp.Diff(acceptance.Command(reference), read, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("encoding/json sees another command (-encoding/json +got):\n%s", diff)
	}
}

// checkRoundTrip checks that what is valid comes back from JSON as it was.
func checkRoundTrip(t *testing.T, c *acceptance.Command) {
	t.Helper()
	text, err := c.MarshalJSON()
	if err != nil {
		if c.Validate() == nil {
			t.Errorf("a valid command has no JSON: %v", err)
		}
		return
	}
	var again acceptance.Command
	if err := again.UnmarshalJSON(text); err != nil {
		t.Fatalf("%s is not read back: %v", text, err)
	}
	if mustFingerprint(t, c, false) != mustFingerprint(t, &again, false) {
		t.Errorf("%s has another fingerprint than before", text)
	}
	twice, err := again.MarshalJSON()
	if err != nil || !bytes.Equal(text, twice) {
		t.Errorf("written again (-want +got, %v):\n%s", err, cmp.Diff(string(text), string(twice)))
	}
}

// FuzzCommand checks that a valid command has a fingerprint, a number of lines,
// a total stake and a JSON form, whatever is in it.
func FuzzCommand(f *testing.F) {
	f.Add("shop", "w", "1", "e", "m", "2.5", "single", []byte(nil), "10.00 EUR", "1.5", "total", "exact", 0, "", "", []byte(`{"a":1}`))
	f.Add("shop", "w", "1", "e", "m", "", "system", []byte{2, 3}, "10.5 PTS", "999.99", "per_line", "any", 100, "bonus", "0", []byte(nil))
	f.Add("", "\xff", "\x00", "", "", "", "accumulator", []byte{0}, "", "", "", "", -1, "", "", []byte(`[`))
	f.Fuzz(func(t *testing.T, tenant, wallet, id, event, market, line, kind string, sizes []byte, stake, odds, mode, policy string, within int, funding, consents string, extra []byte) {
		c := acceptance.Command{
			Tenant: tenant, Wallet: wallet, ID: id, Consents: consents, Funding: funding,
			Type: acceptance.BetType{Kind: acceptance.BetKind(kind)}, StakeMode: acceptance.StakeMode(mode),
			OddsChange: acceptance.OddsChange{Policy: acceptance.OddsPolicy(policy), WithinBasisPoints: within},
			Extra:      extra,
			Meta:       map[string]string{market: line},
		}
		if err := c.Stake.UnmarshalText([]byte(stake)); err != nil {
			c.Stake = money.Amount{}
		}
		leg := acceptance.Leg{Event: event, Market: market, Selection: line + "-", Line: line, QuoteVersion: id, Proof: funding}
		if parsed, err := money.ParseOdds(odds); err == nil {
			leg.Odds = parsed
		}
		c.Legs = append(c.Legs, leg)
		for _, size := range sizes {
			c.Type.Sizes = append(c.Type.Sizes, int(size))
			leg.Event += "+"
			c.Legs = append(c.Legs, leg)
		}
		if err := c.Validate(); err != nil {
			if !errors.Is(err, acceptance.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			checkRoundTrip(t, &c)
			return
		}
		mustFingerprint(t, &c, true)
		if lines := c.Lines(); lines < 1 || lines > acceptance.MaxLines {
			t.Errorf("%d lines", lines)
		}
		if total, err := c.TotalStake(); err != nil || total.Sign() <= 0 {
			t.Errorf("total stake %v, %v", total, err)
		}
		checkRoundTrip(t, &c)
	})
}
