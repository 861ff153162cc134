package quotetoken

import (
	"errors"
	"fmt"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
)

var (
	// ErrInvalid is true for a token that proves nothing: it is missing, not
	// in the form, by a key that is not known, changed, for another tenant or
	// leg, or from the future. The same token is refused again, unless it was
	// from the future or its key becomes known.
	ErrInvalid = errors.New("quotetoken: invalid token")
	// ErrExpired is true for a token that proves an offer which has ended.
	ErrExpired = errors.New("quotetoken: the quote has expired")
	// ErrStale is true for a token that proves an offer which stands, by a look
	// at the market that is too long ago. A fresh token may hold.
	ErrStale = errors.New("quotetoken: the quote is stale")
	// ErrClaims is true for claims that break a rule. Nothing was signed.
	ErrClaims = errors.New("quotetoken: invalid claims")
)

// Refusal returns the code with which a bet is rejected for an error of
// [Verifier.Verify]: [acceptance.CodeQuoteProofInvalid] for [ErrInvalid],
// [acceptance.CodeQuoteProofExpired] for [ErrExpired], and
// [acceptance.CodeQuoteProofStale] for [ErrStale]. It returns false for nil and for
// every other error: those say nothing of the token, and decide no bet.
func Refusal(err error) (acceptance.Code, bool) {
	switch {
	case errors.Is(err, ErrInvalid):
		return acceptance.CodeQuoteProofInvalid, true
	case errors.Is(err, ErrExpired):
		return acceptance.CodeQuoteProofExpired, true
	case errors.Is(err, ErrStale):
		return acceptance.CodeQuoteProofStale, true
	default:
		return "", false
	}
}

// configError joins the broken rules of a Config, of which there may be none.
func configError(config string, broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("quotetoken: %s: %s", config, strings.Join(broken, "; "))
}
