package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// restInterval is when a file that could not be read is tried again.
const restInterval = 30 * time.Second

// Next hands out pending records, oldest first, as [Source] says. Files that
// turn out to be no records are set aside. One that can't be read for another
// reason, such as a failing disk or too many open files, is passed over and
// tried again after half a minute; while its ordering key is not known, it
// holds back no other.
func (d *Dir) Next(ctx context.Context, limit int, except map[string]struct{}) ([]Record, error) {
	leave, err := d.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	defer d.beginPass()()
	// behind are ordering keys with an earlier record that can't be had now.
	behind := make(map[string]struct{})
	skip := func(e *entry) bool {
		_, excepted := except[e.ordering]
		_, waits := behind[e.ordering]
		return e.out || e.ordering != "" && (excepted || waits || d.held.holds(e.ordering, e.name.time))
	}
	var records []Record
	for at := int64(-1); len(records) < limit; {
		if err := ctx.Err(); err != nil {
			return records, err
		}
		e, known := d.nextEntry(at, skip)
		if e == nil {
			break
		}
		at = e.name.time
		var record Record
		loaded := false
		if !known.writing && !known.resting {
			record, loaded = d.load(e)
		}
		switch {
		case !loaded && known.ordering != "" && !d.isRemoved(e):
			behind[known.ordering] = struct{}{}
		case loaded && d.handOut(e, skip):
			records = append(records, record)
		}
	}
	return records, nil
}

// beginPass begins a walk along the pending records, and returns what ends it.
func (d *Dir) beginPass() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held.beginPass()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held.endPass()
	}
}

// nextEntry returns the first entry later than at that is not skipped, and a
// copy of it as it is now.
func (d *Dir) nextEntry(at int64, skip func(*entry) bool) (*entry, entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.pending.after(at, skip)
	if e == nil {
		return nil, entry{}
	}
	return e, *e
}

// handOut marks an entry whose ordering key is known by now. It reports false
// if that must be skipped, or went meanwhile, or to another call.
func (d *Dir) handOut(e *entry, skip func(*entry) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.removed || skip(e) {
		return false
	}
	e.out = true
	return true
}

func (d *Dir) isRemoved(e *entry) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return e.removed
}

// load reads an entry's record and remembers its ordering key. It reports false
// where there is no record to deliver now.
func (d *Dir) load(e *entry) (Record, bool) {
	file := e.name.String()
	record, err := readRecord(d.fs, file, e.name)
	switch {
	case gone(err):
		d.forget(e) // Removed by a concurrent call, or by hand.
		return Record{}, false
	case errors.Is(err, ErrMalformed):
		if err = d.poisoned(e, err); err == nil {
			return Record{}, false
		}
	}
	if err != nil {
		d.logger.Error("outbox: a record could not be read; it stays", "file", file, "error", err)
		d.rest(e)
		return Record{}, false
	}
	d.mu.Lock()
	e.ordering = record.Ordering()
	d.mu.Unlock()
	return Record{ID: file, Event: record, Added: time.Unix(0, e.name.time).UTC()}, true
}

// rest leaves an entry alone for a while: Next is called many times a second,
// and a disk that can't read a block takes its time to say so.
func (d *Dir) rest(e *entry) {
	setResting := func(resting bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		e.resting = resting
	}
	setResting(true)
	time.AfterFunc(restInterval, func() {
		setResting(false)
		d.poke()
	})
}

// Remove unlinks delivered records, as [Source] says. It syncs nothing, and
// works on a full disk.
func (d *Dir) Remove(_ context.Context, records []Record) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	var failed []error
	for _, record := range records {
		failed = append(failed, d.removeRecord(record))
	}
	return errors.Join(failed...)
}

func (d *Dir) removeRecord(record Record) error {
	e, err := d.lookup(record)
	if err != nil || e == nil {
		return err
	}
	if err := d.fs.Remove(e.name.String()); err != nil && !gone(err) {
		return fmt.Errorf("outbox: %w", err)
	}
	d.forget(e)
	return nil
}

// SetAside renames a record to .bad and writes the reason beside it, as
// [Source] says. Nothing is synced: a crash may make the record pending again,
// and what it holds back then stands behind it. Setting aside one that is gone
// is no error.
func (d *Dir) SetAside(_ context.Context, record Record, why Refusal) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	e, err := d.lookup(record)
	if err != nil || e == nil {
		return err
	}
	return d.quarantine(e, why, record.Event.Ordering())
}

// Release takes records back, as [Source] says.
func (d *Dir) Release(records []Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, record := range records {
		name, err := parseRecordName(record.ID)
		if err != nil {
			continue // Not of this source: nothing of it is out.
		}
		if e := d.pending.find(name); e != nil {
			e.out = false
		}
	}
}

// lookup returns the entry of a record, nil if it is not pending any more.
func (d *Dir) lookup(record Record) (*entry, error) {
	name, err := parseRecordName(record.ID)
	if err != nil {
		return nil, fmt.Errorf("outbox: record id %q is not of this source: %w", record.ID, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending.find(name), nil
}

// Wake returns the channel that tells of new records, as [Source] says.
func (d *Dir) Wake() <-chan struct{} { return d.wake }
