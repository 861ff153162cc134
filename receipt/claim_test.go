package receipt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

func keyNamed(id string) receipt.Key {
	return receipt.Key{Tenant: "tenant", Scope: "bet", Operation: "place", ID: id}
}

// claimBeside returns a valid claim with that many keys beside.
func claimBeside(count int) receipt.Claim {
	claim := receipt.Claim{Key: keyNamed("own"), Attempt: "a1"}
	for i := range count {
		claim.Beside = append(claim.Beside, keyNamed(fmt.Sprintf("beside-%d", i)))
	}
	return claim
}

// wantNamed demands an error that names each of the rules, nil where there are
// none.
func wantNamed(t *testing.T, err error, rules ...string) {
	t.Helper()
	if len(rules) == 0 && err != nil {
		t.Errorf("error = %v, want none", err)
	}
	for _, rule := range rules {
		if err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("error = %v, want it to name %q", err, rule)
		}
	}
}

func TestClaimNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*receipt.Claim)
		rules []string
	}{
		"none":          {func(*receipt.Claim) {}, nil},
		"no key beside": {func(c *receipt.Claim) { c.Beside = nil }, nil},
		"serializable":  {func(c *receipt.Claim) { c.Isolation = receipt.Serializable }, nil},
		"all": {
			func(c *receipt.Claim) {
				*c = receipt.Claim{Revision: -1, Isolation: 9, LockTimeout: -2, Beside: make([]receipt.Key, 1)}
			},
			[]string{
				"tenant must not be empty", "revision must not be negative, is -1", "attempt must be set",
				"isolation must be ReadCommitted or Serializable, is 9", "lock timeout must not be negative, is -2ns",
				"key beside 1 of 1",
			},
		},
		"keys beside": {
			func(c *receipt.Claim) {
				c.Beside[0].ID = ""
				c.Beside[1].Tenant = "another"
				c.Beside[2] = c.Key
				c.Beside[4] = c.Beside[3]
			},
			[]string{
				"key beside 1 of 8, tenant/bet/place/: ", "id must not be empty",
				`key beside 2 of 8, another/bet/place/beside-1: must be of the claim's tenant "tenant"`,
				"key beside 3 of 8, tenant/bet/place/own: must not be the claim's own key",
				"key beside 5 of 8, tenant/bet/place/beside-3: must not stand twice",
			},
		},
		"too many": {
			func(c *receipt.Claim) { c.Beside = append(c.Beside, keyNamed("beside-8")) },
			[]string{"at most 8 keys beside its own, has 9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim := claimBeside(receipt.MaxBeside)
			test.spoil(&claim)
			wantNamed(t, claim.Validate(), test.rules...)
		})
	}
}

func TestClaimAdmitsItsReceiptsOnly(t *testing.T) {
	t.Parallel()
	claim := claimBeside(2)
	claim.Revision = 3
	own := full(t)
	own.Key, own.Revision, own.Attempt = claim.Key, claim.Revision, claim.Attempt
	first, second := own.Clone(), own.Clone()
	first.Key, first.Revision = claim.Beside[0], 0
	second.Key, second.Revision = claim.Beside[1], 0
	changed := func(r receipt.Receipt, change func(*receipt.Receipt)) receipt.Receipt {
		change(&r)
		return r
	}
	const notClaimed = "must be revision 3 of tenant/bet/place/own or the first receipt of a key beside it"
	for name, test := range map[string]struct {
		receipts []receipt.Receipt
		rules    []string
	}{
		"claimed":            {[]receipt.Receipt{own}, nil},
		"with those beside":  {[]receipt.Receipt{own, second, first}, nil},
		"one beside instead": {[]receipt.Receipt{second}, nil},
		"first of the claimed key": {
			[]receipt.Receipt{changed(own, func(r *receipt.Receipt) { r.Revision = 0 })},
			[]string{"receipt of tenant/bet/place/own, revision 0: " + notClaimed},
		},
		"correction of a key beside": {
			[]receipt.Receipt{own, changed(first, func(r *receipt.Receipt) { r.Revision = 3 })},
			[]string{"receipt of tenant/bet/place/beside-0, revision 3: " + notClaimed},
		},
		"another key": {
			[]receipt.Receipt{changed(first, func(r *receipt.Receipt) { r.Key.ID = "another" })},
			[]string{"receipt of tenant/bet/place/another, revision 0: " + notClaimed},
		},
		"twice, and of another attempt": {
			[]receipt.Receipt{own, first, changed(first, func(r *receipt.Receipt) { r.Attempt = "a2" })},
			[]string{"receipt of tenant/bet/place/beside-0, revision 0: must not stand twice", "attempt must be the claim's"},
		},
		"two that are invalid": {
			[]receipt.Receipt{
				changed(own, func(r *receipt.Receipt) { r.Outcome = "" }),
				changed(second, func(r *receipt.Receipt) { r.Requested = "" }),
			},
			[]string{"own, revision 3: receipt: invalid: outcome kind", "beside-1, revision 0: receipt: invalid: requested kind"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNamed(t, claim.CheckReceipts(test.receipts...), test.rules...)
		})
	}
}
