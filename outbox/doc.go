// Package outbox holds the sender's half of the truth: facts that it still
// owes, and the engine that delivers them.
package outbox
