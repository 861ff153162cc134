package house_test

import (
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
)

func TestNewNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := house.New(house.Config{Limits: house.Limits{MaxStake: []money.Amount{housetest.EUR(t, "1.00")}}})
	if err == nil {
		t.Fatal("an empty Config was taken")
	}
	for _, field := range []string{"Tenant", "Store", "Books", "Limits.Version"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("error %q does not name %s", err, field)
		}
	}
}

func TestNewRefusesRepeatableRead(t *testing.T) {
	t.Parallel()
	database := memory.New(memory.Config{})
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: database})
	if err != nil {
		t.Fatal(err)
	}
	_, err = house.New(house.Config{Tenant: "demo", Store: fake, Books: database, Isolation: receipt.RepeatableRead})
	if err == nil || !strings.Contains(err.Error(), "RepeatableRead") {
		t.Errorf("error %v, want one that names the level", err)
	}
}
