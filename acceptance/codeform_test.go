package acceptance_test

import (
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
)

func TestCodeValidate(t *testing.T) {
	t.Parallel()
	for _, good := range []acceptance.Code{
		"a", "z9", "house.limit-2_b", acceptance.Code(strings.Repeat("z", acceptance.MaxCode)),
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []acceptance.Code{
		"", "A", "9a", "_a", "-a", ".a", "a b", "a/b", "aB", "ä", "aä", "a\n", "a\xff", "a{", "a`",
		acceptance.Code(strings.Repeat("z", acceptance.MaxCode+1)),
	} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestCodeValidateSaysTheRule(t *testing.T) {
	t.Parallel()
	err := acceptance.Code("No Funds" + strings.Repeat("!", 100)).Validate()
	want := `acceptance: code must have 1 to 64 bytes of a-z, 0-9, '.', '-' and '_', beginning with a letter, is "No Funds` +
		strings.Repeat("!", 56) + `"…`
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v, want\n%s", err, want)
	}
}

// Every code of the runner has the form that it asks of others.
func TestRunnersCodes(t *testing.T) {
	t.Parallel()
	seen := make(map[acceptance.Code]bool)
	for _, code := range []acceptance.Code{
		acceptance.CodeNotAuthorized, acceptance.CodeRiskRefused, acceptance.CodeRiskReferred, acceptance.CodeRiskUnavailable,
		acceptance.CodeEvidenceExpired, acceptance.CodeEvidenceForeign, acceptance.CodeEvidenceVersion, acceptance.CodeEvidenceFromFuture,
		acceptance.CodeWalletUnknown, acceptance.CodeWalletBlocked, acceptance.CodeCurrencyMismatch, acceptance.CodeInsufficientFunds,
		acceptance.CodeSelectionUnknown, acceptance.CodeMarketSuspended, acceptance.CodeMarketClosed, acceptance.CodeCutOffPassed,
		acceptance.CodeQuoteProofInvalid, acceptance.CodeQuoteProofExpired, acceptance.CodeQuoteProofStale,
		acceptance.CodeLimitExceeded, acceptance.CodeExposureExceeded, acceptance.CodeReferralDeclined, acceptance.CodeReferralExpired,
	} {
		if err := code.Validate(); err != nil {
			t.Error(err)
		}
		if seen[code] {
			t.Errorf("%q stands for two reasons", code)
		}
		seen[code] = true
	}
}
