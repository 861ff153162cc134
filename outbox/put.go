package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// unhealthyAfter is how many failures of the disk in a row make the directory
// unhealthy.
const unhealthyAfter = 3

// Put makes e durable. It blocks until the record is on disk, however long the
// disk is full or failing: it tries again every second, and [Stats] tells.
//
// A directory holds one record a Key, whatever the event's ID. Nil means that
// the record is durable: this call wrote it, or a record of the same Key with
// the same content, as [event.Event.MarshalJSON] gives it, was there and was
// synced anew; it may have been delivered since. A record of the same Key with
// any other content, be it another Fingerprint, ID or Time, is [ErrConflict].
// Records that were delivered or set aside are forgotten here: the receiver's
// receipt is what tells a repeat.
//
// An error that is [event.ErrInvalid], [ErrTooLarge], [ErrUnreadable],
// [ErrConflict], or [ErrClosed] alone means that nothing was written.
// [ErrUnacknowledged] means that the record may exist, now or later: ctx was
// done, which does not take the record back, or [Dir.Close] gave up. So does a
// crash. Putting the same event again is safe in every case.
//
// Records are in the order of their Puts: one that began after another returned
// nil comes after it. Put keeps nothing of e.
func (d *Dir) Put(ctx context.Context, e event.Event) error {
	content, err := encodeRecord(e)
	if err != nil {
		return err
	}
	if err := d.acquireSlot(ctx); err != nil {
		return err
	}
	w, mine, err := d.join(ctx, &write{
		key:      encodeKey(e.Key),
		ordering: e.Ordering(),
		content:  content,
		done:     make(chan struct{}),
	})
	if !mine {
		defer d.releaseSlot()
	}
	if err != nil {
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return d.unacknowledged(ctx.Err())
	}
}

func (d *Dir) acquireSlot(ctx context.Context) error {
	select {
	case <-d.closing:
		return ErrClosed
	case d.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case <-d.closing:
		return ErrClosed
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return d.unacknowledged(ctx.Err())
	}
}

func (d *Dir) releaseSlot() { <-d.slots }

func (d *Dir) unacknowledged(cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Errorf("%w: %w", ErrUnacknowledged, errors.Join(cause, d.lastFailure))
}

// write is one record on its way to the disk.
type write struct {
	key      string
	ordering string
	content  []byte

	// entry is the record's place in the index; nil until it has one.
	entry *entry
	// linked says that the entry's name may be in the directory without
	// being durable.
	linked bool
	// replaces is an older file of the same record whose sync failed. It is
	// removed once this one is durable.
	replaces *entry

	done chan struct{} // closed when err is set
	err  error
}

// join starts w, or returns the write of the same record that is going on. It
// waits for one of the same key with other content to end, because only then
// is it clear what w conflicts with.
func (d *Dir) join(ctx context.Context, w *write) (joined *write, mine bool, err error) {
	for {
		d.mu.Lock()
		other := d.writes[w.key]
		switch {
		case d.isClosing():
			d.mu.Unlock()
			return nil, false, ErrClosed
		case other == nil:
			d.writes[w.key] = w
			d.writers.Add(1)
			d.mu.Unlock()
			go d.write(w)
			return w, true, nil
		}
		d.mu.Unlock()
		if bytes.Equal(other.content, w.content) {
			return other, false, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, false, d.unacknowledged(ctx.Err())
		}
	}
}

// write tries until the record is durable, conflicts, or is given up.
func (d *Dir) write(w *write) {
	defer d.writers.Done()
	for {
		err := d.tryWrite(w)
		if err == nil || errors.Is(err, ErrConflict) {
			d.finish(w, err)
			return
		}
		d.diskFailed(err)
		if !d.pause() {
			d.finish(w, fmt.Errorf("%w: %w: %w", ErrUnacknowledged, ErrClosed, err))
			return
		}
	}
}

// pause waits for the next attempt. It reports false if there is none.
func (d *Dir) pause() bool {
	timer := time.NewTimer(retryInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.abandon:
		return false
	}
}

// finish publishes the end of a write and frees its slot.
func (d *Dir) finish(w *write, err error) {
	d.mu.Lock()
	delete(d.writes, w.key)
	switch {
	case err == nil:
		d.failures, d.lastFailure = 0, nil
		if w.entry != nil {
			w.entry.writing = false
		}
	case w.entry != nil:
		d.pending.remove(w.entry)
	}
	if errors.Is(err, ErrUnacknowledged) {
		d.abandoned++
	}
	d.mu.Unlock()
	d.releaseSlot()
	w.err = err
	close(w.done)
	d.poke()
}

