package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// maxReason is the greatest length in bytes of a reason that is written beside
// a file.
const maxReason = 4096

// reasonFile is the content of a .reason file. Do not change: it is on disks.
type reasonFile struct {
	Time      time.Time        `json:"time"`
	Reason    string           `json:"reason"`
	Attempts  int              `json:"attempts"`
	Discarded *discardedReason `json:"discarded,omitempty"`
}

// discardedReason is what [Dir.Discard] adds.
type discardedReason struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

// moveAside renames a file to .bad, never over an older one, and writes the
// reason beside it. A reason that can't be written holds up
// nothing: the file is moved all the same. Nothing is synced: what a crash
// brings back is set aside again.
//
// If line is not nil, it is held back from before the file has its new name:
// from then on an operator may end that.
func (d *Dir) moveAside(file string, why Refusal, line *heldLine) error {
	for n := 1; ; n++ {
		name := quarantinedName(file, n)
		if !d.holdBack(name, line) {
			continue
		}
		err := d.fs.Rename(file, name)
		if err != nil && line != nil {
			d.endHold(name)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		d.mu.Lock()
		d.deadLetters++
		d.mu.Unlock()
		if err := d.writeReason(name+reasonSuffix, why); err != nil {
			d.logger.Warn("outbox: the reason could not be written beside a file that was set aside", "file", name, "error", err)
		}
		return nil
	}
}

// holdBack reports false, and changes nothing, where another file of that name
// holds back already.
func (d *Dir) holdBack(file string, line *heldLine) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return line == nil || d.held.add(file, *line)
}

// heldLine returns what a record holds back once it is a dead letter, or nil.
// An ordering key that is not known is "".
func (d *Dir) heldLine(ordering string, time int64) *heldLine {
	if ordering == "" || d.policy != HoldBack {
		return nil
	}
	return &heldLine{ordering, time}
}

func (d *Dir) endHold(file string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held.remove(file)
}

// poisoned sets aside the file of an entry that turned out to be no record. It
// holds back nothing: what it was meant to say is not known.
func (d *Dir) poisoned(e *entry, reason error) error {
	d.logger.Error("outbox: a file is no record and is set aside", "file", e.name.String(), "reason", cutReason(reason.Error()))
	return d.quarantine(e, Refusal{Reason: reason.Error()}, "")
}

// quarantine sets a pending record's file aside, and holds back what follows in
// the ordering key if it has one. A file that is gone was delivered, and is no
// error.
func (d *Dir) quarantine(e *entry, why Refusal, ordering string) error {
	if err := d.moveAside(e.name.String(), why, d.heldLine(ordering, e.name.time)); err != nil && !gone(err) {
		return err
	}
	d.forget(e)
	return nil
}

func (d *Dir) writeReason(name string, why Refusal) (err error) {
	content, err := encodeReason(reasonFile{Time: d.now().UTC(), Reason: cutReason(why.Reason), Attempts: why.Attempts})
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
	if _, err := draft.Write(content); err != nil {
		return err
	}
	return draft.Publish(name)
}

func encodeReason(why reasonFile) ([]byte, error) {
	content, err := json.Marshal(why)
	return append(content, '\n'), err
}

// cutReason keeps a hostile reason from filling the disk, and says so.
func cutReason(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(reason[:maxReason], ""), len(reason))
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
