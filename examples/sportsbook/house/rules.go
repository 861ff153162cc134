package house

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
)

// check says what the house does not take, beside the rules of every command.
func (h *House) check(c *acceptance.Command) []acceptance.FieldError {
	var wrong []acceptance.FieldError
	if c.Tenant != h.tenant {
		wrong = append(wrong, acceptance.FieldError{Field: "tenant", Rule: fmt.Sprintf("must be %q, is %q", h.tenant, c.Tenant)})
	}
	if c.Funding != "" {
		wrong = append(wrong, acceptance.FieldError{Field: "funding", Rule: fmt.Sprintf("must be empty: there is cash only, is %q", c.Funding)})
	}
	if len(c.Extra) > 0 {
		wrong = append(wrong, acceptance.FieldError{Field: "extra", Rule: "must be empty: nothing else changes a bet here"})
	}
	first := make(map[string]int)
	for i, leg := range c.Legs {
		if other, twice := first[leg.Market]; twice {
			wrong = append(wrong, acceptance.FieldError{
				Field: fmt.Sprintf("legs[%d].market", i), Rule: fmt.Sprintf("must not be that of legs[%d]: their outcomes hang together", other),
			})
			continue
		}
		first[leg.Market] = i
	}
	return wrong
}

// authorize refuses players who are barred.
func (h *House) authorize(ctx context.Context, c *acceptance.Command) (acceptance.Ruling, error) {
	barred, err := h.books.Barred(ctx, c.Wallet)
	if err != nil {
		return acceptance.Ruling{}, fmt.Errorf("house: %w", err)
	}
	if barred {
		return acceptance.Ruling{Code: acceptance.CodeNotAuthorized, Detail: "the player is barred"}, nil
	}
	return acceptance.Ruling{}, nil
}
