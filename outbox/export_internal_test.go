package outbox

// What tests in package outbox_test need from within.

var (
	OpenDirOn            = openDirOn
	EncodeKey            = encodeKey
	EncodeRecord         = encodeRecord
	DecodeRecord         = decodeRecord
	ParseRecordName      = parseRecordName
	ParseQuarantinedName = parseQuarantinedName
	QuarantinedName      = quarantinedName
	DiscardedName        = discardedName
	IsAside              = isAside
)

// RecordName makes the name of a record from its encoded key and its time.
func RecordName(key string, time int64) string { return recordName{key, time}.String() }

// CloseWaits reports whether Close waits for calls that use the files.
func CloseWaits(d *Dir) bool {
	if !d.calls.TryRLock() {
		return true
	}
	d.calls.RUnlock()
	return false
}

// Delay is the back-off's rule.
var Delay = backoff.delay

type Backoff = backoff

func NewBackoff(cfg RelayConfig) Backoff {
	cfg = withDefaults(cfg)
	return backoff{min: cfg.MinBackoff, max: cfg.MaxBackoff, retryAfterMax: cfg.MaxRetryAfter}
}

// Index is the index of a directory whose records have one byte each, and
// eight keys among them.
type Index struct{ index *index }

func NewIndex() Index { return Index{newIndex()} }

func (x Index) name(at int64) recordName { return recordName{string(rune('a' + at%8)), at} }

func (x Index) Insert(at int64) bool { return x.index.insert(&entry{name: x.name(at), size: 1}) }

func (x Index) Remove(at int64) {
	if e := x.index.find(x.name(at)); e != nil {
		x.index.remove(e)
	}
}

// Times walks the index as Next does.
func (x Index) Times() []int64 {
	var times []int64
	at := int64(-1)
	none := func(*entry) bool { return false }
	for e := x.index.after(at, none); e != nil; e = x.index.after(at, none) {
		at = e.name.time
		times = append(times, at)
	}
	return times
}

func (x Index) Size() (int, int64) { return x.index.len(), x.index.bytes }

func (x Index) Oldest() (int64, bool) { return x.index.oldest() }
