package pgstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

func TestEventsConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	store := newStore(t, pgtest.Pool(t), pgstore.Config{})
	tests := map[string]struct {
		cfg   pgstore.EventsConfig
		names []string
	}{
		"none": {pgstore.EventsConfig{}, []string{"Store"}},
		"several": {
			pgstore.EventsConfig{Store: store, Lease: -1, MinPoll: -1, Rescan: -1, DeadLetterPolicy: 7},
			[]string{"Lease", "MinPoll", "Rescan", "DeadLetterPolicy"},
		},
		"polls":                    {pgstore.EventsConfig{Store: store, MinPoll: time.Hour, MaxPoll: time.Minute}, []string{"MinPoll", "MaxPoll"}},
		"with the store's absence": {pgstore.EventsConfig{Lease: -1}, []string{"Store", "Lease"}},
	}
	for name, test := range tests {
		_, err := pgstore.NewEvents(test.cfg)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, field := range test.names {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%s: error %q does not name %s", name, err, field)
			}
		}
	}
	for _, policy := range []outbox.DeadLetterPolicy{outbox.DefaultPolicy, outbox.HoldBack, outbox.GoOn} {
		newEvents(t, pgstore.EventsConfig{Store: store, DeadLetterPolicy: policy})
	}
}
