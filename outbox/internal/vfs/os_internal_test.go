//go:build linux

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestWhatIsMadeIsSyncedBeforeTheNextStepDown records the syncs, each with
// whether the directory below had been made by then.
func TestWhatIsMadeIsSyncedBeforeTheNextStepDown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "c")
	var synced []string
	record := func(dir string) error {
		relative, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		synced = append(synced, relative)
		made, err := os.ReadDir(dir)
		if err != nil || len(made) != 1 {
			t.Errorf("%s was synced with %v in it (%v), want the one directory that was made", relative, made, err)
		}
		return nil
	}
	for _, want := range [][]string{{".", "a", "a/b"}, {"a/b"}} { // the second time it is all there
		synced = nil
		if err := makeDurable(path, record); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, synced); diff != "" {
			t.Errorf("synced directories (-want +got):\n%s", diff)
		}
	}
	errSync := errors.New("input/output error")
	below := filepath.Join(path, "d", "e")
	if err := makeDurable(below, func(string) error { return errSync }); !errors.Is(err, errSync) {
		t.Errorf("%v, want the error of the sync", err)
	}
	if _, err := os.Stat(below); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v: a step down was taken before the parent was durable", err)
	}
}

// TestCloseUnlocksBesideAFork holds a second descriptor of the handle, as a child
// between fork and exec does.
func TestCloseUnlocksBesideAFork(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	opened, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := opened.(*osDir)
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	child, err := unix.Dup(first.fd())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Lock(); err != nil {
		t.Errorf("Lock after Close: %v", err)
	}
}
