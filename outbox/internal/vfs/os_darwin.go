package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// unnamedDrafts reports false: macOS has no unnamed files.
func unnamedDrafts(*os.File) bool { return false }

func (d *osDir) createUnnamed() (Draft, error) { return d.createNamed() }

func renameNoReplace(fd int, from, to string) error {
	err := unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return linkThenUnlink(fd, from, to)
	}
	return err //nolint:wrapcheck // The caller adds the name.
}

// volatile names the file system that lives in memory.
func volatile(stat *unix.Statfs_t) bool {
	return unix.ByteSliceToString(stat.Fstypename[:]) == "tmpfs"
}
