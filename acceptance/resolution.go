package acceptance

// TraderRuling is what a trader says of a referred command.
type TraderRuling string

// What a trader may say.
const (
	// Approve goes through all further steps: wallet, quote, limits, funds,
	// exposure. They may still reject or requote.
	Approve TraderRuling = "approve"
	// Decline rejects the command with [CodeReferralDeclined].
	Decline TraderRuling = "decline"
	// Expire rejects the command with [CodeReferralExpired] if its time is up, and
	// leaves it pending otherwise.
	Expire TraderRuling = "expire"
)

// Resolution is a trader's word on a referred command.
type Resolution struct {
	// Ruling must be set.
	Ruling TraderRuling `json:"ruling"`
	// By says who decided. It must be set unless the ruling is [Expire], and
	// has at most [MaxText] bytes of UTF-8.
	By string `json:"by,omitempty"`
	// Reason is stored and answered. At most [MaxDetail] bytes of
	// UTF-8.
	Reason string `json:"reason,omitempty"`
	// GrantRequested lets an approved bet stand at the requested odds whatever
	// the quote is now. Suspension, closure and cut-off still reject it.
	GrantRequested bool `json:"grant_requested,omitempty"`
}
