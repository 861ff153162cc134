// Package lanestest has what tests of [lanes] need: a [lanes.Table] in memory,
// a wrapper that lets a test stand at the door of every call, and the suite
// that every table passes.
//
// [Memory] behaves as the table in a database does, as far as a relay can see:
// an event's position is taken before its transaction commits, transactions
// commit in any order, and only those that share an ordering key commit in the
// order of their positions; memberships run out by the table's own clock; what
// was deleted may come back after a crash.
package lanestest
