package receipttest

import (
	"strings"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

func keyDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"joined-keys", "keys that would be equal if their parts were joined are apart: neither waits for the other, and each has its own receipt (I10)",
			checkJoinedKeys[Tx],
		},
		{
			"similar-keys", "keys that differ in one part, by letter case, by spaces or by Unicode form are apart, whatever characters they hold (I10)",
			checkSimilarKeys[Tx],
		},
		{
			"long-keys", "a key whose parts are as long as they may be is kept whole",
			checkLongKeys[Tx],
		},
	}
}

func checkJoinedKeys[Tx any](t *trial[Tx]) {
	for _, separator := range []string{"", "/", ":", "|", ".", ",", "-", "_", " ", "%2F", "\\", "\"", "1"} {
		id := receipt.NewID()
		joined := "b" + separator + "c"
		t.checkApart(
			receipt.Key{Tenant: "a" + separator + "b", Scope: "c", Operation: "d", ID: id},
			receipt.Key{Tenant: "a", Scope: joined, Operation: "d", ID: id},
		)
		t.checkApart(
			receipt.Key{Tenant: id, Scope: "a" + separator + "b", Operation: "c", ID: "d"},
			receipt.Key{Tenant: id, Scope: "a", Operation: joined, ID: "d"},
		)
		t.checkApart(
			receipt.Key{Tenant: id, Scope: "s", Operation: "a" + separator + "b", ID: "c"},
			receipt.Key{Tenant: id, Scope: "s", Operation: "a", ID: joined},
		)
	}
}

func checkSimilarKeys[Tx any](t *trial[Tx]) {
	for _, change := range []func(*receipt.Key){
		func(k *receipt.Key) { k.Tenant = "tenant2" },
		func(k *receipt.Key) { k.Scope = "scope2" },
		func(k *receipt.Key) { k.Operation = "operation2" },
		func(k *receipt.Key) { k.ID += "2" },
		func(k *receipt.Key) { k.Tenant, k.Scope = k.Scope, k.Tenant },
		func(k *receipt.Key) { k.Tenant = "Tenant" },
		func(k *receipt.Key) { k.Tenant = "tenant " },
		func(k *receipt.Key) { k.Tenant = " tenant" },
		func(k *receipt.Key) { k.Tenant = "tenan_" },
		func(k *receipt.Key) { k.Tenant = "tenan%" },
		func(k *receipt.Key) { k.Tenant = "'; --" },
		func(k *receipt.Key) { k.Tenant = "\\x74656e616e74" },
		func(k *receipt.Key) { k.Tenant = "\U0001f3b2" },
	} {
		key := receipt.Key{Tenant: "tenant", Scope: "scope", Operation: "operation", ID: receipt.NewID()}
		similar := key
		change(&similar)
		t.checkApart(key, similar)
	}
	composed := receipt.Key{Tenant: "caf\u00e9", Scope: "scope", Operation: "operation", ID: receipt.NewID()}
	decomposed := composed
	decomposed.Tenant = "cafe\u0301"
	t.checkApart(composed, decomposed)
}

func checkLongKeys[Tx any](t *trial[Tx]) {
	longest := receipt.Key{
		Tenant:    strings.Repeat("t", event.MaxKeyPart),
		Scope:     strings.Repeat("s", event.MaxKeyPart),
		Operation: strings.Repeat("o", event.MaxKeyPart),
		ID:        receipt.NewID() + strings.Repeat("i", event.MaxKeyID-36),
	}
	similar := longest
	similar.ID = strings.TrimSuffix(longest.ID, "i") + "j"
	t.checkApart(longest, similar)
}

// checkApart demands that two keys, both new, have nothing to do with each
// other.
func (t *trial[Tx]) checkApart(one, other receipt.Key) {
	t.Helper()
	oneClaim, otherClaim := claimOn(one), claimOn(other)
	oneSession, otherSession := t.begin(oneClaim), t.beginFree(otherClaim)
	oneStored := t.commit(oneSession, receiptFor(t, oneClaim))
	t.wantHistory(other)
	otherStored := t.commit(otherSession, receiptFor(t, otherClaim))
	t.wantHistory(one, oneStored)
	t.wantHistory(other, otherStored)
	t.wantPrior(claimOn(one), &oneStored, &oneStored)
	t.wantPrior(claimOn(other), &otherStored, &otherStored)
}
