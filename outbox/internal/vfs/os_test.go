//go:build linux || darwin

package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/internal/vfs"
)

// bothDrafts runs a test with whatever drafts the system has and with named
// ones, which must behave alike.
func bothDrafts(t *testing.T, test func(t *testing.T, path string, dir vfs.Dir)) {
	t.Helper()
	for name, options := range map[string]vfs.Options{"default drafts": {}, "named drafts": {NamedDrafts: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			test(t, path, open(t, path, options))
		})
	}
}

func open(t *testing.T, path string, options vfs.Options) vfs.Dir {
	t.Helper()
	dir, err := vfs.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return dir
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func draft(t *testing.T, dir vfs.Dir, content string) vfs.Draft {
	t.Helper()
	draft, err := dir.Create()
	must(t, err)
	_, err = draft.Write([]byte(content))
	must(t, err, draft.Sync())
	return draft
}

func names(t *testing.T, dir vfs.Dir) []string {
	t.Helper()
	entries, err := dir.Entries()
	must(t, err)
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name)
	}
	slices.Sort(found)
	return found
}

func read(t *testing.T, dir vfs.Dir, name string) string {
	t.Helper()
	file, err := dir.Open(name)
	must(t, err)
	content, err := io.ReadAll(file)
	must(t, err, file.Sync(), file.Close())
	return string(content)
}

func TestADraftAppearsWholeUnderItsNameAndReplacesNothing(t *testing.T) {
	t.Parallel()
	bothDrafts(t, func(t *testing.T, _ string, dir vfs.Dir) {
		t.Helper()
		barrier, err := dir.Barrier()
		must(t, err)
		first, second := draft(t, dir, "first"), draft(t, dir, "second")
		if visible := slices.DeleteFunc(names(t, dir), func(name string) bool { return strings.HasPrefix(name, vfs.DraftPrefix) }); len(visible) != 0 {
			t.Errorf("%q are visible before they are published", visible)
		}
		must(t, first.Publish("a"), barrier.Sync(), barrier.Close(), first.Close())
		if err := second.Publish("a"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Publish over a file: %v, want %v", err, fs.ErrExist)
		}
		must(t, second.Close())
		if diff := cmp.Diff([]string{"a"}, names(t, dir)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		if got := read(t, dir, "a"); got != "first" {
			t.Errorf("a holds %q", got)
		}
	})
}

func TestSweepRemovesWhatADeadProcessLeftAndNothingElse(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := open(t, path, vfs.Options{NamedDrafts: true})
	for _, name := range []string{vfs.DraftPrefix + "dead", "a", ".hidden"} {
		must(t, os.WriteFile(filepath.Join(path, name), nil, 0o600))
	}
	must(t, dir.SweepDrafts())
	if diff := cmp.Diff([]string{".hidden", "a"}, names(t, dir)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestRenameReplacesNothing(t *testing.T) {
	t.Parallel()
	bothDrafts(t, func(t *testing.T, path string, dir vfs.Dir) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(path, "a"), []byte("a"), 0o600), os.WriteFile(filepath.Join(path, "b"), []byte("b"), 0o600))
		if err := dir.Rename("a", "b"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Rename over a file: %v, want %v", err, fs.ErrExist)
		}
		must(t, dir.Rename("a", "c"))
		if got := read(t, dir, "b") + read(t, dir, "c"); got != "ba" {
			t.Errorf("b and c hold %q", got)
		}
		if err := dir.Rename("a", "d"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Rename of nothing: %v, want %v", err, fs.ErrNotExist)
		}
		if err := dir.Remove("a"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove of nothing: %v, want %v", err, fs.ErrNotExist)
		}
	})
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := open(t, path, vfs.Options{})
	at := func(name string) string { return filepath.Join(path, name) }
	must(t,
		os.WriteFile(at("file"), []byte("x"), 0o600),
		os.Mkdir(at("directory"), 0o700),
		os.Symlink("file", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600),
	)
	for _, name := range []string{"directory", "link", "pipe"} {
		if _, err := dir.Open(name); !errors.Is(err, vfs.ErrNotRegular) {
			t.Errorf("Open(%q): %v, want %v", name, err, vfs.ErrNotRegular)
		}
	}
	entries, err := dir.Entries()
	must(t, err)
	for _, entry := range entries {
		if entry.Regular != (entry.Name == "file") {
			t.Errorf("%+v", entry)
		}
	}
}

func TestTheLockIsTheHandles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	first, second := open(t, path, vfs.Options{}), open(t, path, vfs.Options{})
	must(t, first.Lock())
	if err := second.Lock(); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("Lock beside another: %v, want %v", err, vfs.ErrLocked)
	}
}

func TestADirectoryThatIsMovedTakesItsHandleAlong(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := open(t, filepath.Join(path, "old"), vfs.Options{})
	must(t, os.Rename(filepath.Join(path, "old"), filepath.Join(path, "new")))
	made := draft(t, dir, "x")
	must(t, made.Publish("a"), made.Close())
	if _, err := os.Stat(filepath.Join(path, "new", "a")); err != nil {
		t.Error(err)
	}
}

func TestSpaceAndVolatile(t *testing.T) {
	t.Parallel()
	dir := open(t, t.TempDir(), vfs.Options{})
	space, err := dir.Space()
	must(t, err)
	if space.Bytes == 0 {
		t.Error("no bytes are free")
	}
	if _, err := dir.Volatile(); err != nil {
		t.Error(err)
	}
}

func TestAFileInTheWayOfADirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if dir, err := vfs.Open(path, vfs.Options{}); err == nil {
			t.Errorf("Open(%q) succeeded", path)
			must(t, dir.Close())
		}
	}
}
