// Package acceptance decides commands to place bets: one command, one decision,
// one commit.
//
// A [Command] carries an idempotency key, which is unique within its wallet. A
// [Runner] answers it with a [Decision], whose verdict is accepted, rejected,
// requoted or pending, and the decision, the bet with its hold, and the events
// that tell of it commit together or not at all.
//
// # What it promises
//
//   - A command has one final decision. The same command gets it again, byte
//     for byte, although the price has moved, the wallet is empty, the player is
//     barred, the risk service has gone or the Config has changed. The same ID
//     with anything else in the command is a conflict that changes nothing.
//   - A rejection is as final as an acceptance: who saw it never finds the bet
//     accepted by a late retry of the same ID ([Config.Unreceipted] gives that
//     up for chosen codes).
//   - Wallet, quote, limits, funds and exposure are judged in the transaction
//     that places the bet, behind the locks that the callbacks take.
//   - One requote has at most one consent, one referral at most one resolution,
//     one accepted bet one closing.
//
// # What it does not promise
//
// The callbacks keep the books: what they do not lock is not locked, and a
// Quote that reads a market without a guard lets a suspension slip in before
// the commit. A callback may run several times, so it touches nothing but the
// transaction (I3). Rejections by a risk service are as good as its evidence.
//
// # The order of the steps
//
//  1. Syntax: [Command.Validate], which depends on no Config.
//  2. The stored decision of the ID, before anything about today.
//  3. [Rules], the rules of today. A command that breaks them skips the
//     rest: under the key's lock, where no other decision can be on its way, it
//     is an [InvalidError] and no decision.
//  4. Authorize, then Assess under its deadlines: outside of any transaction.
//  5. The turn of the key, then of the wallet, in this process; then a
//     connection and the key's lock in the store.
//  6. LockWallet, Quote, the check of the evidence against the database's
//     clock, the quote fence, Limits, funds, Exposure, Place.
//  7. Events, and the receipt with everything that was decided on.
//
// A rejection in step 4 is committed by a transaction that takes no lock but
// the key's. Evidence that has expired in step 6 ends the transaction; it is
// asked for once more, in all.
//
// # Locks
//
// Flight of the key → gate of the wallet → key → wallet → markets → whatever
// Limits, Exposure and Place lock → ordering keys → COMMIT. Whoever else locks
// wallets and markets must take them in that order.
//
// # Consent
//
// A requote offers other odds. A new command, with an ID of its own, whose
// Consents names the requoted one, takes the offer; it passes all steps, so
// it may be requoted again. The first such command that gets any decision but
// an unreceipted one uses the consent up, and is the requote's successor; any
// other gets a [ConsentError].
//
// # Referral
//
// Where the evidence asks for a trader, the command is pending: that is a
// receipt of its own, under [ReferralKey]. [Runner.Resolve] makes the final
// decision, which is then the answer to the command. When its time is up the
// next Accept or Resolve of the command rejects it; nothing does so by itself.
//
// # What is stored
//
// All keys of a command have its tenant as tenant and its wallet as scope, so
// the same ID of another wallet is another key (I10). The receipt's value is a
// JSON object with the members verdict, bet, code, detail, legs, rules,
// evidence, consents, expires_at, resolution and, while it is pending, command.
// Meta is never stored.
package acceptance