func (d *Dir) diskFailed(err error) {
	d.mu.Lock()
	d.failures++
	d.lastFailure = err
	first := d.failures == unhealthyAfter
	d.mu.Unlock()
	if first {
		d.logger.Error("outbox: the disk keeps failing; producers wait", "error", err)
	}
}

// tryWrite makes one attempt to make the record durable.
func (d *Dir) tryWrite(w *write) error {
	if w.entry == nil {
		known, err := d.affirm(w)
		if known || err != nil {
			return err
		}
		if err := d.place(w); err != nil {
			return err
		}
	}
	if w.linked {
		if err := d.fs.Remove(w.entry.name.String()); err != nil && !gone(err) {
			return err
		}
		w.linked = false
	}
	if err := d.writeFile(w); err != nil {
		if errors.Is(err, fs.ErrExist) { // A file that is not ours has the name. Take another.
			return errors.Join(err, d.place(w))
		}
		return err
	}
	if w.replaces != nil {
		d.removeReplaced(w.replaces)
	}
	return nil
}

// place gives w its place in the order: at the end, or behind the file that it
// replaces. It fails where a file has the last time that a name can have: a
// record behind it could not be found again (I7).
func (d *Dir) place(w *write) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.pending.nextTime(d.now().UnixNano())
	if w.replaces != nil {
		at = d.pending.timeAfter(w.replaces.name.time)
	}
	if at >= maxNameTime {
		return errTimesExhausted
	}
	if w.entry != nil {
		d.pending.remove(w.entry)
	}
	w.entry = &entry{
		name:     recordName{key: w.key, time: at},
		size:     int64(len(w.content)),
		ordering: w.ordering,
		writing:  true,
	}
	d.pending.insert(w.entry)
	return nil
}

// errTimesExhausted is a matter for people: no clock gets there.
var errTimesExhausted = errors.New("outbox: no time is left for a new record: the directory has a file that is dated at the end of 2261; close the directory and rename the file")

// writeFile takes the steps that make a record durable, in the order that
// makes them count: content, sync, name, sync of the names, and only then
// success. After a failed step everything is made anew from memory, because
// the kernel reports a failed write-back once and a repeated sync may lie (I7).
func (d *Dir) writeFile(w *write) (err error) {
	barrier, err := d.fs.Barrier()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, barrier.Close()) }()
	draft, err := d.fs.Create()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	if _, err := draft.Write(w.content); err != nil {
		return err
	}
	if err := draft.Sync(); err != nil {
		return err
	}
	w.linked = true
	if err := draft.Publish(w.entry.name.String()); err != nil {
		w.linked = !errors.Is(err, fs.ErrExist)
		return err
	}
	return barrier.Sync()
}

// affirm looks whether the record is in the directory already, from an earlier
// Put or an earlier process, and makes sure that it is durable. It reports
// false if w must be written.
func (d *Dir) affirm(w *write) (known bool, err error) {
	for _, e := range d.entriesOf(w.key) {
		stored, err := readRecord(d.fs, e.name.String(), e.name)
		switch {
		case gone(err): // Delivered meanwhile.
			continue
		case errors.Is(err, ErrMalformed):
			if moveErr := d.poisoned(e, err); moveErr != nil {
				return false, moveErr
			}
			continue
		case err != nil:
			return false, err
		}
		content, err := encodeRecord(stored)
		if err != nil {
			return false, err
		}
		if !bytes.Equal(content, w.content) {
			return false, fmt.Errorf("%w: key %s, stored fingerprint %s, see %s", ErrConflict, stored.Key, stored.Fingerprint, e.name)
		}
		if err := d.resync(e); err != nil {
			w.replaces = e
			d.diskFailed(err)
			return false, nil
		}
		return true, nil
	}
	return false, nil
}

func (d *Dir) entriesOf(key string) []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*entry(nil), d.pending.byKey[key]...)
}

// resync syncs a file whose name is there: a name on disk may never have been
// durable. One that is gone was delivered, which is as good.
func (d *Dir) resync(e *entry) (err error) {
	barrier, err := d.fs.Barrier()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, barrier.Close()) }()
	switch err := d.syncFile(e.name.String()); {
	case gone(err):
		return nil
	case err != nil:
		return err
	}
	return barrier.Sync()
}

// syncFile makes the content of an existing file durable.
func (d *Dir) syncFile(name string) error {
	file, err := d.fs.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// removeReplaced removes a file that has a durable successor. If it can't, the
// record is delivered twice.
func (d *Dir) removeReplaced(e *entry) {
	if err := d.fs.Remove(e.name.String()); err != nil && !gone(err) {
		d.logger.Warn("outbox: a replaced file could not be removed; it will be delivered again", "file", e.name.String(), "error", err)
		return
	}
	d.forget(e)
}

func (d *Dir) forget(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.remove(e)
}
