package pgstore_test

import (
	"math"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// A standby shows rows and names no open transactions: whoever reads on there
// passes over what is late.
func TestRelayReadsOnNoStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t, pgtemp.Config{})
	f := fixtureOn(t, pgtest.PoolOn(t, primary.DSN()), pgstore.Config{})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "a")); err != nil {
		t.Fatal(err)
	}
	all, ordering := []lanes.Lane{0}, eventOf(keyNamed("m1"), "a")
	for lane := 1; lane < lanes.Count; lane++ {
		all = append(all, lanes.Lane(lane))
	}
	standby := pgtest.PoolOn(t, pgtest.Standby(t, primary).DSN())
	await(t, standby, "the standby has the event", "(SELECT count(*) = 1 FROM settleonce.events)")
	table := pgstore.Table(standby, pgstore.DefaultSchema)
	for name, read := range map[string]func() (int, error){
		"Read": func() (int, error) {
			rows, _, err := table.Read(t.Context(), all, 0, 10, nil)
			return len(rows), err
		},
		"ReadOf": func() (int, error) {
			rows, err := table.ReadOf(t.Context(), []string{ordering.Ordering()}, 1, math.MaxInt64, 10)
			return len(rows), err
		},
		"ReadAt": func() (int, error) {
			rows, err := table.ReadAt(t.Context(), []int64{1})
			return len(rows), err
		},
		"Heads": func() (int, error) {
			heads, err := table.Heads(t.Context(), all, 0, math.MaxInt64, 10)
			return len(heads), err
		},
		"HeldBack": func() (int, error) {
			held, err := table.HeldBack(t.Context(), all)
			return len(held), err
		},
		"Join": func() (int, error) {
			_, err := table.Join(t.Context(), lanes.DefaultLease)
			return 0, err
		},
	} {
		if found, err := read(); err == nil || found > 0 || !strings.Contains(err.Error(), "the server is a standby") {
			t.Errorf("%s on a standby found %d, %v; want a word about the standby", name, found, err)
		}
	}
}
