package memory_test

import (
	"testing"

	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
)

func open(t *testing.T, faults ...receipttest.Fault) (housetest.Subject, *receipttest.Fake[house.Unit]) {
	t.Helper()
	database := memory.New(memory.Config{})
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: database, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	return housetest.Subject{Store: fake, Books: database, Cashier: database, Trading: database}, fake
}

func TestHouse(t *testing.T) {
	t.Parallel()
	housetest.Test(t, func(t *testing.T) housetest.Subject {
		t.Helper()
		subject, _ := open(t)
		return subject
	})
}
