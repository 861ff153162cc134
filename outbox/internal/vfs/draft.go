//go:build linux || darwin

package vfs

import (
	"crypto/rand"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// namedDraft is a draft with a name that no reader takes for a record.
type namedDraft struct {
	*os.File
	dir       *osDir
	name      string
	published bool
}

var _ Draft = (*namedDraft)(nil)

func (d *osDir) createNamed() (Draft, error) {
	name := DraftPrefix + rand.Text()
	file, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return &namedDraft{File: file, dir: d, name: name}, nil
}

func (f *namedDraft) Publish(name string) error {
	if err := f.dir.Rename(f.name, name); err != nil {
		return err
	}
	f.published = true
	return nil
}

func (f *namedDraft) Close() error {
	err := f.dir.fail("close", f.name, f.File.Close())
	if f.published {
		return err
	}
	return errors.Join(err, f.dir.Remove(f.name))
}
