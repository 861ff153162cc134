package outbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
	"github.com/settleonce/settleonce/outbox/internal/vfs/faultfs"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// The roles that this binary plays when a test starts it again.
const (
	roleVariable = "OUTBOX_TEST_ROLE"
	pathVariable = "OUTBOX_TEST_PATH"
	rolePutter   = "putter"
	roleHolder   = "holder"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case rolePutter:
		fmt.Println(playPutter(os.Getenv(pathVariable)))
		os.Exit(1)
	case roleHolder:
		if err := playHolder(os.Getenv(pathVariable)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// playPutter puts records from several goroutines until it is killed, and
// prints the id of each one that was acknowledged.
func playPutter(path string) error {
	dir, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for writer := range 8 {
		group.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%d-%d", writer, n)
				if err := dir.Put(context.Background(), outboxtest.NewEvent(id, fmt.Sprint(writer))); err != nil {
					return
				}
				fmt.Println(id) // One write call a line: a line is whole or not there.
			}
		})
	}
	group.Wait()
	return errors.New("a Put failed")
}

// playHolder holds a directory until its standard input ends.
func playHolder(path string) error {
	if _, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true}); err != nil {
		return err
	}
	fmt.Println("open")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// startRole starts this binary in a role. The caller must reap it.
func startRole(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	command.Stderr = os.Stderr
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command, bufio.NewScanner(output)
}

// kill reaps a process by SIGKILL and checks that this is what ended it.
func kill(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended with %v, want SIGKILL", command.ProcessState)
	}
}

func TestEveryAcknowledgedRecordOutlivesSIGKILL(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	acknowledged := make(map[string]bool)
	for round := 1; round <= 3; round++ {
		dir := filepath.Join(path, fmt.Sprint(round))
		command, lines := startRole(t, rolePutter, dir)
		for len(acknowledged) < 200*round && lines.Scan() {
			acknowledged[fmt.Sprint(round, "/", lines.Text())] = true
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // What was acknowledged before the signal arrived.
			acknowledged[fmt.Sprint(round, "/", lines.Text())] = true
		}
		kill(t, command)
	}
	found := make(map[string]bool)
	for round := 1; round <= 3; round++ {
		dir := openDir(t, filepath.Join(path, fmt.Sprint(round)))
		records, err := dir.Next(t.Context(), 1_000_000, nil)
		if err != nil {
			t.Fatal(err)
		}
		next := make(map[string]int)
		for _, record := range records {
			e := record.Event
			found[fmt.Sprint(round, "/", e.Key.ID)] = true
			if want := fmt.Sprintf("%s-%d", e.OrderingKey, next[e.OrderingKey]); e.Key.ID != want {
				t.Errorf("record %s stands where %s should", e.Key.ID, want)
			}
			next[e.OrderingKey]++
		}
		if aside := deadLetters(t, dir); len(aside) != 0 {
			t.Errorf("SIGKILL left %+v", aside)
		}
	}
	for id := range acknowledged {
		if !found[id] {
			t.Errorf("record %s was acknowledged and is lost", id)
		}
	}
	t.Logf("%d acknowledged, %d found", len(acknowledged), len(found))
}

func TestASecondProcessIsLockedOut(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	holder, lines := startRole(t, roleHolder, path)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the holder says %q", lines.Text())
	}
	writeFile(t, path, vfs.DraftPrefix+"of-the-holder", "half")
	if _, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true}); !errors.Is(err, outbox.ErrLocked) {
		t.Errorf("OpenDir beside a holder: %v, want %v", err, outbox.ErrLocked)
	}
	if left := files(t, path); len(left) != 1 {
		t.Errorf("the draft of the holder was swept without the lock: %q", left)
	}
	kill(t, holder)
	openDir(t, path)
	if left := files(t, path); len(left) != 0 {
		t.Errorf("the dead holder's draft was not swept: %q", left)
	}

	second, lines := startRole(t, roleHolder, path)
	if !lines.Scan() || !strings.Contains(lines.Text(), outbox.ErrLocked.Error()) {
		t.Errorf("a second process says %q, want %v", lines.Text(), outbox.ErrLocked)
	}
	_ = second.Wait()
	if _, err := outbox.OpenDir(outbox.DirConfig{Path: path, AllowVolatile: true}); !errors.Is(err, outbox.ErrLocked) {
		t.Errorf("OpenDir twice in one process: %v, want %v", err, outbox.ErrLocked)
	}
}

