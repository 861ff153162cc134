package money_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/acceptance/money"
)

// BenchmarkParse stands beside the plain reference: decimal's own reading,
// which knows neither currencies nor limits. To parse and check takes at most
// twice as long.
func BenchmarkParse(b *testing.B) {
	registry := house(b)
	for _, bench := range []struct{ name, text, code string }{
		{"short", "10.00", "EUR"},
		{"long", "1234567890.12", "USD"},
		{"own", "0.12345678", "BTC"},
		{"beyond int64", "12345678901.123456789012345678", "ETH"},
	} {
		b.Run(bench.name+"/reference", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decimal.NewFromString(bench.text); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+"/parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Parse(bench.text, bench.code); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+"/parse and check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				amount, err := registry.Parse(bench.text, bench.code)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := registry.Check(amount); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseOdds(b *testing.B) {
	b.Run("reference", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decimal.NewFromString("2.375"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := money.ParseOdds("2.375"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
