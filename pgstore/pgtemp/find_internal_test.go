package pgtemp

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installation makes a directory that looks like one with the binaries.
func installation(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs() {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNewestReleaseComesFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var want []string
	for _, name := range []string{"a/17/bin", "a/9.6/bin", "a/latest/bin", "b@16/bin"} {
		want = append(want, installation(t, filepath.Join(root, name)))
	}
	want = []string{want[0], want[3], want[1], want[2]}
	got := newestFirst([]string{filepath.Join(root, "a/*/bin"), filepath.Join(root, "b@*/bin")})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPathComesFirst(t *testing.T) {
	partial := t.TempDir()
	whole := installation(t, t.TempDir())
	// As Debian's /usr/bin, which has a wrapper for one program alone.
	if err := os.WriteFile(filepath.Join(partial, "pg_basebackup"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", partial+string(filepath.ListSeparator)+whole)
	got, err := findBinaries(t.Context(), "")
	if err != nil || got != whole {
		t.Errorf("found %q, %v, want %q", got, err, whole)
	}
}

func TestNonExecutableFilesAreNoInstallation(t *testing.T) {
	t.Parallel()
	dir := installation(t, t.TempDir())
	if err := os.Chmod(filepath.Join(dir, "postgres"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := findBinaries(t.Context(), dir); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v, want ErrNotInstalled", err)
	}
}
