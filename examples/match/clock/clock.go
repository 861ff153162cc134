// Package clock is the time that the game runs on: the wall clock in
// production, a simulated one where a match of many minutes must take no time.
package clock

import "time"

// Clock tells the time and calls back later.
//
// Safe for concurrent use.
type Clock interface {
	// Now returns the clock's time.
	Now() time.Time
	// AfterFunc calls f once d has passed. What it returns keeps f from being
	// called, if it has not been yet.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// System is the wall clock. AfterFunc calls f on a goroutine of its own.
type System struct{}

var _ Clock = System{}

// Now returns the wall clock's time.
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls f on its own goroutine once d has passed.
func (System) AfterFunc(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}
