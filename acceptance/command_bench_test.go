package acceptance_test

import (
	"encoding/json"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
)

// BenchmarkCommand measures what every bet costs before the database has a say.
func BenchmarkCommand(b *testing.B) {
	least, full := leastCommand(b), fullCommand(b)
	for _, bench := range []struct {
		name    string
		command *acceptance.Command
	}{{"single", &least}, {"system", &full}} {
		b.Run(bench.name+"/validate", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.command.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, unordered := range []bool{false, true} {
			name := bench.name + "/fingerprint"
			if unordered {
				name += "/unordered"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					mustFingerprint(b, bench.command, unordered)
				}
			})
		}
		b.Run(bench.name+"/json", func(b *testing.B) {
			text, err := bench.command.MarshalJSON()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				var read acceptance.Command
				if err := json.Unmarshal(text, &read); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
