package pgtemp_test

import (
	"errors"
	"testing"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func TestStandbyFollows(t *testing.T) {
	t.Parallel()
	// A standby refuses to start with fewer connections than its primary.
	primary := start(t, pgtemp.Config{Parameters: map[string]string{"max_connections": "210"}})
	execute(t, primary, "CREATE TABLE followed (word text)")
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, standby)
	if got := query(t, standby, "SELECT pg_is_in_recovery()::text"); got != "true" {
		t.Errorf("pg_is_in_recovery() = %s on the standby", got)
	}
	execute(t, primary, "INSERT INTO followed VALUES ('streamed')")
	if err := standby.WaitReplayed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby, "SELECT word FROM followed"); got != "streamed" {
		t.Errorf("the standby shows %q", got)
	}
}

func TestWaitReplayedWaits(t *testing.T) {
	t.Parallel()
	primary := start(t, pgtemp.Config{})
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, standby)
	execute(t, standby, "SELECT pg_wal_replay_pause()")
	execute(t, primary, "CREATE TABLE unseen ()")

	waited := make(chan error, 1)
	go func() { waited <- standby.WaitReplayed(t.Context()) }()
	asking := "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE query LIKE 'SELECT coalesce(pg_last_wal_replay_lsn()%'"
	for query(t, standby, asking) != "true" {
		select {
		case err := <-waited:
			t.Fatalf("returned %v although the replay is paused", err)
		default:
		}
	}
	execute(t, standby, "SELECT pg_wal_replay_resume()")
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby, "SELECT coalesce(to_regclass('unseen')::text, 'missing')"); got != "unseen" {
		t.Errorf("the table that was awaited is %s", got)
	}
	if err := primary.WaitReplayed(t.Context()); !errors.Is(err, pgtemp.ErrNoStandby) {
		t.Errorf("on a primary: %v, want ErrNoStandby", err)
	}
}
