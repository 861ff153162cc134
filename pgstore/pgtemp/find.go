package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled is true where no directory with the server's binaries was
// found. Nothing was started.
var ErrNotInstalled = errors.New("pgtemp: PostgreSQL is not installed: " +
	"run `apt-get install postgresql` on Debian, `brew install postgresql@17` on macOS, " +
	"or name the directory that has initdb and pg_ctl")

// programs returns what a directory must have to count as an installation.
// Debian puts a wrapper for pg_basebackup alone into PATH, so one is not enough.
func programs() []string {
	return []string{"initdb", "pg_ctl", "postgres", "pg_basebackup"}
}

// packaged returns where packages put their binaries; * stands for the release.
func packaged() []string {
	return []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // Red Hat
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// findBinaries returns the directory of the server's binaries.
func findBinaries(ctx context.Context, configured string) (string, error) {
	if configured != "" {
		if !complete(configured) {
			return "", fmt.Errorf("pgtemp: BinDir %q: must have %s: %w",
				configured, strings.Join(programs(), ", "), ErrNotInstalled)
		}
		bin, err := filepath.Abs(configured)
		if err != nil {
			return "", fmt.Errorf("pgtemp: BinDir: %w", err)
		}
		return bin, nil
	}
	candidates := filepath.SplitList(os.Getenv("PATH"))
	// No pg_config, or one that fails, only means one candidate fewer.
	if printed, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(printed)))
	}
	candidates = append(candidates, newestFirst(packaged())...)
	for _, dir := range candidates {
		if filepath.IsAbs(dir) && complete(dir) {
			return dir, nil
		}
	}
	return "", ErrNotInstalled
}

// complete reports whether dir has every program.
func complete(dir string) bool {
	for _, program := range programs() {
		info, err := os.Stat(filepath.Join(dir, program))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// newestFirst returns the directories that match the patterns, the highest
// release first and in the patterns' order within one release.
func newestFirst(patterns []string) []string {
	var found []string
	release := map[string]float64{}
	for _, pattern := range patterns {
		before, after, _ := strings.Cut(pattern, "*")
		matches, _ := filepath.Glob(pattern) // the only error is a bad pattern
		for _, dir := range matches {
			name := strings.TrimSuffix(strings.TrimPrefix(dir, before), after)
			// "latest" and the like have no number and come last.
			release[dir], _ = strconv.ParseFloat(name, 64)
			found = append(found, dir)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int {
		switch {
		case release[a] > release[b]:
			return -1
		case release[a] < release[b]:
			return 1
		}
		return 0
	})
	return found
}
