package settle_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
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
		err = o.follow(context.Background(), bufio.NewReader(os.Stdin), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// order says what a process is to do.
type order struct {
	Role        role
	DSN         string
	Isolation   receipt.Isolation
	IdleTimeout time.Duration
	ClientCheck time.Duration
	Runners     int // in this process
	Attempts    int // that will meet at each key, over all processes
}

// role is one of the things that a process can do.
type role string

// follow does what o orders.
func (o order) follow(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return err
	}
	config.MaxConns = int32(o.Runners)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	runners, err := o.newRunners(pool)
	if err != nil {
		return err
	}
	switch o.Role {
	case roleDuplicates:
		return o.sendDuplicates(ctx, runners, in, out)
	case roleStuckIdle, roleStuckBusy:
		return o.getStuck(ctx, runners[0], in, out)
	default:
		return fmt.Errorf("no role %q", o.Role)
	}
}

// newRunners returns runners that share nothing but the pool: no flight joins
// them.
func (o order) newRunners(pool *pgxpool.Pool) ([]*settle.Runner[pgx.Tx], error) {
	store, err := pgstore.New(pgstore.Config{
		Pool: pool, LockTimeout: patience, IdleTimeout: o.IdleTimeout, ClientCheckInterval: o.ClientCheck,
	})
	if err != nil {
		return nil, err
	}
	runners := make([]*settle.Runner[pgx.Tx], o.Runners)
	for i := range runners {
		runners[i], err = settle.New(settle.Config[pgx.Tx]{Store: store, Isolation: o.Isolation})
		if err != nil {
			return nil, err
		}
	}
	return runners, nil
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

// tell writes a line to the process, expect waits for one from it.
func (p *process) tell(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the process said %q (%v), want %q", line, err, want)
	}
}

// report reads one line of JSON from the process.
func (p *process) report(t *testing.T, into any) {
	t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		t.Fatalf("the process reported %q: %v", line, err)
	}
}
