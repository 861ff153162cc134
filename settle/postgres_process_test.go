package settle_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// TestMain lets tests start this binary again as a process of its own.
func TestMain(m *testing.M) { processtest.Main[order](m) }

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

// Follow does what o orders.
func (o order) Follow(ctx context.Context, in *bufio.Reader, out io.Writer) error {
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
