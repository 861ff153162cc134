package settle_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

const (
	// roleStuckIdle stays in its callback, with effects made and no
	// statement running, until the server says something.
	roleStuckIdle role = "stuck idle"
	// roleStuckBusy stays in a statement.
	roleStuckBusy role = "stuck busy"
)

// stuck is what became of the call of a process that got stuck.
type stuck struct {
	Server       string // the code of what the server said meanwhile
	NotCommitted bool
	Replayed     bool
}

// getStuck settles the tests' key and does not come to an end.
func (o order) getStuck(ctx context.Context, runner *settle.Runner[pgx.Tx], in *bufio.Reader, out io.Writer) error {
	frozen := make(chan struct{})
	go func() {
		defer close(frozen)
		_, _ = in.ReadString('\n') // an end of the input freezes as well
	}()
	var report stuck
	result, err := settle.Do(ctx, runner, request(), func(ctx context.Context, a *pgAttempt) (int, error) {
		if _, err := a.Tx().Exec(ctx, "UPDATE ratings SET rating = rating + 1 WHERE player = 'alice'"); err != nil {
			return 0, err
		}
		if _, err := fmt.Fprintln(out, "inside"); err != nil {
			return 0, err
		}
		if o.Role == roleStuckBusy {
			_, err := a.Tx().Exec(ctx, "SELECT pg_sleep(3600)")
			return 0, err
		}
		var server *pgconn.PgError
		if errors.As(freeze(ctx, a.Tx(), frozen, out), &server) {
			report.Server = server.Code
		}
		return 0, nil // it believes that all went well
	})
	report.NotCommitted, report.Replayed = errors.Is(err, receipt.ErrNotCommitted), result.Replayed
	return json.NewEncoder(out).Encode(report)
}

// freeze keeps the transaction busy until it is told to freeze, and returns
// what the server then has to say.
func freeze(ctx context.Context, tx pgx.Tx, frozen <-chan struct{}, out io.Writer) error {
	conn := tx.Conn().PgConn()
	for {
		select {
		case <-frozen:
			if _, err := fmt.Fprintln(out, "frozen"); err != nil {
				return err
			}
			_, err := conn.ReceiveMessage(ctx)
			return err
		default:
			if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
				return err
			}
		}
	}
}

// TestStoppedClientLosesItsKey stops a process in its callback. The server ends
// its transaction and says why (25P03), and only then the one that waits gets
// the key. When the process goes on, it learns that it did not commit.
func TestStoppedClientLosesItsKey(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	l := db.newLobby(t, setup{store: pgstore.Config{LockTimeout: patience}})
	p := processtest.Start(t, order{Role: roleStuckIdle, DSN: db.dsn, Runners: 1, IdleTimeout: 2 * time.Second})
	p.Expect(t, "inside")
	waiter := l.start(t.Context(), l.win)
	if err := db.await(t.Context(), waitsForKey); err != nil {
		t.Fatal(err)
	}
	p.Tell(t, "freeze")
	p.Expect(t, "frozen")
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if l.check(t, <-waiter, settledAfter(1)); t.Failed() {
		return // the process would wait for what the server never says
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	const idleInTransactionSessionTimeout = "25P03"
	var report stuck
	p.Hear(t, &report)
	if want := (stuck{Server: idleInTransactionSessionTimeout, NotCommitted: true}); report != want {
		t.Errorf("the stopped process saw %+v, want %+v", report, want)
	}
	l.check(t, answer{}, settledAfter(1))
}

// TestKilledClientLosesItsKey kills a process in its callback with SIGKILL,
// between statements and within one. The server notices, and the one that
// waits gets the key.
func TestKilledClientLosesItsKey(t *testing.T) {
	t.Parallel()
	for _, stuck := range []role{roleStuckIdle, roleStuckBusy} {
		t.Run(string(stuck), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			if stuck == roleStuckBusy && db.number(t, "SELECT current_setting('server_version_num')::int") < 140000 {
				t.Log("PostgreSQL 13 looks after its client only between statements: the promise begins with 14")
				return
			}
			l := db.newLobby(t, setup{store: pgstore.Config{LockTimeout: patience}})
			p := processtest.Start(t, order{Role: stuck, DSN: db.dsn, Runners: 1, ClientCheck: 100 * time.Millisecond})
			p.Expect(t, "inside")
			waiter := l.start(t.Context(), l.win)
			if err := db.await(t.Context(), waitsForKey); err != nil {
				t.Fatal(err)
			}
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			l.check(t, <-waiter, settledAfter(1))
			if state, _ := p.Wait(); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Errorf("the process ended with %v, want SIGKILL", state)
			}
		})
	}
}
