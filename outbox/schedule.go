package outbox

import "time"

// schedule decides which records are sent next, in which call. It keeps I8: at
// most one call has records of an ordering key, and no record passes another of
// its ordering key. It knows no clock and starts nothing; one goroutine owns
// it.
type schedule struct {
	batching Batching
	bounds   bounds
	backoff  backoff
	random   func() float64
	outage   *outage
	rests    *rests
	except   *except

	// lines holds every ordering key with records at hand or out, and queue
	// those that may be sent.
	lines map[string]*line
	queue heap[*line]
	// queueDown says that the queue is in the order for a destination that is
	// down.
	queueDown bool
	// full are the lines that are held.
	full map[*line]struct{}

	handedOut uint64 // records by the source so far
	calls     int    // out
	out       int    // records in them
	waiting   int    // records at hand that are not out
	ready     int    // of those, how many calls could take at once
	bytes     int    // of all records, out or not

	// more says that the source may have records of ordering keys that it need
	// not leave out.
	more bool
	// recalled are the ordering keys that were let go of while the source was
	// asked for records: what it hands out of them may have been handed out
	// before that, and goes back.
	recalled map[string]struct{}
	// unwanted are the records to hand back to the source.
	unwanted []Record
	// meanSize is an estimate of a record's size.
	meanSize int
}

func newSchedule(calls int, batching Batching, b backoff, downAfter int, random func() float64) *schedule {
	s := &schedule{
		batching: batching,
		bounds:   newBounds(calls, batching),
		backoff:  b,
		random:   random,
		outage:   newOutage(downAfter, b, random),
		rests:    newRests(),
		except:   newExcept(),
		lines:    make(map[string]*line),
		full:     make(map[*line]struct{}),
		more:     true,
		recalled: make(map[string]struct{}),
		meanSize: guessedSize,
	}
	s.queue.before = s.before
	return s
}

// before is the order of the queue: the oldest record first, and while the
// destination is down those that failed least, so that records which fail by
// themselves can't keep it down.
func (s *schedule) before(a, b *line) bool {
	if s.queueDown && a.failures != b.failures {
		return a.failures < b.failures
	}
	if order := a.first.record.Added.Compare(b.first.record.Added); order != 0 {
		return order < 0
	}
	return a.first.number < b.first.number
}

// orderQueue makes the queue right for what the destination is now.
func (s *schedule) orderQueue() {
	if s.queueDown != s.outage.down {
		s.queueDown = s.outage.down
		s.queue.order()
	}
}

// add takes what the source handed out. Records of ordering keys that were let
// go of meanwhile are unwanted.
func (s *schedule) add(records []Record) {
	items := make([]item, len(records))
	for i := range records {
		item := &items[i]
		item.record, item.number = &records[i], s.handedOut
		s.handedOut++
		s.meanSize += (item.size() - s.meanSize) / 8
		s.addItem(item)
	}
	s.except.takeBack()
	clear(s.recalled)
}

func (s *schedule) addItem(i *item) {
	ordering := i.record.Event.Ordering()
	l := s.lines[ordering]
	if l == nil {
		rest := s.rests.of(ordering)
		if _, recalled := s.recalled[ordering]; recalled || rest != nil && !rest.over {
			s.unwanted = append(s.unwanted, *i.record)
			return
		}
		l = &line{ordering: ordering}
		if rest != nil {
			l.history = rest.history
		}
		s.lines[ordering] = l
	}
	l.append(i)
	s.waiting++
	s.bytes += i.size()
	if !l.sending && l.waiting <= s.bounds.perCall {
		s.ready++
	}
	if !l.sending && l.waiting == 1 {
		s.queue.push(l)
	}
	if !l.held && s.bounds.isFull(l) {
		s.hold(l, true)
	}
}

// hold lets the source leave a line's ordering key out, or not any more.
func (s *schedule) hold(l *line, held bool) {
	if l.held == held {
		return
	}
	l.held = held
	s.except.set(l.ordering, held)
	if held {
		s.full[l] = struct{}{}
		return
	}
	delete(s.full, l)
	s.more = true
}

