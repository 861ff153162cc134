// Package faultfs wraps a [vfs.Dir] so that a test can let single steps fail,
// hold them up, and see in which order they came.
package faultfs

import (
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/outbox/internal/vfs"
)

// Op names a step. Of the reading steps only Open can fail: what a file holds
// is better spoilt in the file itself.
type Op string

// The steps that can fail or be held up.
const (
	Create    Op = "create"
	Write     Op = "write"
	Sync      Op = "sync" // of a draft
	Publish   Op = "publish"
	Barrier   Op = "barrier" // opening the handle that syncs names
	SyncNames Op = "sync-names"
	Open      Op = "open"
	Resync    Op = "resync" // of an existing file
	Rename    Op = "rename"
	Remove    Op = "remove"
)

// Call is one step that was taken. Draft numbers drafts from 1 in the order in
// which they were created; zero where the step has none.
type Call struct {
	Op     Op
	Draft  int
	Name   string
	Failed bool
}

// String returns the call as a line of a script: "publish 1 name" or
// "sync-names !".
func (c Call) String() string {
	text := string(c.Op)
	if c.Draft != 0 {
		text += fmt.Sprintf(" %d", c.Draft)
	}
	if c.Name != "" {
		text += " " + c.Name
	}
	if c.Failed {
		text += " !"
	}
	return text
}

// FS is a [vfs.Dir] with faults. Safe for concurrent use.
type FS struct {
	vfs.Dir

	mu     sync.Mutex
	drafts int
	faults map[Op]*fault
	holds  map[Op][]chan struct{}
	calls  []Call
}

type fault struct {
	times int
	err   error
}

var _ vfs.Dir = (*FS)(nil)

// New wraps dir. It works like dir until told otherwise.
func New(dir vfs.Dir) *FS {
	return &FS{Dir: dir, faults: make(map[Op]*fault), holds: make(map[Op][]chan struct{})}
}

// Fail lets the next times calls of op fail with err, and not happen. A failed
// Write has written half of what it was given.
func (f *FS) Fail(op Op, times int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[op] = &fault{times, err}
}

// Heal ends what [FS.Fail] began.
func (f *FS) Heal(op Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.faults, op)
}

// Hold keeps the next call of op waiting before it happens, until release is
// called. Later calls pass, or wait for further holds.
func (f *FS) Hold(op Op) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gate := make(chan struct{})
	f.holds[op] = append(f.holds[op], gate)
	return func() { close(gate) }
}

// Calls returns the steps so far, in the order in which they began.
func (f *FS) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// step notes a call, waits while the step is held, and returns its fault.
func (f *FS) step(call Call) error {
	f.mu.Lock()
	var gate chan struct{}
	if gates := f.holds[call.Op]; len(gates) > 0 {
		gate, f.holds[call.Op] = gates[0], gates[1:]
	}
	var err error
	if fault := f.faults[call.Op]; fault != nil && fault.times > 0 {
		fault.times--
		err = fault.err
		call.Failed = true
	}
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return err
}

// Create begins a draft.
func (f *FS) Create() (vfs.Draft, error) {
	f.mu.Lock()
	f.drafts++
	number := f.drafts
	f.mu.Unlock()
	if err := f.step(Call{Op: Create, Draft: number}); err != nil {
		return nil, err
	}
	inner, err := f.Dir.Create()
	if err != nil {
		return nil, err
	}
	return &draft{Draft: inner, fs: f, number: number}, nil
}

// Barrier opens a handle that syncs names.
func (f *FS) Barrier() (vfs.Barrier, error) {
	if err := f.step(Call{Op: Barrier}); err != nil {
		return nil, err
	}
	inner, err := f.Dir.Barrier()
	if err != nil {
		return nil, err
	}
	return &barrier{inner, f}, nil
}

// Open opens a file for reading.
func (f *FS) Open(name string) (vfs.File, error) {
	if err := f.step(Call{Op: Open, Name: name}); err != nil {
		return nil, err
	}
	inner, err := f.Dir.Open(name)
	if err != nil {
		return nil, err
	}
	return &file{inner, f, name}, nil
}

// Rename renames without replacing.
func (f *FS) Rename(from, to string) error {
	if err := f.step(Call{Op: Rename, Name: from}); err != nil {
		return err
	}
	return f.Dir.Rename(from, to)
}

// Remove unlinks a file.
func (f *FS) Remove(name string) error {
	if err := f.step(Call{Op: Remove, Name: name}); err != nil {
		return err
	}
	return f.Dir.Remove(name)
}

type draft struct {
	vfs.Draft
	fs     *FS
	number int
}

var _ vfs.Draft = (*draft)(nil)

func (d *draft) Write(content []byte) (int, error) {
	if err := d.fs.step(Call{Op: Write, Draft: d.number}); err != nil {
		written, writeErr := d.Draft.Write(content[:len(content)/2])
		if writeErr != nil {
			return written, writeErr
		}
		return written, err
	}
	return d.Draft.Write(content)
}

func (d *draft) Sync() error {
	if err := d.fs.step(Call{Op: Sync, Draft: d.number}); err != nil {
		return err
	}
	return d.Draft.Sync()
}

func (d *draft) Publish(name string) error {
	if err := d.fs.step(Call{Op: Publish, Draft: d.number, Name: name}); err != nil {
		return err
	}
	return d.Draft.Publish(name)
}

type barrier struct {
	vfs.Barrier
	fs *FS
}

func (b *barrier) Sync() error {
	if err := b.fs.step(Call{Op: SyncNames}); err != nil {
		return err
	}
	return b.Barrier.Sync()
}

type file struct {
	vfs.File
	fs   *FS
	name string
}

func (f *file) Sync() error {
	if err := f.fs.step(Call{Op: Resync, Name: f.name}); err != nil {
		return err
	}
	return f.File.Sync()
}
