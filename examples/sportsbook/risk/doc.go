// Package risk is the sportsbook's risk service, a process of its own, and the
// client that fetches its evidence.
//
// The service gives an opinion on one command at a time: POST /opinions with an
// [Assessment] is answered with an [Opinion]. Each opinion has an id of its own,
// the version of the model that gave it, the fingerprint of the command that it
// is about, and the time in which it holds, by the service's clock. The house
// judges that time by its database's clock, so the two must agree within the
// skew that its Config allows.
//
// On demand the service is slow, wrong or down: POST /faults adds an
// [Instruction] to its script, DELETE /faults takes all of them out, GET /faults
// tells in a [Report] what it really did.
//
// The service authenticates nobody and signs nothing: whoever can reach it, or
// can answer in its place, decides what is evidence. A real one is reached
// through mutual TLS, or signs.
package risk
