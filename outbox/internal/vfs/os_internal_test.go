//go:build linux

package vfs

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFileSystemsInMemoryAreKnown(t *testing.T) {
	t.Parallel()
	for kind, want := range map[int64]bool{
		unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.XFS_SUPER_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false,
	} {
		if got := volatile(&unix.Statfs_t{Type: kind}); got != want {
			t.Errorf("volatile(%#x) = %v", kind, got)
		}
	}
}

// TestRenameWithoutTheCall takes the way that file systems without
// RENAME_NOREPLACE need.
func TestRenameWithoutTheCall(t *testing.T) {
	t.Parallel()
	opened, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := opened.(*osDir)
	defer dir.Close()
	for _, name := range []string{"a", "b"} {
		draft, err := dir.Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := draft.Publish(name); err != nil {
			t.Fatal(err)
		}
		if err := draft.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkThenUnlink(dir.fd(), "a", "b"); !errors.Is(err, unix.EEXIST) {
		t.Errorf("over a file: %v, want %v", err, unix.EEXIST)
	}
	if err := linkThenUnlink(dir.fd(), "a", "c"); err != nil {
		t.Error(err)
	}
	entries, err := dir.Entries()
	if err != nil || len(entries) != 2 || entries[0].Name == "a" || entries[1].Name == "a" {
		t.Errorf("entries %v, %v; want b and c", entries, err)
	}
}