// take makes the next call, of room records at most: those of the oldest lines,
// in the order of the queue. Of a line it takes one, or all that fit where the
// sender takes them in order. Nil: nothing may be sent.
func (s *schedule) take(room int) *call {
	most := min(room, s.batching.MaxEvents)
	if s.outage.down {
		most = min(most, 1)
	}
	s.orderQueue()
	c := &call{
		attempts: make([]attempt, 0, min(most, s.ready)),
		down:     s.outage.down,
	}
	bytes := 0
	for s.queue.len() > 0 && len(c.attempts) < most && s.fits(c, bytes, s.queue.first().first) {
		l := s.queue.pop()
		s.ready -= min(l.waiting, s.bounds.perCall)
		l.sending = true
		number := l.failures + 1
		for of := 0; of < s.bounds.perCall && l.first != nil && len(c.attempts) < most && s.fits(c, bytes, l.first); of++ {
			i := l.shift()
			c.attempts = append(c.attempts, attempt{record: i.record, line: l, number: number})
			bytes += len(i.record.Event.Data)
			number = 1
		}
		if l.held && s.bounds.isLow(l) {
			s.hold(l, false)
		}
	}
	if len(c.attempts) == 0 {
		return nil
	}
	s.calls++
	s.out += len(c.attempts)
	s.waiting -= len(c.attempts)
	return c
}

// fits reports whether a call whose events have so many bytes of data takes one
// more. The first always fits.
func (s *schedule) fits(c *call, bytes int, i *item) bool {
	return s.batching.MaxBytes == 0 || len(c.attempts) == 0 || bytes+len(i.record.Event.Data) <= s.batching.MaxBytes
}

// done takes back a call that is over.
func (s *schedule) done(c *call, now time.Time) {
	s.calls--
	s.out -= len(c.attempts)
	for first := 0; first < len(c.attempts); {
		end := first + 1
		for end < len(c.attempts) && c.attempts[end].line == c.attempts[first].line {
			end++
		}
		s.lineDone(c, c.attempts[first:end], now)
		first = end
	}
	switch {
	case c.works:
		s.outage.answered()
	case c.down && c.leaseEnded:
		s.outage.unanswered(now)
	}
}

// lineDone takes back a call's attempts of one line. The first that did not make
// it decides what becomes of the line.
func (s *schedule) lineDone(c *call, attempts []attempt, now time.Time) {
	l := attempts[0].line
	l.sending = false
	for i := range attempts {
		a := &attempts[i]
		s.bytes -= len(a.record.Event.Data) + recordOverhead
		if a.fate == removed {
			l.history = history{}
			continue
		}
		for j := i + 1; j < len(attempts); j++ {
			s.bytes -= len(attempts[j].record.Event.Data) + recordOverhead
		}
		s.stopped(c, l, attempts[i:], now)
		return
	}
	s.rests.forget(l.ordering)
	if l.first == nil {
		s.drop(l)
		return
	}
	s.queue.push(l)
	s.ready += min(l.waiting, s.bounds.perCall)
}

// stopped lets go of a line whose first attempt did not make it, and of all that
// is at hand behind it: the source hands that out again, when the rest is over
// if there is one.
func (s *schedule) stopped(c *call, l *line, attempts []attempt, now time.Time) {
	for i := range attempts {
		if fate := attempts[i].fate; fate != aside && fate != forgotten {
			s.unwanted = append(s.unwanted, *attempts[i].record)
		}
	}
	s.handBack(l.first)
	l.first, l.last, l.waiting, l.bytes = nil, nil, 0, 0
	s.drop(l)
	s.recall(l.ordering)

	a := &attempts[0]
	if a.fate == aside {
		s.rests.forget(l.ordering)
		s.more = true
		return
	}
	past, delay := s.after(l.history, a)
	s.rests.begin(l.ordering, past, now.Add(delay))
	s.except.set(l.ordering, true)
	if a.fate == kept && !a.blameless {
		wasDown := s.outage.down
		s.outage.failed(l.ordering, c.down, now, a.retryAfter, a.err)
		if s.outage.down && !wasDown {
			s.restAgain()
		}
	}
}

