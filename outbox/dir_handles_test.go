package outbox_test

import (
	"sync/atomic"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// handleFS counts the handles that are open.
type handleFS struct {
	vfs.Dir
	open *atomic.Int64
}

func (f handleFS) Open(name string) (vfs.File, error) {
	file, err := f.Dir.Open(name)
	return countedFile{file, f.open}, f.count(err)
}

func (f handleFS) Create() (vfs.Draft, error) {
	draft, err := f.Dir.Create()
	return countedDraft{draft, f.open}, f.count(err)
}

func (f handleFS) Barrier() (vfs.Barrier, error) {
	barrier, err := f.Dir.Barrier()
	return countedBarrier{barrier, f.open}, f.count(err)
}

func (f handleFS) count(err error) error {
	if err == nil {
		f.open.Add(1)
	}
	return err
}

type countedFile struct {
	vfs.File
	open *atomic.Int64
}

func (f countedFile) Close() error { f.open.Add(-1); return f.File.Close() }

type countedDraft struct {
	vfs.Draft
	open *atomic.Int64
}

func (d countedDraft) Close() error { d.open.Add(-1); return d.Draft.Close() }

type countedBarrier struct {
	vfs.Barrier
	open *atomic.Int64
}

func (b countedBarrier) Close() error { b.open.Add(-1); return b.Barrier.Close() }

// TestNoCallLeavesAHandleOpen lets each step of each call fail once, and looks at
// the handles after each: a process has few, and runs for years.
func TestNoCallLeavesAHandleOpen(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var open atomic.Int64
	disk := faultfs.New(handleFS{openVFS(t, path), &open})
	dir, err := outbox.OpenDirOn(disk, forTest(outbox.DirConfig{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, dir)
	letter := func() string { return deadLetters(t, dir)[0].ID }
	e := outboxtest.NewEvent("a", "")
	for _, c := range []struct {
		name string
		call func() error
		// steps are those that can fail, but for those that are tried again
		// after a while.
		steps []faultfs.Op
	}{
		{"Put", func() error { return dir.Put(t.Context(), e) }, nil},
		{"Put again", func() error { return dir.Put(t.Context(), e) }, []faultfs.Op{faultfs.Resync}},
		{
			"SetAside", func() error {
				return dir.SetAside(t.Context(), nextRecords(t, dir)[0], outbox.Refusal{Reason: "refused"})
			},
			[]faultfs.Op{faultfs.Rename},
		},
		{
			"Requeue", func() error { return dir.Requeue(t.Context(), letter()) },
			[]faultfs.Op{faultfs.Barrier, faultfs.Resync, faultfs.Rename},
		},
		{
			"SetAside without a reason", func() error {
				disk.Fail(faultfs.Write, 1, errDisk)
				return dir.SetAside(t.Context(), nextRecords(t, dir)[0], outbox.Refusal{Reason: "refused"})
			}, nil,
		},
		{
			"Discard", func() error { return dir.Discard(t.Context(), letter(), "a test") },
			[]faultfs.Op{faultfs.Barrier, faultfs.Create, faultfs.Write, faultfs.Sync, faultfs.Publish, faultfs.Rename},
		},
	} {
		for _, step := range c.steps {
			disk.Fail(step, 1, errDisk)
			_ = c.call() // Whether it fails is other tests' matter.
			if left := open.Load(); left != 0 {
				t.Errorf("%s leaves %d handles open as %s fails", c.name, left, step)
			}
		}
		if err := c.call(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if left := open.Load(); left != 0 {
			t.Errorf("%s leaves %d handles open", c.name, left)
		}
		open.Store(0)
	}
}
