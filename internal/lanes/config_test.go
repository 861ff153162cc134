package lanes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	table := lanestest.NewMemory(lanestest.MemoryConfig{})
	for _, test := range []struct {
		name   string
		config lanes.Config
		want   []string // nil: none
	}{
		{"zero values", lanes.Config{Table: table}, nil},
		{"nothing", lanes.Config{}, []string{"Table must be set"}},
		{
			"negative",
			lanes.Config{Table: table, Lease: -1, MinPoll: -1, MaxPoll: -1, Rescan: -1},
			[]string{"Lease must not", "MinPoll must not", "MaxPoll must not", "Rescan must not"},
		},
		{"polls crossed", lanes.Config{Table: table, MinPoll: 2, MaxPoll: 1}, []string{"MinPoll must not pass MaxPoll"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := lanes.New(test.config)
			if test.want == nil {
				if err != nil {
					t.Fatalf("New = %v", err)
				}
				return
			}
			if !errors.Is(err, outbox.ErrConfig) {
				t.Fatalf("New = %v; want ErrConfig", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New = %v; want it to say %q", err, want)
				}
			}
		})
	}
}
