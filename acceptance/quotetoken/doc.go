// Package quotetoken signs quotes and checks them, for markets whose state
// another writer owns.
//
// Where the house's own database holds a market, a bet reads it under a guard
// and no suspension commits before the bet does. Where another system owns it,
// no lock reaches that far: what was read over a network may have changed
// before the answer is here. A [Signer] in the owner's system then states "this
// market was in this state when my clock showed t", and a [Verifier] in the
// Quote callback takes the statement for as long as the owner has promised to
// stand by it. That promise is what makes it sound; a signature alone is not.
//
// # What is assumed
//
//   - A1, clock before state: [Claims.IssuedAt] is what the owner's clock showed
//     before the state was read. So the state held at some instant at which
//     that clock showed IssuedAt or later. A clock that is read afterwards
//     hides how long the read took, and a replica how far it lags behind.
//   - A2, steady clock: the owner's clock never goes back.
//   - A3, close clocks: at every instant the owner's clock and the database's
//     differ by at most Skew ([VerifierConfig]). A leap smeared on one side
//     alone counts, too.
//   - A4, keys: the private key is the owner's alone, and signs nothing but what
//     a Signer makes.
//   - A5, the promise: the owner lets a bet stand at the stated odds if the bet
//     was checked before its own clock showed the earlier of IssuedAt +
//     MaxStaleness + Skew and ExpiresAt + Skew, whatever has become of the
//     market meanwhile. So an owner has to know the verifier's Skew.
//   - A6, time of the check: the time given to [Verifier.Verify] is the
//     database's clock, read when the token was at hand, in the transaction
//     that places the bet, behind the locks that it waits for.
//
// # What is claimed
//
// Let c be the instant of that reading, and S the lesser of the token's
// MaxStaleness and the verifier's. Where Verify takes a token,
//
//   - C1: the owner has stated exactly this quote, for this leg, in a book of
//     this tenant;
//   - C2: the market was in the stated state at an instant x before c, and from
//     x to c the owner's clock went on by less than S + Skew;
//   - C3: at c the owner's clock showed less than ExpiresAt + Skew.
//
// So the bet falls under the promise.
//
// # Why it holds
//
// C1: the signature covers every claim, each in the one form that the format
// has, and the key's id. Verify compares each claim that names something with
// the leg, the tenant, and the issuer and tenants that the key is registered
// for (I10). By A4 nobody else has made it.
//
// C2: the token was there at c, so the state was read before: x precedes c. By
// A1 the owner's clock showed IssuedAt or later at x. Verify demands now <
// IssuedAt + S, and by A3 the owner's clock showed now + Skew at most at c. The
// difference is less than S + Skew, and by A2 it is time that went by.
//
// C3: Verify demands now < ExpiresAt; then as before.
//
// Nothing is assumed of the network, of the player, who may keep a token for as
// long as he likes and use it often, or of his clock. A token from more than
// Skew in the future contradicts A1 to A3, so it is refused: something is wrong
// with a clock.
//
// # What follows for a suspension
//
// An owner that suspends a market when its clock shows T knows from C2 that no
// bet on it as open is checked when that clock shows T + S + Skew or later: the
// state of such a bet held at T at the latest. What is checked in between is
// the owner's, by A5. Nobody can shorten that time after the fact; the owner
// can beforehand, by promising less: a price that it cannot stand by for S +
// Skew must not be signed. In a running game, S must be shorter than the lead
// of somebody who sees the ball before the feed does.
//
// ExpiresAt and MaxStaleness bound different things. ExpiresAt ends the offer
// of one price and stays the same when the owner states the same version anew.
// MaxStaleness is how long one statement may stand in for a look at the market.
//
// # The time from the check to the commit
//
// The promise is about the check, not the commit, because the check is what the
// database's clock can date. A bet that was checked in time stands however long
// its commit takes; the owner bears that, and loses nothing that it had not
// promised at the check. Proposal.Now is the instant of the check: Place should
// store it with the bet, so that both sides can tell later. Each run of a
// callback that is retried checks anew.
//
// An owner that counts commits instead needs a bound B from check to commit and
// has to wait T + S + Skew + B. This package cannot give B: the store's lock
// and idle timeouts bound the waiting that a client causes, not a disk or a
// standby that holds up a COMMIT.
//
// # What is not promised
//
//   - That the quote is the newest. A player who holds two valid tokens may use
//     the better one; both are promised.
//   - Single use. A token names no player, wallet, stake or bet. How much is
//     taken at its odds is for Limits and Exposure to bound.
//   - Recall. A single token cannot be called back before its end; removing a
//     key refuses all that it signed.
//   - Secrecy. Whoever has a token can read it.
//   - Anything at all where the clocks are further apart than Skew. Watch them.
//
// # Refusals, and how to go on
//
// A token that does not hold is a rejection with a code, see [Refusal], and a
// receipted one decides its command for good. The proof is no part of what a
// command is fingerprinted by, so a house may list CodeQuoteProofExpired and
// CodeQuoteProofStale in Config.Unreceipted, if players shall be able to send the
// same command with a fresh token.
//
// A referred bet outlives its token, and a trader's grant excuses no refusal of
// Quote. So where bets on such markets are referred, the callback has to get a
// fresh token from the owner and give Verify that one instead of the leg's.
//
// # Keys
//
// Several public keys may be active. To replace one: give every verifier the
// new public key; then let the signer use it; when the last token of the old
// key has ended, take the old one away. Another order rejects honest players.
//
// # Format
//
// A token is ASCII text of at most [acceptance.MaxProof] bytes. The format is
// durable, and version 1 of it never changes:
//
//	token     = signed "." base64url( signature )
//	signed    = "q1." key-id "." base64url( payload )
//	signature = Ed25519( private key, "settleonce quote token\n" signed )
//	key-id    = 1 to 64 of a-z, 0-9, '-' and '_'
//	payload   = issuer tenant event market selection line version material
//	            odds status cut-off issued-at expires-at max-staleness
//
// base64url is that of RFC 4648, section 5, without padding. Each part of the
// payload is its length in bytes, as two bytes with the higher one first, and
// its UTF-8 text:
//
//	odds           as money.Odds writes them, such as 2.5
//	status         open, suspended or closed
//	cut-off        an instant, or empty: there is none
//	issued-at      an instant
//	expires-at     an instant
//	max-staleness  nanoseconds
//
// An instant is a count of nanoseconds since 1970 UTC. Numbers are decimal, in
// a signed 64-bit range, without plus sign and leading zeros. A token has one
// form only: whatever would decode to the same claims from other text is
// refused.
package quotetoken
