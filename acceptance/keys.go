package acceptance

import "github.com/settleonce/settleonce/receipt"

// Operations of the keys. They are stored: do not change.
const (
	operationPlace   = "place-bet"
	operationRefer   = "refer-bet"
	operationConsent = "consent-to-requote"
	operationClose   = "close-bet"
)

// requestedKind is the requested kind of every receipt of a command.
const requestedKind receipt.Kind = "bet"

// PlacingKey returns the key under which a command is decided.
func PlacingKey(tenant, wallet, id string) receipt.Key {
	return receipt.Key{Tenant: tenant, Scope: wallet, Operation: operationPlace, ID: id}
}

// ReferralKey returns the key of the fact that a command was referred.
func ReferralKey(tenant, wallet, id string) receipt.Key {
	return receipt.Key{Tenant: tenant, Scope: wallet, Operation: operationRefer, ID: id}
}

// ConsentKey returns the key of the consent to the requote of a command.
func ConsentKey(tenant, wallet, id string) receipt.Key {
	return receipt.Key{Tenant: tenant, Scope: wallet, Operation: operationConsent, ID: id}
}

// ClosingKey returns the one key under which an accepted bet is settled or
// voided, so that the two exclude each other (I1).
func ClosingKey(tenant, wallet, id string) receipt.Key {
	return receipt.Key{Tenant: tenant, Scope: wallet, Operation: operationClose, ID: id}
}
