package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Observation is one line of a ledger, in JSON.
type Observation struct {
	Fault Name `json:"fault"`
	// Evidence says what was seen.
	Evidence string `json:"evidence"`
}

// Ledger is the file of what was observed. Safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	file  *os.File
	count map[Name]int
}

// OpenLedger makes the file.
func OpenLedger(path string) (*Ledger, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("faults: ledger: %w", err)
	}
	return &Ledger{file: file, count: make(map[Name]int)}, nil
}

// Observe notes that a fault had its effect. The error is the file's.
func (l *Ledger) Observe(fault Name, evidence string, args ...any) error {
	line, err := json.Marshal(Observation{fault, fmt.Sprintf(evidence, args...)})
	if err != nil {
		return fmt.Errorf("faults: ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("faults: ledger: %w", err)
	}
	l.count[fault]++
	return nil
}

// Kinds returns how many different faults have been observed.
func (l *Ledger) Kinds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.count)
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// ReadLedger reads a ledger's file. One that does not exist is empty.
func ReadLedger(path string) ([]Observation, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("faults: ledger: %w", err)
	}
	var observations []Observation
	for line := range bytes.Lines(text) {
		var observation Observation
		if err := json.Unmarshal(line, &observation); err != nil {
			return nil, fmt.Errorf("faults: ledger: line %d: %w", len(observations)+1, err)
		}
		observations = append(observations, observation)
	}
	return observations, nil
}