// after returns what is known of an ordering key after an attempt that did not
// make it, and how long it rests. A first loss to another relay is no reason to
// rest: mostly the source has nothing of the ordering key then. But one that
// hands out again what it will take back would have it sent again and again.
func (s *schedule) after(past history, a *attempt) (history, time.Duration) {
	if a.fate == lost || a.fate == forgotten {
		past.losses++
		if past.losses == 1 {
			return past, 0
		}
		return past, s.backoff.delay(past.losses-1, 0, s.random())
	}
	past.failures++
	past.unsettled = past.unsettled || a.fate == unsettled
	return past, s.backoff.delay(past.failures, a.retryAfter, s.random())
}

// restAgain lets every ordering key whose rest is over and that is not out rest
// again, because the destination is down: at hand, they would leave no room for
// one that never failed, with which it is probed first.
func (s *schedule) restAgain() {
	for _, ordering := range s.rests.again(func(ordering string) bool {
		l := s.lines[ordering]
		return l == nil || !l.sending
	}) {
		if l := s.lines[ordering]; l != nil {
			s.ready -= min(l.waiting, s.bounds.perCall)
			s.handBack(l.first)
			l.first, l.last, l.waiting, l.bytes = nil, nil, 0, 0
			s.drop(l) // What is on its way of it goes back, since it rests.
		}
		s.except.set(ordering, true)
	}
	s.queue.keep(func(l *line) bool { return l.first != nil })
}

// recall remembers an ordering key that was let go of while the source is asked
// for records.
func (s *schedule) recall(ordering string) {
	if s.except.lent {
		s.recalled[ordering] = struct{}{}
	}
}

// drop forgets a line with nothing at hand.
func (s *schedule) drop(l *line) {
	s.hold(l, false)
	delete(s.lines, l.ordering)
}

// handBack hands back an item and all that follow it.
func (s *schedule) handBack(i *item) {
	for ; i != nil; i = i.next {
		s.unwanted = append(s.unwanted, *i.record)
		s.waiting--
		s.bytes -= i.size()
	}
}

// endRests lets the source hand out records of the ordering keys whose rest is
// over, of so many at most, those first that have waited longest.
func (s *schedule) endRests(now time.Time, most int) {
	for range most {
		ordering, found := s.rests.end(now)
		if !found {
			return
		}
		s.except.set(ordering, false)
		s.more = true
	}
}

// exhausted notes that the source has nothing more of ordering keys that it
// need not leave out. A rest that is over and of which it handed out nothing is
// forgotten.
func (s *schedule) exhausted() {
	s.rests.sweep(func(ordering string) bool { return s.lines[ordering] != nil })
}

// appetite returns how many records are of use. While the destination is down,
// one that never failed is enough to probe it with.
func (s *schedule) appetite() int {
	if s.rests.alone.len() >= maxResting {
		return 0
	}
	s.orderQueue()
	switch {
	case s.outage.down && s.queue.len() > 0 && s.queue.first().failures == 0:
		return 0
	case !s.outage.down && s.ready >= s.bounds.ready:
		return 0
	}
	if s.crowded() {
		s.shed()
	}
	if s.crowded() {
		return 0
	}
	return max(1, min(s.bounds.fetch, bytesFetched/max(1, s.meanSize)))
}

func (s *schedule) crowded() bool {
	return s.waiting >= s.bounds.atHand || s.bytes >= bytesAtHand
}

// shed hands back what lines have at hand past enough. It must not be called
// while the source is asked for records.
func (s *schedule) shed() {
	for l := range s.full {
		had := min(l.waiting, s.bounds.perCall)
		s.handBack(s.bounds.cut(l))
		if !l.sending {
			s.ready -= had - min(l.waiting, s.bounds.perCall)
		}
	}
}

// clear hands back everything at hand.
func (s *schedule) clear() {
	for _, l := range s.lines {
		s.handBack(l.first)
	}
}
