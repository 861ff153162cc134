package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Discard renames a file that was set aside to .discarded and writes both
// reasons beside it, as [DeadLetters] says. Nothing reads either again.
//
// Nil: that is durable. Besides [ErrNoDeadLetter], errors.Is(err, [ErrClosed])
// is true after Close. After any other error, such as a full disk, the file is
// still set aside, or a crash may set it aside again; it is not lost.
func (d *Dir) Discard(ctx context.Context, id, reason string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if reason == "" {
		return errNoReason
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if !isAside(id) {
		return noDeadLetter(id)
	}
	why := d.readReason(id + reasonSuffix)
	why.Discarded = &discardedReason{d.now().UTC(), cutReason(reason)}
	return d.discard(id, why)
}

func (d *Dir) discard(file string, why reasonFile) (err error) {
	barrier, err := d.fs.Barrier()
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer func() { err = errors.Join(err, barrier.Close()) }()
	switch err := d.renameDiscarded(file, why); {
	case gone(err):
		return noDeadLetter(file)
	case err != nil:
		return fmt.Errorf("outbox: %w", err)
	}
	d.mu.Lock()
	d.deadLetters--
	d.held.remove(file)
	d.mu.Unlock()
	d.poke()
	if err := d.fs.Remove(file + reasonSuffix); err != nil && !gone(err) {
		d.logger.Warn("outbox: the old reason of a discarded file could not be removed", "file", file, "error", err)
	}
	if err := barrier.Sync(); err != nil {
		return fmt.Errorf("outbox: the record is discarded, but a crash may set it aside again: %w", err)
	}
	return nil
}

// renameDiscarded writes the reasons first: a file that nobody looks at any
// more must say why. A crash in between leaves them without their file.
func (d *Dir) renameDiscarded(file string, why reasonFile) error {
	for n := 1; ; n++ {
		name := discardedName(file, n)
		err := d.publishReason(name+reasonSuffix, why)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = d.fs.Rename(file, name)
		}
		if err == nil {
			return nil
		}
		exists := errors.Is(err, fs.ErrExist)
		if removeErr := d.fs.Remove(name + reasonSuffix); removeErr != nil && !gone(removeErr) {
			d.logger.Warn("outbox: the reason of a file that could not be discarded stays", "file", name, "error", removeErr)
		}
		if !exists {
			return err
		}
	}
}

// publishReason writes a durable reason, and never replaces one:
// [io/fs.ErrExist].
func (d *Dir) publishReason(name string, why reasonFile) (err error) {
	content, err := encodeReason(why)
	if err != nil {
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
	if err := draft.Sync(); err != nil {
		return err
	}
	return draft.Publish(name)
}
