package processtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/settleonce/settleonce/internal/processtest"
)

func TestMain(m *testing.M) { processtest.Main[greeting](m) }

// greeting says how a process is to greet.
type greeting struct{ Word string }

// greeted is what the process then reports.
type greeted struct {
	Line    string
	Process int
}

// Follow says the word, and reports the line that it is told.
func (g greeting) Follow(_ context.Context, in *bufio.Reader, out io.Writer) error {
	if g.Word == "" {
		return errors.New("this greeting fails, as the test wants")
	}
	fmt.Fprintln(out, g.Word)
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(greeted{line, os.Getpid()})
}

func TestProcessFollowsItsOrder(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hello", "good day"} {
		p := processtest.Start(t, greeting{word})
		p.Expect(t, word)
		p.Tell(t, "Ann")
		var heard greeted
		p.Hear(t, &heard)
		if want := (greeted{"Ann\n", p.Pid}); heard != want {
			t.Errorf("heard %+v, want %+v", heard, want)
		}
		wantExit(t, p, 0)
	}
}

func TestOrderThatFailsFailsTheProcess(t *testing.T) {
	t.Parallel()
	wantExit(t, processtest.Start(t, greeting{}), 1)
}

func TestProcessEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var p *processtest.Process
	t.Run("owner", func(t *testing.T) {
		p = processtest.Start(t, greeting{"hello"})
		p.Expect(t, "hello") // and waits for a line that never comes
	})
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("killing it once more: %v, want %v", err, os.ErrProcessDone)
	}
}

// wantExit waits for the end of the process.
func wantExit(t *testing.T, p *processtest.Process, want int) {
	t.Helper()
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got := state.ExitCode(); got != want {
		t.Errorf("the process ended with %d, want %d", got, want)
	}
}
