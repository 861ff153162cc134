package acceptance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// orderVariable holds the order of a process that TestMain is to follow in
// place of the tests.
const orderVariable = "SETTLEONCE_TEST_ORDER"

// TestMain lets tests start this binary again as a process of its own.
func TestMain(m *testing.M) {
	text, ordered := os.LookupEnv(orderVariable)
	if !ordered {
		m.Run()
		return
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.follow(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// order says what house a process is to keep.
type order struct {
	DSN       string
	Isolation receipt.Isolation
	// Changed has a Config that takes no bet, and lets no old one through.
	Changed bool
}

// reply is what a process answers to a command.
type reply struct {
	Verdict  acceptance.Verdict
	Code     acceptance.Code
	Replayed bool
	Receipt  string // its JSON form
	// Successor is that of a ConsentError, Err any other error.
	Successor, Err string
}

// follow accepts every command that comes in, and replies.
func (o order) follow(ctx context.Context, in io.Reader, out io.Writer) error {
	pool, err := pgxpool.New(ctx, o.DSN)
	if err != nil {
		return err
	}
	defer pool.Close()
	r, err := o.newRunner(pool)
	if err != nil {
		return err
	}
	commands, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c acceptance.Command
		if err := commands.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := replies.Encode(replyTo(r.Accept(ctx, c))); err != nil {
			return err
		}
	}
}

func (o order) newRunner(pool *pgxpool.Pool) (*pgRunner, error) {
	store, err := pgstore.New(pgstore.Config{Pool: pool, LockTimeout: patience})
	if err != nil {
		return nil, err
	}
	b, err := newBooks()
	if err != nil {
		return nil, err
	}
	config := b.config(store, o.Isolation)
	if o.Changed {
		change(&config)
	}
	return acceptance.New(config)
}

// change turns everything in the Config that a command could fail by.
func change(config *pgConfig) {
	config.Rules.Kinds = []acceptance.BetKind{acceptance.System}
	config.Rules.Check = func(*acceptance.Command) []acceptance.FieldError {
		return []acceptance.FieldError{{Field: "stake", Rule: "must be zero today"}}
	}
	config.UnorderedLegs, config.OmitCanonical = true, true
	config.Fence = acceptance.FenceMaterial
	config.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
		return acceptance.Ruling{Code: acceptance.CodeNotAuthorized}, nil
	}
	config.Risk.Assess = func(context.Context, *acceptance.Command, fingerprint.Digest) (acceptance.Evidence, error) {
		return acceptance.Evidence{}, errors.New("the risk service has gone")
	}
	config.Events = nil
}

func replyTo(decision answer, err error) reply {
	if used, ok := errors.AsType[*acceptance.ConsentError](err); ok {
		return reply{Successor: used.Successor}
	}
	if err != nil {
		return reply{Err: err.Error()}
	}
	text, err := decision.Receipt.MarshalJSON()
	if err != nil {
		return reply{Err: err.Error()}
	}
	return reply{Verdict: decision.Verdict, Code: decision.Code, Replayed: decision.Replayed, Receipt: string(text)}
}

// process is this binary, started again.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startProcess starts a process, which ends with the test.
func startProcess(t *testing.T, o order) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self)}
	p.Env = append(os.Environ(), orderVariable+"="+string(text))
	p.Stderr = os.Stderr
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(stdout)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has ended already, or nobody needs it now
		_ = p.Wait()
	})
	return p
}

// tell sends a command.
func (p *process) tell(t *testing.T, c acceptance.Command) {
	t.Helper()
	if err := json.NewEncoder(p.in).Encode(&c); err != nil {
		t.Fatal(err)
	}
}

// hear waits for the reply to the oldest command without one.
func (p *process) hear(t *testing.T) (heard reply) {
	t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &heard)
	}
	if err != nil {
		t.Fatalf("the process said %q: %v", line, err)
	}
	return heard
}

// ask sends a command and waits for the reply.
func (p *process) ask(t *testing.T, c acceptance.Command) reply {
	t.Helper()
	p.tell(t, c)
	return p.hear(t)
}
