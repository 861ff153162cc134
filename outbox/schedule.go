package outbox

import "time"

// maxResting bounds how many ordering keys rest after a failure at once, and so
// what they take of memory. Past it, the relay takes on no further ones until
// one may be tried again: that many keys that fail alone can hold back others.
const maxResting = 1 << 16

// lane is one ordering key's records at hand, in order.
type lane struct {
	ordering string
	records  []Record
	failures int
	sending  bool
}

// rest is an ordering key that is left alone after a failure.
type rest struct {
	failures int
	due      time.Time
	// released says that Next may return the key's records again.
	released bool
}

// schedule decides which record is sent next. It keeps I8: at most one record
// of an ordering key is out at a time, and none passes another. It knows no
// clock and starts nothing; one goroutine owns it.
type schedule struct {
	concurrency int
	downAfter   int
	backoff     backoff
	random      func() float64

	// lanes holds every ordering key with records at hand or out.
	lanes map[string]*lane
	// resting holds every ordering key whose last attempt failed.
	resting map[string]*rest
	// held is what [Source.Next] must leave out: the keys of lanes, and the
	// resting ones that are not released.
	held   map[string]struct{}
	out    int
	asleep int // of resting, those that are not released

	// suspects are the ordering keys that failed since the last success.
	// When there are downAfter of them, the destination counts as down: it is
	// probed with one record at a time, until one succeeds.
	suspects map[string]struct{}
	down     bool
	probes   int // that failed in a row
	probeAt  time.Time
}

func newSchedule(concurrency, downAfter int, b backoff, random func() float64) *schedule {
	return &schedule{
		concurrency: concurrency,
		downAfter:   downAfter,
		backoff:     b,
		random:      random,
		lanes:       make(map[string]*lane),
		resting:     make(map[string]*rest),
		held:        make(map[string]struct{}),
		suspects:    make(map[string]struct{}),
	}
}

// wants reports whether more records are of use. While the destination is
// down, one that never failed is enough to probe it with.
func (s *schedule) wants() bool {
	if s.asleep >= maxResting {
		return false
	}
	if !s.down {
		return len(s.lanes)-s.out < s.concurrency
	}
	for _, l := range s.lanes {
		if l.failures == 0 {
			return false
		}
	}
	return true
}

// add takes records from the source. They are of ordering keys that are not
// held, and in order within each.
func (s *schedule) add(records []Record) {
	for _, record := range records {
		ordering := record.Event.Ordering()
		l := s.lanes[ordering]
		if l == nil {
			l = &lane{ordering: ordering}
			if r := s.resting[ordering]; r != nil {
				l.failures = r.failures
			}
			s.lanes[ordering] = l
			s.held[ordering] = struct{}{}
		}
		l.records = append(l.records, record)
	}
}

// take returns the next record to send, and how often it failed before.
// Oldest first; while the destination is down, those that failed least, so
// that records which fail by themselves can't keep it down.
func (s *schedule) take(now time.Time) (record Record, failures int, ok bool) {
	if s.out >= s.concurrency || s.down && (s.out > 0 || now.Before(s.probeAt)) {
		return Record{}, 0, false
	}
	var best *lane
	for _, l := range s.lanes {
		if !l.sending && (best == nil || s.before(l, best)) {
			best = l
		}
	}
	if best == nil {
		return Record{}, 0, false
	}
	best.sending = true
	s.out++
	return best.records[0], best.failures, true
}

func (s *schedule) before(a, b *lane) bool {
	if s.down && a.failures != b.failures {
		return a.failures < b.failures
	}
	return a.records[0].Added.Before(b.records[0].Added)
}

// done notes that the record that ordering had out needs no further delivery.
func (s *schedule) done(ordering string) {
	l := s.lanes[ordering]
	l.sending = false
	l.failures = 0
	l.records = l.records[1:]
	s.out--
	delete(s.resting, ordering)
	clear(s.suspects)
	s.down, s.probes = false, 0
	if len(l.records) == 0 {
		delete(s.lanes, ordering)
		delete(s.held, ordering)
	}
}

// failed notes that the record that ordering had out stays. What is at hand
// behind it is let go: the source returns it again when the key's rest is over.
// suspect says that the destination is to blame.
func (s *schedule) failed(ordering string, now time.Time, retryAfter time.Duration, suspect bool) {
	failures := s.lanes[ordering].failures + 1
	s.out--
	s.asleep++
	delete(s.lanes, ordering)
	s.resting[ordering] = &rest{
		failures: failures,
		due:      now.Add(s.backoff.delay(failures, retryAfter, s.random())),
	}
	if !suspect {
		return
	}
	s.suspects[ordering] = struct{}{}
	if s.down || len(s.suspects) >= s.downAfter {
		s.down = true
		s.probes++
		s.probeAt = now.Add(s.backoff.delay(s.probes, retryAfter, s.random()))
	}
}

// release lets the source return records of the ordering keys whose rest is
// over. It reports whether there were any.
func (s *schedule) release(now time.Time) bool {
	released := false
	for ordering, r := range s.resting {
		if !r.released && !now.Before(r.due) {
			r.released = true
			s.asleep--
			delete(s.held, ordering)
			released = true
		}
	}
	return released
}

// exhausted notes that the source has nothing more of ordering keys that are
// not held, and forgets the released ones that it returned nothing of.
func (s *schedule) exhausted() {
	for ordering, r := range s.resting {
		if r.released && s.lanes[ordering] == nil {
			delete(s.resting, ordering)
		}
	}
}

// nextDue returns when there is something to do though nothing happens.
func (s *schedule) nextDue() (time.Time, bool) {
	if s.down && s.out > 0 {
		return time.Time{}, false
	}
	if s.down && len(s.lanes) > 0 {
		return s.probeAt, true
	}
	var due time.Time
	found := false
	for _, r := range s.resting {
		if !r.released && (!found || r.due.Before(due)) {
			due, found = r.due, true
		}
	}
	return due, found
}
