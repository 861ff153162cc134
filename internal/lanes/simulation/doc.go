// Package simulation has no code of its own, only a test: it runs relays (each
// an outbox.Relay over a lanes.Source, with its own clocks) over one table in
// memory through schedules that seeds draw, in testing/synctest bubbles.
//
// # A schedule
//
// For half a minute of the bubble's time, transactions put events of few
// ordering keys, alone and several at once, commit late and out of order, and
// are rolled back. Meanwhile relays join and leave, crash (what is left of one
// is cut off from everything), are stopped as by SIGSTOP (all that crosses the
// border of the process waits, and its clocks show it nothing of the time that
// passes, at any moment or in the middle of a certain call), are suspended (its monotonic clock misses that time for good) or have
// their wall clock set; the table is down, or out of one relay's reach, crashes
// and undoes deletions, fails calls, loses answers, and carries calls out after
// their caller gave them up; the destination is down, slow, fails single events
// of a batch, refuses some for good, is reached after the call's end, and its
// answers are lost; an operator requeues and discards dead letters. Then all is
// well again, and everything must drain.
//
// # What is checked
//
//   - Order: an event is first delivered when all that was committed before it in
//     its ordering key is delivered or discarded; where dead letters hold nothing
//     back, those that were one are left out of account (I8).
//   - No loss: in the end each committed event is delivered or discarded, within
//     two minutes in which nothing goes wrong. Nothing is deleted that was not
//     delivered, and nothing is buried that was.
//   - Bounded duplicates: an event is not sent again that its relay was told is
//     delivered, unless the table would not let go of it, lost the lane, or
//     forgot in a crash that it had. In a schedule in which relays come and go
//     and nothing fails, no event is delivered twice.
//   - Leases: no call to the sender begins for a lane that its relay does not
//     hold, except that a relay which is stopped between its last look at the
//     clock and the first byte goes on when it wakes. No lane is given up while
//     a call or a write about it is not over, as long as the lease lasts.
//   - Fencing: nothing is deleted or buried by anybody but the holder of its lane.
//   - Calls: never two of one ordering key out at once in one process, in one call
//     only where the sender declares it; none before the rest after a failure is
//     over.
//
// Other tests put one fault at a time between the parts, and want all of that to
// notice it within some hundred schedules.
//
// # Replay
//
// A failure names its seed:
//
//	go test ./internal/lanes/simulation -run=TestSimulation -seed=17 -v
//
// prints the schedule and all that happened. -schedules runs more of them, and
// -first others.
//
// The schedule replays exactly, and so does the luck of each call, which depends
// on the seed, on who makes it and on what it is about. What no seed decides is
// in which order goroutines run that are ready at the same instant, and in which
// order a map is walked. Nearly all waits differ in the nanoseconds, so that
// this is rare: of 60 seeds that ran twice, 47 had the same history to the last
// nanosecond, and the others parted late. A failure that does not come again at
// once comes with -count=20.
package simulation
