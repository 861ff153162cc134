package pgtemp

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

//go:embed supervisor.sh
var supervisorScript string

// errGone is what a command gets after the supervisor has ended.
var errGone = errors.New("the server was stopped for good")

// supervisor is the shell process that runs every command on a server's
// directory, one at a time, and ends with its standard input. Since the
// commands are its children and not ours, none of them can still be at work in
// the directory when it cleans up.
type supervisor struct {
	dir string

	mu       sync.Mutex // held for the length of a command
	commands io.WriteCloser
	answers  chan string
	gone     chan struct{} // closed when the process has ended
}

// supervise starts the supervisor of dir, as the given account (nil: ours).
func supervise(dir, bin string, as *syscall.Credential) (*supervisor, error) {
	process := exec.Command("/bin/sh", "-c", supervisorScript, "supervisor", dir, bin)
	process.Dir = "/"
	process.Env = environment()
	// A session of its own keeps the terminal's Ctrl-C away from the server:
	// it ends with its owner, not beside it.
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as}
	commands, err := process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pgtemp: %w", err)
	}
	answers, err := process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pgtemp: %w", err)
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("pgtemp: start the supervisor: %w", err)
	}
	s := &supervisor{dir: dir, commands: commands, answers: make(chan string, 1), gone: make(chan struct{})}
	go s.listen(process, answers)
	return s, nil
}

// listen hands on the answers until the process ends. Being a goroutine that
// refers to s, it also keeps the pipe from being closed by the garbage
// collector while the server is in use.
func (s *supervisor) listen(process *exec.Cmd, answers io.Reader) {
	defer close(s.gone)
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		s.answers <- lines.Text()
	}
	_ = process.Wait() // its exit status means nothing
}

// run runs one command and waits for it. If ctx ends first, the answer can no
// longer be told from the next one's, so the server is given up.
func (s *supervisor) run(ctx context.Context, program string, arguments ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := filepath.Base(program)
	line := quoteShell(program)
	for _, argument := range arguments {
		line += " " + quoteShell(argument)
	}
	if _, err := io.WriteString(s.commands, line+"\n"); err != nil {
		return fmt.Errorf("pgtemp: %s: %w", name, errGone)
	}
	select {
	case status := <-s.answers:
		if status == "0" {
			return nil
		}
		return fmt.Errorf("pgtemp: %s: exit status %s: %s", name, status, s.output())
	case <-s.gone:
		return fmt.Errorf("pgtemp: %s: %w", name, errGone)
	case <-ctx.Done():
		s.end()
		return fmt.Errorf("pgtemp: %s: %w", name, context.Cause(ctx))
	}
}

// end makes the supervisor stop the server, remove its directory and exit.
func (s *supervisor) end() {
	_ = s.commands.Close() // closing it twice is no mistake
}

// output returns what the last command printed and the end of the server's
// log, for an error message.
func (s *supervisor) output() string {
	var parts []string
	for _, name := range []string{commandLog, serverLog} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			continue // there may be none yet
		}
		const enough = 2000
		text = text[max(0, len(text)-enough):]
		if trimmed := strings.TrimSpace(string(text)); trimmed != "" {
			parts = append(parts, trimmed)
		}
	}
	return strings.Join(parts, "\n")
}

// environment is ours without what would redirect PostgreSQL's programs, and
// with messages in English.
func environment() []string {
	kept := []string{"LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PG") && !strings.HasPrefix(entry, "LC_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// quoteShell quotes one word for sh.
func quoteShell(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
