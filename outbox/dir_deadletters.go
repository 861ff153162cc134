package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/outbox/event"
)

var _ DeadLetters = (*Dir)(nil)

// errNoReason is a caller's mistake that no caller needs to tell from others.
var errNoReason = errors.New("outbox: the reason must not be empty")

// DeadLetters lists files that were set aside, as [DeadLetters] says, the
// oldest records first; before them, by their names, files that were never
// records. The ID is the file's name.
func (d *Dir) DeadLetters(ctx context.Context, after string, limit int) ([]DeadLetter, error) {
	leave, err := d.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	files, err := d.asideAfter(after)
	if err != nil {
		return nil, err
	}
	var letters []DeadLetter
	for _, file := range files {
		if len(letters) >= limit {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if letter, found := d.deadLetter(file); found {
			letters = append(letters, letter)
		}
	}
	return letters, nil
}

// asideFile is a file that was set aside, or the name of one.
type asideFile struct {
	name string
	size int64
	// time is the record's place in the order; -1 for what has none.
	time int64
}

func newAsideFile(name string, size int64) asideFile {
	file := asideFile{name: name, size: size, time: -1}
	if parsed, err := parseQuarantinedName(name); err == nil {
		file.time = parsed.time
	}
	return file
}

func compareAside(a, b asideFile) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.name, b.name))
}

// asideAfter returns what stands after an ID, whether that is still one or not.
func (d *Dir) asideAfter(after string) ([]asideFile, error) {
	entries, err := d.fs.Entries()
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	from := newAsideFile(after, 0)
	var files []asideFile
	for _, entry := range entries {
		file := newAsideFile(entry.Name, entry.Size)
		if isAside(entry.Name) && (after == "" || compareAside(file, from) > 0) {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, compareAside)
	return files, nil
}

// isAside reports whether a file of this name was set aside.
func isAside(name string) bool {
	return strings.HasSuffix(name, badSuffix) && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00")
}

// deadLetter reads what is known of a file. It reports false if the file is not
// there any more.
func (d *Dir) deadLetter(file asideFile) (DeadLetter, bool) {
	why := d.readReason(file.name + reasonSuffix)
	letter := DeadLetter{ID: file.name, Size: file.size, Time: why.Time, Reason: why.Reason, Attempts: why.Attempts}
	switch read, err := d.readAside(file.name); {
	case errors.Is(err, ErrNoDeadLetter):
		return DeadLetter{}, false
	case err == nil:
		letter.Event = &read.event
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	letter.HoldsBack = d.held.has(file.name)
	return letter, true
}

// asideRecord is a record that was set aside.
type asideRecord struct {
	name  recordName
	event event.Event
}

// readAside reads a file that was set aside. errors.Is(err, X) is true where X
// is [ErrNoDeadLetter] (it is not there) or [ErrMalformed] (it is no record).
func (d *Dir) readAside(file string) (asideRecord, error) {
	if !isAside(file) {
		return asideRecord{}, noDeadLetter(file)
	}
	name, malformed := parseQuarantinedName(file)
	record, err := readRecord(d.fs, file, name)
	switch {
	case gone(err):
		return asideRecord{}, noDeadLetter(file)
	case malformed != nil:
		return asideRecord{}, fmt.Errorf("%w: %q", malformed, file)
	case err != nil:
		return asideRecord{}, err
	}
	return asideRecord{name, record}, nil
}

func noDeadLetter(file string) error { return fmt.Errorf("%w: %q", ErrNoDeadLetter, file) }

// Requeue puts a file that was set aside back into line, as [DeadLetters] says,
// and removes the reason. Under [GoOn], records of its ordering key that were
// delivered meanwhile stay delivered.
//
// Besides [ErrNoDeadLetter], errors.Is(err, X) is true where X is [ErrMalformed]
// (the file is still no record: mend it or its name by hand first),
// [ErrConflict] (a pending record has its key, or its time) or [ErrClosed];
// nothing was changed then.
func (d *Dir) Requeue(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	aside, err := d.readAside(id)
	if err != nil {
		return err
	}
	content, err := encodeRecord(aside.event)
	if err != nil {
		return err
	}
	e := &entry{name: aside.name, size: int64(len(content)), ordering: aside.event.Ordering(), writing: true}
	done, err := d.reserve(e)
	if err != nil {
		return err
	}
	defer done()
	return d.restore(id, e)
}

// reserve takes a requeued record's place in line. A Put of its key waits until
// done is called: before, the record has no file that Put could compare with.
func (d *Dir) reserve(e *entry) (done func(), err error) {
	key := e.name.key
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes[key] != nil || d.pending.byKey[key] != nil {
		return nil, fmt.Errorf("%w: a record of key %s is pending", ErrConflict, key)
	}
	if !d.pending.insert(e) {
		return nil, fmt.Errorf("%w: a pending record has the same time", ErrConflict)
	}
	w := &write{key: key, done: make(chan struct{})} // without content, so that no Put joins it
	d.writes[key] = w
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.writes, key)
		close(w.done)
	}, nil
}

// restore moves a file back under the name of e, which has a place in line.
func (d *Dir) restore(file string, e *entry) (err error) {
	barrier, err := d.fs.Barrier()
	if err != nil {
		d.notRestored(e)
		return fmt.Errorf("outbox: %w", err)
	}
	defer func() { err = errors.Join(err, barrier.Close()) }()
	if err := d.moveBack(file, e); err != nil {
		d.notRestored(e)
		return err
	}
	d.mu.Lock()
	e.writing = false
	d.deadLetters--
	d.held.remove(file)
	d.mu.Unlock()
	d.poke()
	if err := barrier.Sync(); err != nil {
		return fmt.Errorf("outbox: the record is pending, but a crash may set it aside again: %w", err)
	}
	return nil
}

// notRestored gives up a place in line, for which what follows may have waited.
func (d *Dir) notRestored(e *entry) {
	d.forget(e)
	d.poke()
}

// moveBack renames a file to what it was, and removes the reason while nobody
// can be handed the record: whoever sets it aside again writes a new one.
func (d *Dir) moveBack(file string, e *entry) error {
	// Whoever mended the file need not have synced it.
	if err := d.syncFile(file); err != nil {
		if gone(err) { // Another call requeued or discarded it.
			return noDeadLetter(file)
		}
		return fmt.Errorf("outbox: the content may not be durable; put a copy in place of the file before trying again: %w", err)
	}
	if err := d.fs.Rename(file, e.name.String()); err != nil {
		if gone(err) {
			return noDeadLetter(file)
		}
		return fmt.Errorf("outbox: %w", err)
	}
	if err := d.fs.Remove(file + reasonSuffix); err != nil && !gone(err) {
		d.logger.Warn("outbox: the reason of a requeued file could not be removed", "file", file, "error", err)
	}
	return nil
}
