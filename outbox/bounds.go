package outbox

const (
	// mostCalls and mostPerCall bound the calls out at once and the events of
	// one, where a config or a sender sets no bound: without them, what follows
	// from the two would overflow.
	mostCalls   = 1 << 16
	mostPerCall = 1 << 16
	// fetchFactor is how many records the relay asks for at once, for each that
	// it may send at once, up to mostFetched or a call's events.
	fetchFactor = 4
	mostFetched = 2000
	// mostPerLine and callsPerLine are how many records of one ordering key are
	// enough at hand: so many, or what so many calls take.
	mostPerLine  = 64
	callsPerLine = 2
	// bytesAtHand bounds, as an estimate, the memory that records take, with
	// what one fetch brings on top; bytesPerLine is how much of it is enough
	// for one ordering key.
	bytesAtHand  = 64 << 20
	bytesFetched = 8 << 20
	bytesPerLine = 4 << 20
	// recordOverhead is what a record takes besides its data, about.
	recordOverhead = 512
	// guessedSize is what a record takes until some were seen.
	guessedSize = 64 << 10
)

// bounds say how much the relay has at hand, so that one ordering key neither
// fills the memory nor starves the others.
type bounds struct {
	perCall int // records of one ordering key that a call can take
	ready   int // records that may be sent at once: with fewer, it asks for more
	fetch   int // in one Next
	perLine int // of one ordering key: with as many, Next leaves it out
	atHand  int // altogether: with as many, lines are cut to what is enough
}

func newBounds(calls int, batching Batching) bounds {
	b := bounds{perCall: 1, ready: calls * batching.MaxEvents}
	if batching.InOrder {
		b.perCall = batching.MaxEvents
	}
	b.fetch = min(fetchFactor*b.ready, max(mostFetched, batching.MaxEvents))
	b.perLine = max(mostPerLine, callsPerLine*b.perCall)
	// Lines that are out, and as many more as make b.ready, have room for
	// enough. So nothing that they have at hand keeps another from coming.
	b.atHand = b.perLine * (calls + b.ready/b.perCall)
	return b
}

// isFull reports whether a line has enough at hand.
func (b *bounds) isFull(l *line) bool {
	return l.waiting >= b.perLine || l.bytes >= bytesPerLine
}

// isLow reports whether a line that had enough may get more.
func (b *bounds) isLow(l *line) bool {
	return l.waiting <= b.perLine/2 && l.bytes <= bytesPerLine/2
}

// cut takes out what a line has at hand past enough, and returns the first of
// it, nil for nothing. It leaves one at least.
func (b *bounds) cut(l *line) *item {
	if l.first == nil {
		return nil
	}
	last, kept, bytes := l.first, 1, l.first.size()
	for last.next != nil && kept < b.perLine && bytes < bytesPerLine {
		last = last.next
		kept++
		bytes += last.size()
	}
	tail := last.next
	last.next, l.last, l.waiting, l.bytes = nil, last, kept, bytes
	return tail
}
