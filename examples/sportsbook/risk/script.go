package risk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Instruction says how the service answers some of the next assessments. It is
// the body of POST /faults.
type Instruction struct {
	Mode Mode `json:"mode"`
	// CommandID picks the assessments of one command. Empty: all of them.
	CommandID string `json:"command_id,omitempty"`
	// Times is how many assessments it holds for. Zero: every one, until the
	// script is cleared.
	Times int `json:"times,omitempty"`
}

func (i Instruction) validate() error {
	if !slices.Contains(Modes(), i.Mode) {
		return fmt.Errorf("mode must be one of %v", Modes())
	}
	if i.Times < 0 {
		return errors.New("times must not be negative")
	}
	return nil
}

// Report is what the service has done, and what is still to come. It is the
// answer to GET /faults.
type Report struct {
	// Answered counts the assessments by the mode in which they were really
	// answered: a slow one counts when its client has given up, a cut one
	// when the connection is cut.
	Answered map[Mode]int `json:"answered"`
	// Commands is Answered for each command that an instruction has named.
	Commands map[string]map[Mode]int `json:"commands,omitempty"`
	// Pending are the instructions that still hold, in the order in which
	// they are looked at: the first that fits an assessment decides.
	Pending []Instruction `json:"pending"`
}

// script holds the instructions and the counts. Safe for concurrent use.
type script struct {
	mu       sync.Mutex
	pending  []Instruction
	answered map[Mode]int
	commands map[string]map[Mode]int // of those that an instruction has named
}

func newScript() *script {
	return &script{pending: []Instruction{}, answered: map[Mode]int{}, commands: map[string]map[Mode]int{}}
}

func (s *script) add(instruction Instruction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, instruction)
	if id := instruction.CommandID; id != "" && s.commands[id] == nil {
		s.commands[id] = map[Mode]int{}
	}
}

func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = []Instruction{}
}

// next returns the mode for an assessment of the command, and uses it up.
func (s *script) next(commandID string) Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pending {
		instruction := &s.pending[i]
		if instruction.CommandID != "" && instruction.CommandID != commandID {
			continue
		}
		mode := instruction.Mode
		switch instruction.Times {
		case 0: // until it is cleared
		case 1:
			s.pending = slices.Delete(s.pending, i, i+1)
		default:
			instruction.Times--
		}
		return mode
	}
	return Honest
}

// done counts an assessment of the command that was answered in a mode.
func (s *script) done(mode Mode, commandID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[mode]++
	if named := s.commands[commandID]; named != nil {
		named[mode]++
	}
}

func (s *script) report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	commands := make(map[string]map[Mode]int, len(s.commands))
	for id, answered := range s.commands {
		commands[id] = maps.Clone(answered)
	}
	return Report{Answered: maps.Clone(s.answered), Commands: commands, Pending: slices.Clone(s.pending)}
}
