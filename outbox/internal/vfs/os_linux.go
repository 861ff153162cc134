package vfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamedDraft is a file without a name (O_TMPFILE): a crash leaves nothing to
// sweep.
type unnamedDraft struct {
	*os.File
	dir *osDir
}

var _ Draft = (*unnamedDraft)(nil)

// unnamedDrafts reports whether the directory's file system has unnamed files
// and /proc is there to name them.
func unnamedDrafts(handle *os.File) bool {
	fd, err := unix.Openat(int(handle.Fd()), ".", unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, fileMode)
	if err != nil {
		return false
	}
	_, err = os.Lstat(descriptorPath(fd))
	return errors.Join(err, unix.Close(fd)) == nil
}

func (d *osDir) createUnnamed() (Draft, error) {
	file, err := d.open(".", unix.O_WRONLY|unix.O_TMPFILE)
	if err != nil {
		return nil, err
	}
	return &unnamedDraft{File: file, dir: d}, nil
}

// Publish links through /proc, because linking a descriptor itself
// (AT_EMPTY_PATH) takes a capability on most kernels.
func (f *unnamedDraft) Publish(name string) error {
	err := uninterrupted(func() error {
		return unix.Linkat(unix.AT_FDCWD, descriptorPath(int(f.Fd())), f.dir.fd(), name, unix.AT_SYMLINK_FOLLOW)
	})
	return f.dir.fail("link", name, err)
}

func descriptorPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func renameNoReplace(fd int, from, to string) error {
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return linkThenUnlink(fd, from, to)
	}
	return err //nolint:wrapcheck // The caller adds the name.
}

// volatile names the file systems that live in memory.
func volatile(stat *unix.Statfs_t) bool {
	return stat.Type == unix.TMPFS_MAGIC || stat.Type == unix.RAMFS_MAGIC
}
