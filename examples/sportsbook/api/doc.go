// Package api is the sportsbook's interface over HTTP.
//
//	POST /bets                     place a bet under the Idempotency-Key
//	GET  /bets/{id}                its decision, as it is stored
//	GET  /bets/{id}/chain          the requotes and consents that it stands among
//	POST /bets/{id}/resolution     a trader's word on a bet that was referred
//	POST /bets/{id}/void           a trader voids a bet
//	POST /results                  a market's result: closes it, and its bets
//	GET  /wallets/{id}             available and held balances
//	GET  /markets, /markets/{id}   markets with their quotes
//	POST /markets/{id}/prices      a trader moves the quotes
//	POST /markets/{id}/suspension  a trader suspends the market
//	POST /markets/{id}/resumption  a trader lets it take bets again
//
// # Decisions
//
// The body of POST /bets is a [acceptance.Command] in JSON without its id,
// which is the Idempotency-Key, and without tenant and wallet, which are those of
// whoever is authenticated. Members that are there anyhow must say the same.
//
// The answer is a [Decision]. Its status depends on the verdict alone: 201 for an
// accepted bet, 202 for one that a trader must decide, 200 for a rejection or a
// requote, which are answers like any other and no errors. Everything in the
// body is the same, byte for byte, whenever the same command is sent again; the
// header [ReplayedHeader] alone tells a replay from the first answer. A pending
// decision is replayed until the final one has taken its place.
//
// # Problems
//
// Every other answer is a [Problem], whose type decides what a client may do.
// Status 503 is no refusal: the command may have been decided. The same must be
// sent again, with the same key, until there is a decision or a refusal.
//
// What traders do needs no key: a resolution, a void and a result have the
// effect that the first of them had, and say so when they come again; so do
// suspension and resumption. Moving prices sets them once more.
//
// # Who may do what
//
// A player has one wallet, and sees and bets with nothing else; a trader sees
// every wallet of the house, names one with the parameter "wallet" where a
// bet's id alone says too little, and bets with none. A house is one tenant:
// whoever belongs to another gets nothing of it, whatever it asks for (I10).
package api
