package outbox

// item is a record at hand.
type item struct {
	record *Record
	// number is its place in the order in which the source handed records out.
	number uint64
	next   *item // of its ordering key
}

// size estimates what a record takes of memory.
func (i *item) size() int { return len(i.record.Event.Data) + recordOverhead }

// line is an ordering key with records at hand or out.
type line struct {
	history
	ordering string
	// first to last wait to be sent, in order.
	first, last    *item
	waiting, bytes int
	// sending says that a call has records of the line out.
	sending bool
	// held says that the line has enough at hand, so that the source leaves
	// its ordering key out.
	held bool
}

func (l *line) append(i *item) {
	if l.first == nil {
		l.first = i
	} else {
		l.last.next = i
	}
	l.last = i
	l.waiting++
	l.bytes += i.size()
}

// shift takes the first item out. There must be one.
func (l *line) shift() *item {
	i := l.first
	l.first = i.next
	l.waiting--
	l.bytes -= i.size()
	return i
}
