package outbox

import (
	"errors"
	"fmt"
)

var (
	// ErrStopped is true where no Run of the relay is going on.
	ErrStopped = errors.New("outbox: the relay is not running")

	// ErrDestinationDown is true where the destination counts as down: so many
	// ordering keys failed in a row that it is only probed. Nothing is lost,
	// and the relay goes on by itself.
	ErrDestinationDown = errors.New("outbox: the destination is down")

	// ErrSourceFailing is true where the source hands nothing out, since its
	// last Next failed, or can't let go of what was delivered, which is then
	// delivered again. The latter is over when it lets go of something, or has
	// nothing more of what it kept.
	ErrSourceFailing = errors.New("outbox: the source fails")
)

// Health returns nil while the relay works, and otherwise an error for which
// errors.Is is true of one or more of [ErrStopped], [ErrDestinationDown] and
// [ErrSourceFailing], with what was said last. It is about the parts, not about
// single events: for those that fail or wait, see [Relay.Frontier]. Restarting
// a process helps against none of them but the first, so a liveness probe
// should look for [ErrStopped] alone.
//
// It asks nobody, so it is quick. Safe for concurrent use, also beside Run.
func (r *Relay) Health() error {
	s := r.progress.get()
	var found []error
	if !s.running {
		found = append(found, ErrStopped)
	}
	if s.down != nil {
		found = append(found, s.down)
	}
	for _, err := range []error{s.fetching, s.settling} {
		if err != nil {
			found = append(found, fmt.Errorf("%w: %w", ErrSourceFailing, err))
		}
	}
	return errors.Join(found...)
}
