package outbox_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestARelaysConfigNamesItsBrokenField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*outbox.RelayConfig)
		says   string // empty: the config is right
	}{
		{func(*outbox.RelayConfig) {}, ""},
		{func(c *outbox.RelayConfig) { c.MaxRate = 0.001 }, ""},
		{func(c *outbox.RelayConfig) { c.MaxRate = -1 }, "MaxRate must be a number and not negative, is -1"},
		{func(c *outbox.RelayConfig) { c.MaxRate = math.NaN() }, "MaxRate must be a number"},
		{func(c *outbox.RelayConfig) { c.MaxRate = math.Inf(1) }, "MaxRate must be a number"},
		{func(c *outbox.RelayConfig) { c.Remember = -1 }, "Remember must not be negative"},
		{func(c *outbox.RelayConfig) { c.Sender = &courier{batching: outbox.Batching{MaxEvents: -1}} }, "Batching must not be negative"},
		{func(c *outbox.RelayConfig) { c.Sender = &courier{batching: outbox.Batching{MaxBytes: -1}} }, "Batching must not be negative"},
	} {
		cfg := outbox.RelayConfig{Source: &outboxtest.Source{}, Sender: &outboxtest.Sender{}}
		c.change(&cfg)
		_, err := outbox.NewRelay(cfg)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%v, want no error", err)
		case c.says != "" && (!errors.Is(err, outbox.ErrConfig) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%v, want %v that says %q", err, outbox.ErrConfig, c.says)
		}
	}
}

// TestARelayTakesWhateverItsConfigAllows has a sender and a config that mean "no
// bound" by the greatest number that there is.
func TestARelayTakesWhateverItsConfigAllows(t *testing.T) {
	t.Parallel()
	for _, inOrder := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			batching := outbox.Batching{MaxEvents: math.MaxInt, MaxBytes: math.MaxInt, InOrder: inOrder}
			cfg := outbox.RelayConfig{Concurrency: math.MaxInt, MaxRate: math.MaxFloat64, Remember: math.MaxInt, DownAfter: math.MaxInt}
			r := startBatches(t, batching, cfg, "", func(r *batchRun) {
				r.claims.put(largeEvents(5000, 100, 10)...)
			})
			synctest.Wait()
			if ids, _ := r.claims.left(); len(ids) != 0 {
				t.Errorf("%d of 5000 records are left", len(ids))
			}
			r.finish(t)
		})
	}
}
