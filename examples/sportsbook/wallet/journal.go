package wallet

import (
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance/money"
)

// ErrUnbalanced is true for a transaction whose entries do not sum to zero in
// each currency.
var ErrUnbalanced = errors.New("wallet: the transaction does not balance")

// AccountKind says what an account is for.
type AccountKind string

// The kinds of accounts.
const (
	// Available and Held are a player's.
	Available AccountKind = "available"
	Held      AccountKind = "held"
	// House is the bookmaker's. It has no owner.
	House AccountKind = "house"
	// Outside is where deposits come from. It has no owner.
	Outside AccountKind = "outside"
)

// Account is where money is.
type Account struct {
	Kind AccountKind `json:"kind"`
	// Wallet owns the account. Empty for [House] and [Outside].
	Wallet string `json:"wallet,omitempty"`
}

// Entry is what a transaction does to one account. A negative amount leaves it.
type Entry struct {
	Account Account      `json:"account"`
	Amount  money.Amount `json:"amount"`
}

// Movement says why money moves.
type Movement string

// The movements.
const (
	// Deposit: from outside to available.
	Deposit Movement = "deposit"
	// Stake: from available to held.
	Stake Movement = "stake"
	// Settlement: the stake from held to the house, and what was won from
	// the house to available.
	Settlement Movement = "settlement"
	// Void: the stake from held back to available.
	Void Movement = "void"
)

// Transaction is one movement in the journal. Its entries sum to zero in each
// currency.
type Transaction struct {
	ID       string   `json:"transaction"`
	Movement Movement `json:"movement"`
	// Wallet is whose it is, Bet the bet that it is about. Bet is empty for a
	// deposit.
	Wallet string `json:"wallet"`
	Bet    string `json:"bet,omitempty"`
	// Attempt is the run that wrote it. The receipt that names the same one
	// stands for it. Empty for a deposit.
	Attempt string  `json:"attempt,omitempty"`
	Entries []Entry `json:"entries"`
}

// Check reports whether the transaction balances. errors.Is(err,
// [ErrUnbalanced]) is true where it does not.
func (t Transaction) Check() error {
	sums, err := SumByCurrency(t.Entries)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnbalanced, t.ID, err)
	}
	for _, sum := range sums {
		if sum.Sign() != 0 {
			return fmt.Errorf("%w: %s has %s too much", ErrUnbalanced, t.ID, sum)
		}
	}
	return nil
}

// SumByCurrency returns what the entries come to, by the currency's code. An
// amount that is not set is an error.
func SumByCurrency(entries []Entry) (map[string]money.Amount, error) {
	sums := make(map[string]money.Amount)
	for _, entry := range entries {
		code := entry.Amount.Currency().Code()
		if _, begun := sums[code]; !begun {
			nothing, err := entry.Amount.Times(0)
			if err != nil {
				return nil, fmt.Errorf("wallet: %w", err)
			}
			sums[code] = nothing
		}
		sum, err := sums[code].Add(entry.Amount)
		if err != nil {
			return nil, fmt.Errorf("wallet: %w", err)
		}
		sums[code] = sum
	}
	return sums, nil
}

// Change is what a transaction does to the two accounts of its wallet in one
// currency.
type Change struct {
	Available money.Amount
	Held      money.Amount
}

// Changes returns what the transaction does to the wallet that it names, one
// change a currency, in the order in which the currencies come up.
func (t Transaction) Changes() ([]Change, error) {
	var changes []Change
	index := make(map[string]int)
	for _, entry := range t.Entries {
		if entry.Account.Wallet != t.Wallet {
			continue
		}
		code := entry.Amount.Currency().Code()
		at, begun := index[code]
		if !begun {
			nothing, err := entry.Amount.Times(0)
			if err != nil {
				return nil, err
			}
			at = len(changes)
			index[code] = at
			changes = append(changes, Change{nothing, nothing})
		}
		if err := changes[at].add(entry); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func (c *Change) add(entry Entry) (err error) {
	switch entry.Account.Kind {
	case Available:
		c.Available, err = c.Available.Add(entry.Amount)
	case Held:
		c.Held, err = c.Held.Add(entry.Amount)
	default:
		err = fmt.Errorf("wallet: an account of kind %q has no owner", entry.Account.Kind)
	}
	return err
}
