package sabotage_test

import (
	"os"

	"github.com/settleonce/settleonce/examples/drill/sabotage"
)

func ExampleWriteExpected() {
	sabotages := []sabotage.Sabotage{
		{Name: "no-lock", What: "two may hold one thing", Figure: "doubled"},
		{Name: "no-sync", What: "a file is not forced to disk", Figure: "lost"},
	}
	sabotage.WriteExpected(os.Stdout, sabotages, "no-sync")
	sabotage.WriteExpected(os.Stdout, sabotages, "")
	// Output: sabotage: a file is not forced to disk; "lost" must be above zero
}
