package acceptance_test

import (
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// TestNewNamesEveryWrongField: one error has them all, so that nobody mends a
// Config field by field.
func TestNewNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := acceptance.New(config{
		Isolation:   receipt.RepeatableRead,
		LockTimeout: -1, CommitTimeout: -1, ResolveTimeout: -1, MaxAttempts: -1,
		WalletConcurrency: -1,
		Fence:             7,
		Unreceipted:       []acceptance.Code{"fine", "Not Fine"},
		Referral:          acceptance.Referral[houseTx]{Lifetime: -1},
		Rules:             acceptance.Rules{MaxLegs: acceptance.MaxLegs + 1, MaxLines: -1, Kinds: []acceptance.BetKind{"double"}},
		Risk:              acceptance.Risk{CallTimeout: -1, TotalTimeout: -1, Skew: -1, Unavailable: 9},
	})
	if err == nil {
		t.Fatal("New took it")
	}
	for _, want := range []string{
		"Store must be set", "LockWallet must be set", "Quote must be set", "Place must be set",
		"Isolation must not be RepeatableRead: a locked but unchanged row would hide",
		"LockTimeout must not", "CommitTimeout must not", "ResolveTimeout must not", "MaxAttempts must not",
		"WalletConcurrency must not", "Fence must be", "Unreceipted[1] ", "Referral.Lifetime must not",
		"Rules.MaxLegs must be", "Rules.MaxLines must be", "Rules.Kinds[0] must be",
		"Risk.CallTimeout must not", "Risk.TotalTimeout must not", "Risk.Skew must not", "Risk.Unavailable must be",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q", want)
		}
	}
	if strings.Contains(err.Error(), "Unreceipted[0]") {
		t.Error("a sound code is called wrong")
	}
	t.Log(err)
}

// TestNewRefuses has each wrong field by itself.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		field  string
		change func(*config)
	}{
		{"Store", func(c *config) { c.Store = nil }},
		{"LockWallet", func(c *config) { c.LockWallet = nil }},
		{"Quote", func(c *config) { c.Quote = nil }},
		{"Place", func(c *config) { c.Place = nil }},
		{"Isolation", func(c *config) { c.Isolation = receipt.RepeatableRead }},
		{"Isolation", func(c *config) { c.Isolation = 9 }},
		{"Fence", func(c *config) { c.Fence = -1 }},
		{"FallbackRefer", func(c *config) { c.Risk.Unavailable = acceptance.FallbackRefer }},
		{"Rules.MaxLines", func(c *config) { c.Rules.MaxLines = acceptance.MaxLines + 1 }},
	} {
		t.Run(test.field, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			broken := h.config
			test.change(&broken)
			if _, err := acceptance.New(broken); err == nil || !strings.Contains(err.Error(), test.field) {
				t.Errorf("got %v, want an error on %s", err, test.field)
			}
		})
	}
}
