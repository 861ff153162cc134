package outbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// BenchmarkPut compares Put with the plain way to write a file durably, in the
// same run and on the same file system, with one writer and with 64.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("dir/writers=%d", writers), func(b *testing.B) {
			dir := openDir(b, b.TempDir())
			inParallel(b, writers, func(n int64) error {
				return dir.Put(b.Context(), outboxtest.NewEvent(fmt.Sprint(n), ""))
			})
		})
		b.Run(fmt.Sprintf("reference/writers=%d", writers), func(b *testing.B) {
			path := b.TempDir()
			content, err := outbox.EncodeRecord(outboxtest.NewEvent("0", ""))
			if err != nil {
				b.Fatal(err)
			}
			inParallel(b, writers, func(n int64) error { return plainDurableWrite(path, fmt.Sprint(n), content) })
		})
	}
}

// inParallel shares b.N calls out among writers.
func inParallel(b *testing.B, writers int, call func(n int64) error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range writers {
		group.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := call(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// plainDurableWrite is the reference: temporary file, sync, rename, sync of
// the directory.
func plainDurableWrite(dir, name string, content []byte) error {
	file, err := os.CreateTemp(dir, ".reference-")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	handle, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer handle.Close()
	return handle.Sync()
}
