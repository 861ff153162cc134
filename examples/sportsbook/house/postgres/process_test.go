package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
)

// rivalEnvironment makes the test's program a rival. Its value is a JSON [rival].
const rivalEnvironment = "SPORTSBOOK_TEST_RIVAL"

// rival is a process that waits for a line and then places one bet.
type rival struct {
	DSN       string
	Schema    string
	Isolation receipt.Isolation
	Command   acceptance.Command
}

// run prints the verdict and the code.
func (r rival) run(ctx context.Context) error {
	pool, err := postgres.Connect(ctx, r.DSN, r.Schema)
	if err != nil {
		return err
	}
	defer pool.Close()
	database, err := postgres.New(postgres.Config{Pool: pool, Schema: r.Schema, Tenant: housetest.Tenant, Isolation: r.Isolation})
	if err != nil {
		return err
	}
	store, err := pgstore.New(pgstore.Config{Pool: pool, Schema: r.Schema + "_receipts"})
	if err != nil {
		return err
	}
	bookmaker, err := house.New(house.Config{
		Tenant: housetest.Tenant, Store: database.Store(store), Books: database, Isolation: r.Isolation, MaxAttempts: 50,
	})
	if err != nil {
		return err
	}
	if err := pool.Ping(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	decision, err := bookmaker.Accept(ctx, r.Command)
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimSpace(string(decision.Verdict) + " " + string(decision.Code)))
	return nil
}

// runAsRival returns the exit code of a rival, and false in a test.
func runAsRival() (code int, is bool) {
	text, is := os.LookupEnv(rivalEnvironment)
	if !is {
		return 0, false
	}
	var r rival
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// Bets of 70 on a wallet of 100, from processes of their own: one is accepted,
// all others are rejected for funds.
func TestProcessesSpendOnce(t *testing.T) {
	t.Parallel()
	const rivals = 4
	for _, isolation := range isolations() {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			_, made := newHouse(t, isolation)
			start, answers := make([]io.Writer, rivals), make([]*bufio.Reader, rivals)
			for i := range rivals {
				start[i], answers[i] = startRival(t, rival{
					dsn, made.schema, isolation, housetest.Single(t, "ann", "70.00", "winner", "home", "2.00"),
				})
			}
			for i := range rivals {
				if _, err := io.WriteString(start[i], "go\n"); err != nil {
					t.Fatal(err)
				}
			}
			got := make(map[string]int)
			for i := range rivals {
				line, err := answers[i].ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				got[strings.TrimSpace(line)]++
			}
			if diff := cmp.Diff(map[string]int{"accepted": 1, "rejected insufficient_funds": rivals - 1}, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			housetest.CheckBooks(t, made)
		})
	}
}

// startRival starts a process, and returns once it is ready.
func startRival(t *testing.T, r rival) (io.Writer, *bufio.Reader) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), program)
	process.Env = append(os.Environ(), rivalEnvironment+"="+string(text))
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = process.Wait() // its context is over, if it did not end by itself
	})
	answers := bufio.NewReader(output)
	if line, err := answers.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the rival says %q, error %v", line, err)
	}
	return input, answers
}
