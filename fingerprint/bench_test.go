package fingerprint_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

// BenchmarkOf stands beside the plain reference: encoding/json and SHA-256 over
// what it writes, which is what a program without this package would do.
func BenchmarkOf(b *testing.B) {
	match, bet := sampleMatch(), sampleBet()
	for _, bench := range []struct {
		name  string
		value any
	}{{"match", match}, {"matchPointer", &match}, {"bet", bet}, {"betPointer", &bet}, {"map", sampleMap()}} {
		b.Run(bench.name+"/reference", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := json.Marshal(bench.value)
				if err != nil {
					b.Fatal(err)
				}
				sha256.Sum256(text)
			}
		})
		b.Run(bench.name+"/fingerprint", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fingerprint.Of(sampleSchema, bench.value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOfJSON stands beside decoding, encoding again (which orders the
// members) and SHA-256, which is what a program without this package would do.
func BenchmarkOfJSON(b *testing.B) {
	text, err := json.MarshalIndent(sampleMatch(), "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("reference", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				b.Fatal(err)
			}
			again, err := json.Marshal(value)
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(again)
		}
	})
	b.Run("fingerprint", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := fingerprint.OfJSON(sampleSchema, text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
