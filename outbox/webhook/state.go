package webhook

import (
	"fmt"
	"time"
)

// EndpointState is how an endpoint fares.
type EndpointState struct {
	Name string
	// Out is how many requests are out, and Waiting how many calls wait for
	// a place.
	Out, Waiting int
	// Failures counts the pauses since the endpoint last answered well.
	Failures int
	// PausedUntil is until when it is left alone, or the zero Time, or past.
	PausedUntil time.Time
	// Gone says that it answered 410 Gone, and gets nothing more.
	Gone bool
}

// Endpoints returns how each endpoint fares, in the order of the Config.
func (s *Sender) Endpoints() []EndpointState {
	states := make([]EndpointState, len(s.order))
	for i, to := range s.order {
		states[i] = to.limiter.state(to.Name)
	}
	return states
}

// Resume ends an endpoint's pause, and sends to it again though it answered
// 410 Gone. A name that is not known is an error.
func (s *Sender) Resume(name string) error {
	to := s.destinations[name]
	if to == nil {
		return fmt.Errorf("webhook: no endpoint has the name %q", name)
	}
	to.limiter.resume()
	return nil
}
