// Package vfs is the part of a file system that the file outbox stands on: one
// directory, files that appear in it whole or not at all, and the two syncs
// that make them durable. An interface, so that tests can let each step fail.
//
// On Linux a new file is unnamed (O_TMPFILE) until it is published; elsewhere,
// and where the file system has no unnamed files, it has a name that begins
// with [DraftPrefix] and that [Dir.SweepDrafts] clears away. Linux and macOS
// are implemented; on other systems [Open] fails.
package vfs

import (
	"errors"
	"io"
)

// DraftPrefix begins the name of a file that is not published yet.
const DraftPrefix = ".draft-"

var (
	// ErrLocked is true for [Dir.Lock] where somebody else holds the lock.
	ErrLocked = errors.New("vfs: the directory is locked by another process or handle")
	// ErrNotRegular is true for [Dir.Open] of anything but a regular file:
	// a directory, a symbolic link, a pipe, a device.
	ErrNotRegular = errors.New("vfs: not a regular file")
)

// Dir is one open directory. Names are plain, without separators. errors.Is
// tells [io/fs.ErrExist] and [io/fs.ErrNotExist] apart as in package os.
//
// Safe for concurrent use, except Close beside another call.
type Dir interface {
	// Lock takes the directory for this handle until Close or the end of
	// the process. It doesn't wait: [ErrLocked].
	Lock() error
	// Entries lists the directory in no order.
	Entries() ([]Entry, error)
	// Open opens a regular file for reading: [ErrNotRegular]. It doesn't
	// follow links or block on pipes.
	Open(name string) (File, error)
	// Create begins a new file that has no name in the directory's listing
	// of records yet.
	Create() (Draft, error)
	// Barrier opens a handle that makes names durable.
	Barrier() (Barrier, error)
	// Rename gives a file another name and never replaces one:
	// [io/fs.ErrExist].
	Rename(from, to string) error
	// Remove unlinks a file.
	Remove(name string) error
	// SweepDrafts removes what unpublished files a dead process left. Call
	// it only under the lock.
	SweepDrafts() error
	// Space says how much room is left.
	Space() (Space, error)
	// Volatile reports whether the file system keeps nothing over a restart
	// of the machine.
	Volatile() (bool, error)
	// Close releases the lock.
	Close() error
}

// File is an existing file.
type File interface {
	io.Reader
	// Sync makes the content durable. After an error the content may be
	// lost though a later Sync succeeds: never call it again.
	Sync() error
	// Close ends the use of the file.
	Close() error
}

// Draft is a file that is being made. For one goroutine at a time.
type Draft interface {
	io.Writer
	// Sync makes the content durable. After an error the draft is spoilt:
	// the kernel reports a failed write-back once, and a second Sync may
	// report success over lost pages.
	Sync() error
	// Publish gives the draft its name and never replaces one:
	// [io/fs.ErrExist]. The name is durable after a [Barrier] that was
	// opened before.
	Publish(name string) error
	// Close ends the draft. An unpublished one is gone.
	Close() error
}

// Barrier makes the names of a directory durable. The kernel reports a failed
// write-back once to each handle that was open at the time, so every writer
// opens its own before it changes a name, and uses it once.
type Barrier interface {
	// Sync makes every change of a name since the barrier was opened
	// durable. After an error each of them may be lost.
	Sync() error
	// Close ends the use of the handle.
	Close() error
}

// Entry is one name in a directory.
type Entry struct {
	Name    string
	Size    int64
	Regular bool
}

// Space is the room left on a file system for a caller without privileges.
type Space struct {
	Bytes  uint64
	Inodes uint64
}
