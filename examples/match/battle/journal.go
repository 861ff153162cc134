package battle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// What a journal's [Entry] says.
const (
	// Opened: the node is about to ask the lobby for this room.
	Opened = "opened"
	// Finished: the room has ended, with the event that says how. From here
	// on the node owes it.
	Finished = "finished"
	// HandedOver: the event is in the outbox.
	HandedOver = "handed-over"
	// Closed: the room has gone.
	Closed = "closed"
)

// Entry is one line of a journal.
type Entry struct {
	Kind   string `json:"kind"`
	Number int    `json:"number"`
	RoomID string `json:"room_id"`
	// Event is set for Finished alone.
	Event *event.Event `json:"event,omitempty"`
	// Dwelt and Told are set for Closed alone: how long the room was
	// Finished, and the seats whose clients got the BattleEnd.
	Dwelt time.Duration `json:"dwelt_ns,omitempty"`
	Told  []int         `json:"told,omitempty"`
}

// Journal is the node's own memory of its matches, a file of JSON lines. It
// tells a restarted node what it was doing, and the audit which matches there
// have been.
//
// Safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	failed error // of the first entry that could not be made durable
}

// OpenJournal opens the journal, or makes it, and returns what it holds. A last
// line without an end was never acknowledged to anybody; it is cut off.
func OpenJournal(path string) (*Journal, []Entry, error) {
	entries, whole, err := readJournal(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("battle: journal: %w", err)
	}
	if err := errors.Join(file.Truncate(whole), file.Sync(), syncDirectory(filepath.Dir(path))); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("battle: journal: %w", err), file.Close())
	}
	return &Journal{file: file}, entries, nil
}

// ReadJournal returns what the journal of another process holds by now. One
// that does not exist holds nothing.
func ReadJournal(path string) ([]Entry, error) {
	entries, _, err := readJournal(path)
	return entries, err
}

func readJournal(path string) (entries []Entry, whole int64, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("battle: journal: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(text) {
		var entry Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, 0, fmt.Errorf("battle: journal: line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, int64(len(text)), nil
}

// Append adds an entry. Nil means that it is durable. After an error or a crash
// it may be there or not. After an error of the file it may be there in part:
// no other entry is taken, and the journal must be opened again.
func (j *Journal) Append(entry Entry) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("battle: journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	_, err = j.file.Write(append(line, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.failed = fmt.Errorf("battle: journal: %w", err)
	}
	return j.failed
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
