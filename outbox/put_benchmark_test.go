package outbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// block is how many records each side writes before the other has its turn.
const block = 256

// BenchmarkPut compares Put with the plain way to write a file durably, on the
// same file system. The two take turns, block by block, so that whatever else
// the disk does falls on both.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			dir, plain := openDir(b, b.TempDir()), b.TempDir()
			content, err := outbox.EncodeRecord(outboxtest.NewEvent("0", ""))
			if err != nil {
				b.Fatal(err)
			}
			var put, reference time.Duration
			records := 0
			for b.Loop() {
				first := records
				put += inParallel(b, writers, func(n int) error {
					return dir.Put(b.Context(), outboxtest.NewEvent(fmt.Sprint(first+n), ""))
				})
				reference += inParallel(b, writers, func(n int) error {
					return plainDurableWrite(plain, fmt.Sprint(first+n), content)
				})
				records += block
			}
			b.ReportMetric(float64(records)/put.Seconds(), "put/s")
			b.ReportMetric(float64(records)/reference.Seconds(), "reference/s")
			b.ReportMetric(reference.Seconds()/put.Seconds(), "put/reference")
		})
	}
}

// inParallel shares a block of calls out among writers, and returns how long
// they took.
func inParallel(b *testing.B, writers int, call func(n int) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range writers {
		group.Go(func() {
			for n := next.Add(1); n <= block; n = next.Add(1) {
				if err := call(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(began)
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
