package outbox_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
)

// testClock is a clock that a test sets. It stands still in between.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func newTestClock() *testClock {
	return &testClock{at: time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)}
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// logRecorder keeps the lines that were logged.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *logRecorder) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	return len(line), nil
}

func (r *logRecorder) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

// count returns how many lines have each of texts.
func (r *logRecorder) count(texts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := 0
	for _, line := range r.lines {
		missing := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
		if !missing {
			found++
		}
	}
	return found
}

// forTest allows memory file systems, because a machine may have its temporary
// files there, and drops what nobody asked to log.
func forTest(cfg outbox.DirConfig) outbox.DirConfig {
	cfg.AllowVolatile = true
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// openDir opens a directory and closes it at the end of the test.
func openDir(tb testing.TB, path string) *outbox.Dir {
	tb.Helper()
	return openDirWith(tb, outbox.DirConfig{Path: path})
}

func openDirWith(tb testing.TB, cfg outbox.DirConfig) *outbox.Dir {
	tb.Helper()
	cfg = forTest(cfg)
	dir, err := outbox.OpenDir(cfg)
	if err != nil {
		tb.Fatalf("OpenDir: %v", err)
	}
	closeLater(tb, dir)
	return dir
}

// openFaulty opens a directory on a file system with faults.
func openFaulty(tb testing.TB, cfg outbox.DirConfig) (*outbox.Dir, *faultfs.FS) {
	tb.Helper()
	faulty := faultfs.New(openVFS(tb, cfg.Path))
	cfg = forTest(cfg)
	dir, err := outbox.OpenDirOn(faulty, cfg)
	if err != nil {
		tb.Fatalf("OpenDirOn: %v", err)
	}
	closeLater(tb, dir)
	return dir, faulty
}

func openVFS(tb testing.TB, path string) vfs.Dir {
	tb.Helper()
	dir, err := vfs.Open(path, vfs.Options{})
	if err != nil {
		tb.Fatalf("vfs.Open: %v", err)
	}
	return dir
}

// closeLater closes a directory that the test may have closed itself.
func closeLater(tb testing.TB, dir *outbox.Dir) {
	tb.Helper()
	tb.Cleanup(func() { _ = dir.Close(context.Background()) })
}

func closeDir(tb testing.TB, dir *outbox.Dir) {
	tb.Helper()
	if err := dir.Close(tb.Context()); err != nil {
		tb.Fatalf("Close: %v", err)
	}
}

func put(tb testing.TB, dir *outbox.Dir, events ...event.Event) {
	tb.Helper()
	for _, e := range events {
		if err := dir.Put(tb.Context(), e); err != nil {
			tb.Fatalf("Put %s: %v", e.Key, err)
		}
	}
}

// pending returns the ids of the keys of what the source has, in order.
func pending(tb testing.TB, source outbox.Source) []string {
	tb.Helper()
	ids := []string{}
	for _, record := range nextRecords(tb, source) {
		ids = append(ids, record.Event.Key.ID)
	}
	return ids
}

// nextRecords returns what the source would hand out, and leaves it pending.
func nextRecords(tb testing.TB, source outbox.Source) []outbox.Record {
	tb.Helper()
	records, err := source.Next(tb.Context(), 1000, nil)
	if err != nil {
		tb.Fatalf("Next: %v", err)
	}
	source.Release(records)
	return records
}

func wantPending(tb testing.TB, source outbox.Source, want ...string) {
	tb.Helper()
	if diff := cmp.Diff(append([]string{}, want...), pending(tb, source)); diff != "" {
		tb.Errorf("pending (-want +got):\n%s", diff)
	}
}

func stats(tb testing.TB, dir *outbox.Dir) outbox.Stats {
	tb.Helper()
	s, err := dir.Stats(tb.Context())
	if err != nil {
		tb.Fatalf("Stats: %v", err)
	}
	return s
}

// files returns the names in a directory, sorted.
func files(tb testing.TB, path string) []string {
	tb.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		tb.Fatalf("ReadDir: %v", err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func writeFile(tb testing.TB, path, name, content string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o600); err != nil {
		tb.Fatalf("WriteFile: %v", err)
	}
}

// eventually waits for a condition that another goroutine or process brings
// about. Only the test's own deadline ends it.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for !condition() {
		select {
		case <-tb.Context().Done():
			tb.Fatalf("never: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}