func TestCloseDrainsToDisk(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
	releases := []func(){disk.Hold(faultfs.Sync), disk.Hold(faultfs.Sync)}
	results := make(chan error, 2)
	for _, id := range []string{"a", "b"} {
		go func() { results <- dir.Put(t.Context(), outboxtest.NewEvent(id, "")) }()
	}
	eventually(t, "both Puts sync", func() bool { return called(disk, faultfs.Sync) == 2 })
	closed := make(chan error)
	go func() { closed <- dir.Close(t.Context()) }()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	eventually(t, "Close refuses Puts", func() bool {
		return errors.Is(dir.Put(cancelled, outboxtest.NewEvent("a", "")), outbox.ErrClosed)
	})
	for _, release := range releases {
		select {
		case err := <-closed:
			t.Fatalf("Close returned %v while a Put was not on disk", err)
		default:
		}
		release()
		if err := <-results; err != nil {
			t.Errorf("Put: %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := dir.Close(t.Context()); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("Close again: %v, want %v", err, outbox.ErrClosed)
	}
	if _, err := dir.Next(t.Context(), 1, nil); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("Next: %v, want %v", err, outbox.ErrClosed)
	}
	if got := pending(t, openDir(t, path)); len(got) != 2 {
		t.Errorf("pending %q, want a and b", got)
	}
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir, disk := openFaulty(t, outbox.DirConfig{Path: path})
		disk.Fail(faultfs.Sync, 1_000_000, errDisk)
		result := make(chan error)
		go func() { result <- dir.Put(context.Background(), outboxtest.NewEvent("a", "")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := dir.Close(ctx)
		if !errors.Is(err, outbox.ErrUnacknowledged) || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "1 records") {
			t.Errorf("Close: %v, want one unacknowledged record and the disk's error", err)
		}
		if err := <-result; !errors.Is(err, outbox.ErrUnacknowledged) || !errors.Is(err, outbox.ErrClosed) {
			t.Errorf("Put: %v, want unacknowledged and closed", err)
		}
	})
	openDir(t, path) // The lock is released.
}

func TestDirKeepsTheContractOfASource(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]outbox.DeadLetterPolicy{
		"by default": outbox.DefaultPolicy,
		"goes on":    outbox.GoOn,
		"holds back": outbox.HoldBack,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outboxtest.TestSource(t, func(tb testing.TB) outboxtest.SourceSubject {
				tb.Helper()
				return dirSubject(tb, outbox.DirConfig{Path: tb.TempDir(), DeadLetterPolicy: policy})
			})
		})
	}
}

func dirSubject(tb testing.TB, cfg outbox.DirConfig) outboxtest.SourceSubject {
	tb.Helper()
	dir := openDirWith(tb, cfg)
	subject := outboxtest.SourceSubject{
		Source: dir,
		Put:    dir.Put,
		Policy: cfg.DeadLetterPolicy,
		Reopen: func(tb testing.TB) outboxtest.SourceSubject {
			tb.Helper()
			closeDir(tb, dir)
			return dirSubject(tb, cfg)
		},
	}
	if subject.Policy == outbox.DefaultPolicy {
		subject.Policy = outbox.GoOn
	}
	return subject
}

// volatileFS is a file system that lives in memory.
type volatileFS struct{ vfs.Dir }

func (volatileFS) Volatile() (bool, error) { return true, nil }

func TestAFileSystemInMemoryIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, allow := range []bool{false, true} {
		inner, err := vfs.Open(path, vfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir, err := outbox.OpenDirOn(volatileFS{inner}, outbox.DirConfig{Path: path, AllowVolatile: allow})
		if got := errors.Is(err, outbox.ErrVolatile); got == allow {
			t.Errorf("AllowVolatile %v: %v", allow, err)
		}
		if err == nil {
			closeDir(t, dir)
		}
	}
}

func TestConfigsNameEveryBrokenField(t *testing.T) {
	t.Parallel()
	_, dirErr := outbox.OpenDir(outbox.DirConfig{MaxWaiting: -1, DeadLetterPolicy: 7})
	_, relayErr := outbox.NewRelay(outbox.RelayConfig{
		Concurrency: -1, AttemptTimeout: -1, MinBackoff: time.Hour, MaxRetryAfter: -1, DownAfter: -1,
	})
	for _, c := range []struct {
		err    error
		fields []string
	}{
		{dirErr, []string{"Path must be set", "MaxWaiting must not be negative", "DeadLetterPolicy must be DefaultPolicy, HoldBack or GoOn, is 7"}},
		{relayErr, []string{"Source must", "Sender must", "Concurrency must", "AttemptTimeout must", "MinBackoff must not pass MaxBackoff, is 1h0m0s of 30s", "MaxRetryAfter must", "DownAfter must"}},
	} {
		if !errors.Is(c.err, outbox.ErrConfig) {
			t.Errorf("%v, want %v", c.err, outbox.ErrConfig)
		}
		for _, field := range c.fields {
			if !strings.Contains(fmt.Sprint(c.err), field) {
				t.Errorf("%v does not say %q", c.err, field)
			}
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	clock := newTestClock()
	dir := openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	first, second := outboxtest.NewEvent("a", ""), outboxtest.NewEvent("b", "")
	put(t, dir, first)
	clock.add(time.Minute)
	put(t, dir, second)
	clock.add(time.Hour)
	size := 0
	for _, e := range []string{"a", "b"} {
		text, err := outbox.EncodeRecord(outboxtest.NewEvent(e, ""))
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
	}
	want := outbox.Stats{Records: 2, Bytes: int64(size), OldestAge: 61 * time.Minute, MaxWaiting: 256}
	check := func(want outbox.Stats) {
		t.Helper()
		got := stats(t, dir)
		if got.FreeBytes == 0 {
			t.Error("no free bytes")
		}
		got.FreeBytes, got.FreeInodes = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	}
	check(want)
	closeDir(t, dir)
	dir = openDirWith(t, outbox.DirConfig{Path: path, Now: clock.now})
	check(want)
	lag, err := dir.Lag(t.Context())
	wantLag := outbox.Lag{Pending: 2, Exact: true, Oldest: newTestClock().now(), Age: 61 * time.Minute}
	if diff := cmp.Diff(wantLag, lag); diff != "" || err != nil {
		t.Errorf("lag (-want +got):\n%s, %v", diff, err)
	}
	if err := dir.Remove(t.Context(), nextRecords(t, dir)); err != nil {
		t.Fatal(err)
	}
	check(outbox.Stats{MaxWaiting: 256})
	closeDir(t, dir)
	if _, err := dir.Lag(t.Context()); !errors.Is(err, outbox.ErrClosed) {
		t.Errorf("Lag of a closed directory: %v, want %v", err, outbox.ErrClosed)
	}
}

// TestNobodyIsOlderThanTheClock has one that went back.
func TestNobodyIsOlderThanTheClock(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	dir := openDirWith(t, outbox.DirConfig{Path: t.TempDir(), Now: clock.now})
	put(t, dir, outboxtest.NewEvent("a", ""))
	clock.add(-time.Hour)
	lag, err := dir.Lag(t.Context())
	if s := stats(t, dir); s.OldestAge != 0 || lag.Age != 0 || err != nil {
		t.Errorf("ages %s and %s (%v), want none", s.OldestAge, lag.Age, err)
	}
}
