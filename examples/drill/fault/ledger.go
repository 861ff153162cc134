package fault

import (
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/examples/drill/jsonlines"
)

// Observation is one line of a ledger, in JSON.
type Observation struct {
	Fault Name `json:"fault"`
	// Evidence says what was seen.
	Evidence string `json:"evidence"`
}

// Ledger is the file of what was observed. Safe for concurrent use.
type Ledger struct {
	file  *jsonlines.File
	mu    sync.Mutex
	count map[Name]int
}

// OpenLedger makes the file.
func OpenLedger(path string) (*Ledger, error) {
	file, err := jsonlines.Create(path)
	if err != nil {
		return nil, fmt.Errorf("fault: ledger: %w", err)
	}
	return &Ledger{file: file, count: make(map[Name]int)}, nil
}

// Observe notes that a fault had its effect. The error is the file's.
func (l *Ledger) Observe(fault Name, evidence string, args ...any) error {
	if err := l.file.Append(Observation{fault, fmt.Sprintf(evidence, args...)}); err != nil {
		return fmt.Errorf("fault: ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[fault]++
	return nil
}

// Kinds returns how many different faults have been observed.
func (l *Ledger) Kinds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.count)
}

// Count returns how often a fault has been observed.
func (l *Ledger) Count(fault Name) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[fault]
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// ReadLedger reads a ledger's file. One that does not exist is empty.
func ReadLedger(path string) ([]Observation, error) {
	observations, err := jsonlines.Read[Observation](path)
	if err != nil {
		return nil, fmt.Errorf("fault: ledger: %w", err)
	}
	return observations, nil
}
