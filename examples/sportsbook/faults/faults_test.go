package faults_test

import (
	"slices"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

func TestEveryFaultSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, known := range faults.Catalogue() {
		if known.Effect == "" {
			t.Errorf("%s says nothing", known.Name)
		}
	}
}

func TestFaultsThatTakeADatabase(t *testing.T) {
	t.Parallel()
	want := append([]fault.Name{faults.WalletRace, faults.KillAPI, faults.Restart}, faults.BehindOutbox()...)
	if got := faults.Catalogue().NeedDatabase(); !slices.Equal(got, want) {
		t.Errorf("%v need a database, want %v", got, want)
	}
}
