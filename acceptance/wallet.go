package acceptance

import "github.com/settleonce/settleonce/acceptance/money"

// Wallet is what LockWallet found.
type Wallet struct {
	// Available is what may still be staked from the command's funding
	// source. It must be set unless Refusal is.
	Available money.Amount
	// Refusal rejects the bet with this code: [CodeWalletUnknown],
	// [CodeWalletBlocked] or one of the caller's. Empty: bets may be placed.
	Refusal Code
}
