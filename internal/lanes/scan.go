package lanes

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// What part of the time sweeps and rescans may take of the table's, as the pause
// after each query, in multiples of what it took.
const (
	sweepPause  = 19 // a twentieth
	rescanPause = 4  // a fifth
)

// scanner looks below the frontier, in the background, for what became visible
// late: in what is in doubt, and from time to time in everything.
type scanner struct {
	// kicks asks for a look at what is in doubt, rescans for one at everything.
	kicks   chan struct{}
	rescans chan struct{}
}

func newScanner() scanner {
	return scanner{kicks: make(chan struct{}, 1), rescans: make(chan struct{}, 1)}
}

func (n scanner) kick()   { notify(n.kicks) }
func (n scanner) rescan() { notify(n.rescans) }

// scan runs until ctx is done.
func (s *Source) scan(ctx context.Context) {
	timer := time.NewTimer(s.jitter(s.cfg.Rescan))
	defer timer.Stop()
	for {
		var rest time.Duration
		var err error
		select {
		case <-ctx.Done():
			return
		case <-s.scanner.kicks:
			rest, err = s.sweepDoubts(ctx)
		case <-s.scanner.rescans:
			rest, err = s.rescan(ctx)
		case <-timer.C:
			timer.Reset(s.jitter(s.cfg.Rescan))
			s.askHeld()
			rest, err = s.rescan(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		s.report(&s.scanErr, err)
		if err != nil {
			rest = max(rest, s.jitter(s.cfg.MaxPoll))
		}
		pause(ctx, rest)
	}
}

// sweepDoubts looks at the wide spans in doubt that there are now. It returns how
// long to rest then.
func (s *Source) sweepDoubts(ctx context.Context) (rest time.Duration, err error) {
	s.mu.Lock()
	t := s.tenure
	var readers []*reader
	if t != nil {
		readers = slices.Clone(t.readers)
	}
	s.mu.Unlock()
	for _, r := range readers {
		s.mu.Lock()
		r.sweeping, r.doubt = r.doubtful(), span{}
		within := r.sweeping
		s.mu.Unlock()
		if within.empty() {
			continue
		}
		pause(ctx, rest)
		lanesNow := func() []Lane { return r.lanes }
		if rest, err = s.walk(ctx, t, lanesNow, within, sweepPause); err != nil {
			s.scanner.kick()
			return rest, fmt.Errorf("lanes: sweep: %w", err)
		}
		s.mu.Lock()
		r.sweeping = span{}
		s.mu.Unlock()
	}
	return rest, nil
}

// rescan looks at everything below the frontier. It returns how long to rest
// then.
func (s *Source) rescan(ctx context.Context) (rest time.Duration, err error) {
	s.mu.Lock()
	t := s.tenure
	within := span{}
	if t != nil {
		within.last = t.frontier()
	}
	s.mu.Unlock()
	if within.empty() {
		return 0, nil
	}
	lanesNow := func() []Lane { return t.in(ours) }
	if rest, err = s.walk(ctx, t, lanesNow, within, rescanPause); err != nil {
		s.scanner.rescan()
		return rest, fmt.Errorf("lanes: rescan: %w", err)
	}
	return rest, nil
}

// askHeld has the next round ask what is held back. An ordering key whose record
// was gone when it was set aside, or whose dead letter was deleted in SQL, would
// wait for ever otherwise.
func (s *Source) askHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != nil {
		s.tenure.askHeld = true
		notify(s.kicks)
	}
}

// walk looks at all heads of a span, and rests between the queries, for a
// multiple of the time that each took. It returns how long to rest after the
// last one, also where that failed: what runs into a time limit of the server
// has cost it as much. lanesNow is called under mu.
func (s *Source) walk(
	ctx context.Context, t *tenure, lanesNow func() []Lane, within span, multiple int64,
) (rest time.Duration, err error) {
	for {
		s.mu.Lock()
		current, lanes := s.tenure == t, lanesNow()
		s.mu.Unlock()
		if !current || len(lanes) == 0 {
			return 0, nil // A new tenure reads everything anew.
		}
		began := s.cfg.Clock.Now()
		heads, err := s.cfg.Table.Heads(ctx, lanes, within.after, within.last, headChunk)
		rest = s.restAfter(s.cfg.Clock.Now().Monotonic-began.Monotonic, multiple)
		if err != nil {
			return rest, err
		}
		if s.oweLate(t, heads) {
			s.poke()
		}
		if len(heads) < headChunk {
			return rest, nil
		}
		pause(ctx, rest)
		within.after = heads[len(heads)-1].Position
	}
}

// restAfter is bounded by the pause between two rescans: a process that was
// stopped in the middle of a query takes its sleep for the query's time, and
// must not rest for hours because of that (what is requeued would wait).
func (s *Source) restAfter(took time.Duration, multiple int64) time.Duration {
	if took > s.cfg.Rescan/time.Duration(multiple) {
		return s.cfg.Rescan
	}
	return took * time.Duration(multiple)
}

// pause waits, until ctx is done at the longest.
func pause(ctx context.Context, duration time.Duration) {
	if duration <= 0 {
		return
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
