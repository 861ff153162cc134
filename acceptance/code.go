package acceptance

// Code says why a bet was rejected. It has 1 to 64 bytes of a-z, 0-9, '.', '-'
// and '_', beginning with a letter. The ones below are the runner's; a
// callback may return them or codes of its own.
type Code string

// The runner's codes.
const (
	// CodeNotAuthorized is for Authorize to return.
	CodeNotAuthorized Code = "not_authorized"

	// CodeRiskRefused: the evidence says no.
	CodeRiskRefused Code = "risk_refused"
	// CodeRiskReferred: the evidence asks for a trader, and nothing is
	// referred here.
	CodeRiskReferred Code = "risk_referred"
	// CodeRiskUnavailable: no evidence came in time, or none that is whole,
	// twice.
	CodeRiskUnavailable Code = "risk_unavailable"
	// CodeEvidenceExpired: the evidence had expired by the database's clock,
	// twice.
	CodeEvidenceExpired Code = "evidence_expired"
	// CodeEvidenceForeign: the evidence is for another request.
	CodeEvidenceForeign Code = "evidence_foreign"
	// CodeEvidenceVersion: the evidence's version is not admissible.
	CodeEvidenceVersion Code = "evidence_version"
	// CodeEvidenceFromFuture: the evidence was issued later than now.
	CodeEvidenceFromFuture Code = "evidence_from_future"

	// CodeWalletUnknown and CodeWalletBlocked are for LockWallet to return.
	CodeWalletUnknown Code = "wallet_unknown"
	CodeWalletBlocked Code = "wallet_blocked"
	// CodeCurrencyMismatch: the wallet is in another currency than the stake.
	CodeCurrencyMismatch Code = "currency_mismatch"
	// CodeInsufficientFunds: the wallet has less than the total stake available.
	CodeInsufficientFunds Code = "insufficient_funds"

	// CodeSelectionUnknown is for Quote to return.
	CodeSelectionUnknown Code = "selection_unknown"
	// CodeMarketSuspended and CodeMarketClosed: a market takes no bets.
	CodeMarketSuspended Code = "market_suspended"
	CodeMarketClosed    Code = "market_closed"
	// CodeCutOffPassed: a market's cut-off has passed by the database's clock.
	CodeCutOffPassed Code = "cut_off_passed"
	// CodeQuoteProofInvalid, CodeQuoteProofExpired and CodeQuoteProofStale are
	// for Quote to return where a signed quote does not hold.
	CodeQuoteProofInvalid Code = "quote_proof_invalid"
	CodeQuoteProofExpired Code = "quote_proof_expired"
	CodeQuoteProofStale   Code = "quote_proof_stale"

	// CodeLimitExceeded is for Limits to return.
	CodeLimitExceeded Code = "limit_exceeded"
	// CodeExposureExceeded is for Exposure to return.
	CodeExposureExceeded Code = "exposure_exceeded"

	// CodeReferralDeclined: the trader said no.
	CodeReferralDeclined Code = "referral_declined"
	// CodeReferralExpired: nobody decided in time.
	CodeReferralExpired Code = "referral_expired"
)

// RuleVersion is a versioned rule that had a say in a decision.
type RuleVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Ruling is what one step says. The zero Ruling lets the bet pass.
type Ruling struct {
	// Code rejects the bet. Empty lets it pass.
	Code Code
	// Detail says more of a rejection to people, such as the limit. It is
	// stored and answered: no secrets. At most 1024 bytes.
	Detail string
	// Rules are the versions of the rules that were applied. They are stored
	// with the decision, whichever it is.
	Rules []RuleVersion
}
