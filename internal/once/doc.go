// Package once is the one transactional engine under packages settle and
// acceptance: it runs a callback and commits its effects, its events and the
// key's receipt together, once a key.
//
// # What a run does
//
//  1. It joins the flight of its key in this process: a duplicate waits
//     without a connection and answers from the leader's receipt. Then it
//     passes the request's gate, if there is one.
//  2. It begins a session, which holds the key in the store and reads what
//     the key and the keys beside have. A receipt of the key is a replay; what
//     a key beside has is the callback's to judge.
//  3. It calls back with the transaction.
//  4. It commits receipt, events and effects in one go, on a context that the
//     caller's cancellation does not reach (I2).
//  5. It classifies what came of that: committed, not committed and worth
//     another attempt, not committed, or unknown. An unknown outcome is
//     resolved under the key's lock, never guessed (I5).
//  6. It runs the hooks (I4).
//
// Recall spares a duplicate all that where its receipt is there already.
//
// Locks are taken in the order flight, gate, key, whatever the callback locks,
// ordering keys. Hooks run with none of them held.
package once
