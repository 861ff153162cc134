package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// maxReason is the greatest length in bytes of a reason that is written beside
// a file.
const maxReason = 4096

// reasonFile is the content of a .reason file.
type reasonFile struct {
	Time     time.Time `json:"time"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
}

// moveAside renames a file to .bad, never over an older one, and writes the
// reason beside it. A reason that can't be written holds up nothing: the file
// is moved all the same. Nothing is synced: what a crash brings back is set
// aside again.
func (d *Dir) moveAside(file string, why Refusal) error {
	for n := 1; ; n++ {
		name := quarantinedName(file, n)
		err := d.fs.Rename(file, name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		d.mu.Lock()
		d.quarantined++
		d.mu.Unlock()
		if err := d.writeReason(name+reasonSuffix, why); err != nil {
			d.logger.Warn("outbox: the reason could not be written beside a file that was set aside", "file", name, "error", err)
		}
		return nil
	}
}

// poisoned sets aside the file of an entry that turned out to be no record.
func (d *Dir) poisoned(e *entry, reason error) error {
	d.logger.Error("outbox: a file is no record and is set aside", "file", e.name.String(), "reason", cutReason(reason.Error()))
	return d.quarantine(e, Refusal{Reason: reason.Error()})
}

// quarantine sets a pending record's file aside. One that is gone was
// delivered, and is no error.
func (d *Dir) quarantine(e *entry, why Refusal) error {
	if err := d.moveAside(e.name.String(), why); err != nil && !gone(err) {
		return err
	}
	d.forget(e)
	return nil
}

func (d *Dir) writeReason(name string, why Refusal) (err error) {
	content, err := json.Marshal(reasonFile{d.now().UTC(), cutReason(why.Reason), why.Attempts})
	if err != nil {
		return err
	}
	// A reason without its file is left where an operator moved the file.
	if err := d.fs.Remove(name); err != nil && !gone(err) {
		return err
	}
	draft, err := d.fs.Create()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	if _, err := draft.Write(append(content, '\n')); err != nil {
		return err
	}
	return draft.Publish(name)
}

// cutReason keeps a hostile reason from filling the disk, and says so.
func cutReason(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(reason[:maxReason], ""), len(reason))
}

// Quarantined is one file that was set aside.
type Quarantined struct {
	// File is its name in the directory. [Dir.Requeue] takes it.
	File string
	// Size is its size in bytes.
	Size int64
	// Time, Reason and Attempts are when and why it was set aside, and how
	// often it had been sent by then. All are zero where the reason could
	// not be written.
	Time     time.Time
	Reason   string
	Attempts int
}

// Quarantined lists the files that were set aside, by the names they have.
// Those of one key are in their old order.
func (d *Dir) Quarantined(ctx context.Context) ([]Quarantined, error) {
	leave, err := d.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	files, err := d.fs.Entries()
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	var found []Quarantined
	for _, file := range files {
		if !strings.HasSuffix(file.Name, badSuffix) || strings.HasPrefix(file.Name, ".") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		why := d.readReason(file.Name + reasonSuffix)
		found = append(found, Quarantined{file.Name, file.Size, why.Time, why.Reason, why.Attempts})
	}
	slices.SortFunc(found, func(a, b Quarantined) int { return strings.Compare(a.File, b.File) })
	return found, nil
}

// readReason returns the zero value where there is no reason that can be read.
func (d *Dir) readReason(name string) reasonFile {
	content, err := readFile(d.fs, name)
	if err != nil {
		return reasonFile{}
	}
	var why reasonFile
	if err := json.Unmarshal(content, &why); err != nil {
		return reasonFile{}
	}
	return why
}

// Requeue puts a file that was set aside back into line, at its old place, and
// removes the reason. Records of its ordering key that were delivered meanwhile
// stay delivered.
//
// Nil: the record is pending, durably. errors.Is(err, X) is true where X is
// [ErrNotQuarantined], [ErrMalformed] (the file is still no record: mend it or
// its name by hand first), [ErrConflict] (the key has a pending record) or
// [ErrClosed]; nothing was changed then. Any other error: the record may be
// pending or still set aside; it is not lost.
func (d *Dir) Requeue(ctx context.Context, file string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if strings.ContainsAny(file, `/\`) {
		return fmt.Errorf("%w: %q is not a plain name", ErrNotQuarantined, file)
	}
	name, err := parseQuarantinedName(file)
	if err != nil {
		return fmt.Errorf("%w: %q", err, file)
	}
	record, err := readRecord(d.fs, file, name)
	if gone(err) {
		return fmt.Errorf("%w: %q", ErrNotQuarantined, file)
	}
	if err != nil {
		return err
	}
	content, err := encodeRecord(record)
	if err != nil {
		return err
	}
	e := &entry{name: name, size: int64(len(content)), ordering: record.Ordering(), writing: true}
	done, err := d.reserve(e)
	if err != nil {
		return err
	}
	defer done()
	return d.restore(file, e)
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
		d.forget(e)
		return fmt.Errorf("outbox: %w", err)
	}
	defer func() { err = errors.Join(err, barrier.Close()) }()
	// Whoever mended the file need not have synced it.
	if err := d.syncFile(file); err != nil {
		d.forget(e)
		if gone(err) { // Another call requeued it.
			return fmt.Errorf("%w: %q", ErrNotQuarantined, file)
		}
		return fmt.Errorf("outbox: the content may not be durable; put a copy in place of the file before trying again: %w", err)
	}
	if err := d.fs.Rename(file, e.name.String()); err != nil {
		d.forget(e)
		return fmt.Errorf("outbox: %w", err)
	}
	d.mu.Lock()
	e.writing = false
	d.quarantined--
	d.mu.Unlock()
	d.poke()
	if err := d.fs.Remove(file + reasonSuffix); err != nil && !gone(err) {
		d.logger.Warn("outbox: the reason of a requeued file could not be removed", "file", file, "error", err)
	}
	if err := barrier.Sync(); err != nil {
		return fmt.Errorf("outbox: the record is pending, but a crash may set it aside again: %w", err)
	}
	return nil
}
