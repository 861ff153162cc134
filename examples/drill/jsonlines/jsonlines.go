// Package jsonlines keeps files of JSON values, one a line, that outlive the
// process which adds to them. They are for what a drill has seen, and as durable
// as its machine, which a drill does not crash.
package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// File is a file that is added to. Safe for concurrent use.
type File struct {
	mu   sync.Mutex
	file *os.File
}

// Create makes the file, which must not exist.
func Create(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("jsonlines: %w", err)
	}
	return &File{file: file}, nil
}

// Append adds a value. Nil means that it stays whatever becomes of the process.
func (f *File) Append(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("jsonlines: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("jsonlines: %w", err)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Read reads all values of a file. One that does not exist has none.
func Read[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jsonlines: %w", err)
	}
	var values []T
	for line := range bytes.Lines(text) {
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			return nil, fmt.Errorf("jsonlines: %s: line %d: %w", path, len(values)+1, err)
		}
		values = append(values, value)
	}
	return values, nil
}
