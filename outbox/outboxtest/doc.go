// Package outboxtest has what tests of a sender's half need: a [Source], a
// [LeasedSource] and a [Sender] in memory with faults that a test orders, and
// the suites that every source and every sender must pass, [TestSource] and
// [TestSender].
//
// The fakes keep nothing over the end of the process. They promise what the
// interfaces promise and no more: a test that passes with them has seen
// repeats, lost answers and refusals only where it ordered them.
package outboxtest
