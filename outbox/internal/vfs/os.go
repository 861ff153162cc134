//go:build linux || darwin

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Options adjust [Open].
type Options struct {
	// NamedDrafts uses named drafts even where unnamed ones work.
	NamedDrafts bool
}

// Open opens the directory at path. One that does not exist is made, with its
// parents, and the names of all that were made are durable on return.
func Open(path string, options Options) (Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("vfs: %w", err)
	}
	if err := makeDurable(path, syncDir); err != nil {
		return nil, err
	}
	handle, err := openDir(path)
	if err != nil {
		return nil, err
	}
	return &osDir{path: path, handle: handle, named: options.NamedDrafts || !unnamedDrafts(handle)}, nil
}

// makeDurable makes path and what parents it lacks, and syncs each parent
// before the next step down. The last parent is synced in any case: an earlier
// process may have died between making the directory and syncing its name. Sync
// makes the names in a directory durable.
func makeDurable(path string, sync func(path string) error) error {
	parent := filepath.Dir(path)
	if parent == path {
		return nil
	}
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDurable(parent, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("vfs: %w", err)
	}
	return sync(parent)
}

func syncDir(path string) error {
	handle, err := openDir(path)
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}

func openDir(path string) (*os.File, error) {
	handle, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("vfs: %w", err)
	}
	return handle, nil
}

// osDir is a real directory. Every call goes through its handle, so that
// moving the directory moves the outbox with it.
type osDir struct {
	path   string
	handle *os.File
	named  bool
}

var _ Dir = (*osDir)(nil)

func (d *osDir) fd() int { return int(d.handle.Fd()) }

// fail gives an error the form of package os.
func (d *osDir) fail(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: operation, Path: filepath.Join(d.path, name), Err: err}
}

// uninterrupted makes a call again that a signal broke off, as package os does.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (d *osDir) open(name string, flags int) (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat(d.fd(), name, flags|unix.O_CLOEXEC, fileMode)
		return err //nolint:wrapcheck // fail does.
	})
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

func (d *osDir) Lock() error {
	err := unix.Flock(d.fd(), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s", ErrLocked, d.path)
	}
	return d.fail("flock", "", err)
}

func (d *osDir) Entries() ([]Entry, error) {
	handle, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	names, err := handle.Readdirnames(-1)
	if err := errors.Join(err, handle.Close()); err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		var stat unix.Stat_t
		err := unix.Fstatat(d.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, d.fail("fstatat", name, err)
		}
		entries = append(entries, Entry{Name: name, Size: stat.Size, Regular: stat.Mode&unix.S_IFMT == unix.S_IFREG})
	}
	return entries, nil
}

func (d *osDir) Open(name string) (File, error) {
	file, err := d.open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		// A symbolic link, a socket or a device without a driver.
		return nil, d.fail("open", name, ErrNotRegular)
	case err != nil:
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = d.fail("open", name, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (d *osDir) Create() (Draft, error) {
	if d.named {
		return d.createNamed()
	}
	return d.createUnnamed()
}

func (d *osDir) Barrier() (Barrier, error) {
	return d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
}

func (d *osDir) Rename(from, to string) error {
	err := uninterrupted(func() error { return renameNoReplace(d.fd(), from, to) })
	return d.fail("rename", from, err)
}

// linkThenUnlink renames without replacing where the file system has no call
// for it. A crash in between leaves both names, which a reader takes for a
// duplicate.
func linkThenUnlink(fd int, from, to string) error {
	if err := unix.Linkat(fd, from, fd, to, 0); err != nil {
		return err //nolint:wrapcheck // The caller adds the name.
	}
	return unix.Unlinkat(fd, from, 0) //nolint:wrapcheck // The caller adds the name.
}

func (d *osDir) Remove(name string) error {
	err := uninterrupted(func() error { return unix.Unlinkat(d.fd(), name, 0) })
	return d.fail("unlink", name, err)
}

func (d *osDir) SweepDrafts() error {
	entries, err := d.Entries()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name, DraftPrefix) || !entry.Regular {
			continue
		}
		if err := d.Remove(entry.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *osDir) Space() (Space, error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &stat); err != nil {
		return Space{}, d.fail("fstatfs", "", err)
	}
	return Space{Bytes: stat.Bavail * uint64(stat.Bsize), Inodes: stat.Ffree}, nil //nolint:gosec,nolintlint // A size is not negative, and only Linux has it signed.
}

func (d *osDir) Volatile() (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &stat); err != nil {
		return false, d.fail("fstatfs", "", err)
	}
	return volatile(&stat), nil
}

// Close unlocks by itself: a process that is just being forked holds every
// handle until it runs its own program, and a lock with it.
func (d *osDir) Close() error {
	unlocked := d.fail("flock", "", unix.Flock(d.fd(), unix.LOCK_UN))
	return errors.Join(unlocked, d.fail("close", "", d.handle.Close()))
}
