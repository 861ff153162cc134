// Package exposure bounds what the house may lose on a selection.
//
// The worst case of a bet is its payout less its stake, and counts in full
// against each of its selections: what other selections bring in is not set
// against it. That is more than the house can lose, never less.
//
// # Stripes
//
// One row with the sum of a selection would be held by each bet until its
// commit is on disk, and all bets on it would commit one after the other. So
// the limit of a selection is cut into stripes, each with its own part of the
// limit and its own sum, and each wallet has a home among them. No stripe
// passes its part, so all together do not pass the limit, and no bet has to
// look at all of them.
//
// Where the home stripe has too little room, the bet takes the rest from the
// ones that follow. So a bet is refused only if all stripes together have too
// little room for it.
package exposure

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/settleonce/settleonce/acceptance/money"
)

// RuleVersion is the version of the rule above. It is stored with decisions.
const RuleVersion = "striped-worst-case-1"

// Selection is what a limit is about.
type Selection struct {
	Market    string `json:"market"`
	Selection string `json:"selection"`
}

// Stripe is one part of the limit of a selection in one currency.
type Stripe struct {
	Selection
	Number int `json:"stripe"`
	// Limit is the stripe's part of the limit, Taken what bets have of it.
	Limit money.Amount `json:"limit"`
	Taken money.Amount `json:"taken"`
}

// Room returns what is left of the stripe.
func (s Stripe) Room() (money.Amount, error) { return s.Limit.Sub(s.Taken) }

// Take takes a whole amount from the stripe. It returns false where there is
// too little room.
func (s Stripe) Take(amount money.Amount) (take Take, fits bool, err error) {
	take, err = s.take(amount)
	if err != nil {
		return Take{}, false, fmt.Errorf("exposure: %w", err)
	}
	return take, take.Amount.Equal(amount), nil
}

// Take is what one bet has of one stripe.
type Take struct {
	Selection
	Number int          `json:"stripe"`
	Amount money.Amount `json:"amount"`
}

// Home says which stripes are a wallet's.
type Home struct {
	Wallet   string
	Currency money.Currency
}

// Number spreads wallets over a number of at least 2^31. A wallet's home among
// n stripes is this modulo n. Do not change: processes of all releases must
// agree, or wallets would have two homes while they are replaced.
func (h Home) Number() int64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(h.Wallet)) // never fails
	return int64(sum.Sum32())
}

// Cut cuts a limit into stripes, as evenly as the minor units of its currency
// go.
func Cut(currencies *money.Registry, limit money.Amount, stripes int) ([]money.Amount, error) {
	units, err := limit.MinorUnits()
	if err != nil {
		return nil, fmt.Errorf("exposure: limit: %w", err)
	}
	if units < 0 {
		return nil, fmt.Errorf("exposure: limit must not be negative, is %s", limit)
	}
	if stripes < 1 {
		return nil, fmt.Errorf("exposure: stripes must be 1 or more, is %d", stripes)
	}
	parts := make([]money.Amount, stripes)
	share, rest := units/int64(stripes), units%int64(stripes)
	for i := range parts {
		part := share
		if int64(i) < rest {
			part++
		}
		if parts[i], err = currencies.FromMinor(part, limit.Currency().Code()); err != nil {
			return nil, fmt.Errorf("exposure: limit: %w", err)
		}
	}
	return parts, nil
}

// Spread takes an amount from the stripes of one selection, beginning with the
// home of the wallet. It returns takes by stripe, and false where all stripes
// together have too little room. The stripes must be by number, from 0 on.
func Spread(stripes []Stripe, home Home, amount money.Amount) (takes []Take, fits bool, err error) {
	left := amount
	for i := range stripes {
		stripe := stripes[(home.Number()+int64(i))%int64(len(stripes))]
		take, err := stripe.take(left)
		if err != nil {
			return nil, false, fmt.Errorf("exposure: %w", err)
		}
		if take.Amount.Sign() > 0 {
			takes = append(takes, take)
		}
		if left, err = left.Sub(take.Amount); err != nil {
			return nil, false, fmt.Errorf("exposure: %w", err)
		}
		if left.Sign() == 0 {
			SortTakes(takes)
			return takes, true, nil
		}
	}
	return nil, false, nil
}

// take takes as much of an amount as there is room for.
func (s Stripe) take(amount money.Amount) (Take, error) {
	room, err := s.Room()
	if err != nil {
		return Take{}, err
	}
	if room.Sign() < 0 {
		if room, err = room.Times(0); err != nil {
			return Take{}, err
		}
	}
	order, err := room.Cmp(amount)
	if err != nil {
		return Take{}, err
	}
	if order > 0 {
		room = amount
	}
	return Take{s.Selection, s.Number, room}, nil
}

// SortTakes sorts takes in the order in which their stripes are locked.
func SortTakes(takes []Take) {
	slices.SortFunc(takes, func(a, b Take) int {
		return cmp.Or(
			cmp.Compare(a.Market, b.Market),
			cmp.Compare(a.Selection.Selection, b.Selection.Selection),
			cmp.Compare(a.Number, b.Number))
	})
}
