package acceptance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// TestMain lets tests start this binary again as a process of its own.
func TestMain(m *testing.M) { processtest.Main[order](m) }

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

// Follow accepts every command that comes in, and replies.
func (o order) Follow(ctx context.Context, in *bufio.Reader, out io.Writer) error {
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

// process is a house in a process of its own.
type process struct{ lines *processtest.Process }

// startProcess starts a process, which ends with the test.
func startProcess(t *testing.T, o order) process {
	t.Helper()
	return process{processtest.Start(t, o)}
}

// tell sends a command.
func (p process) tell(t *testing.T, c acceptance.Command) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p.lines.Tell(t, string(text))
}

// hear waits for the reply to the oldest command without one.
func (p process) hear(t *testing.T) (heard reply) {
	t.Helper()
	p.lines.Hear(t, &heard)
	return heard
}

// ask sends a command and waits for the reply.
func (p process) ask(t *testing.T, c acceptance.Command) reply {
	t.Helper()
	p.tell(t, c)
	return p.hear(t)
}
