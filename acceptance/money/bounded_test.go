//go:build unix

package money_test

import (
	"errors"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/settleonce/settleonce/acceptance/money"
)

// TestWorkIsBounded hands every door a text of which nothing can be read: the
// memory behind it faults. What is too long must be refused unread.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	text := unreadable(t, 1<<20)
	word := unsafe.String(&text[0], len(text))
	registry := house(t)
	var amount money.Amount
	var odds money.Odds
	var number money.Numeric
	var rounding money.Rounding
	for name, call := range map[string]func() error{
		"Parse":                func() error { _, err := registry.Parse(word, "EUR"); return err },
		"ParseOdds":            func() error { _, err := money.ParseOdds(word); return err },
		"Amount.UnmarshalText": func() error { return amount.UnmarshalText(text) },
		"Amount.UnmarshalJSON": func() error { return amount.UnmarshalJSON(text) },
		"Odds.UnmarshalText":   func() error { return odds.UnmarshalText(text) },
		"Odds.UnmarshalJSON":   func() error { return odds.UnmarshalJSON(text) },
		"Odds.Scan string":     func() error { return odds.Scan(word) },
		"Odds.Scan bytes":      func() error { return odds.Scan(text) },
		"Numeric.Scan string":  func() error { return number.Scan(word) },
		"Numeric.Scan bytes":   func() error { return number.Scan(text) },
		"Rounding":             func() error { return rounding.UnmarshalText(text) },
		"code":                 func() error { _, err := registry.Parse("1", word); return err },
		"code of ISO":          func() error { _, err := (*money.Registry)(nil).Parse("1", word); return err },
		"NewRegistry":          func() error { _, err := money.NewRegistry(money.Definition{Code: word}); return err },
	} {
		err := withoutFault(t, name, call)
		if !errors.Is(err, money.ErrInvalid) && !errors.Is(err, money.ErrCurrency) {
			t.Errorf("%s: error %v, want ErrInvalid or ErrCurrency", name, err)
		}
	}
}

// withoutFault returns what call does, and fails where it reads memory that
// cannot be read.
func withoutFault(t *testing.T, name string, call func() error) (err error) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("%s reads what is beyond its limit: %v", name, fault)
			err = money.ErrInvalid
		}
	}()
	return call()
}

// unreadable returns memory that faults when it is read.
func unreadable(t *testing.T, size int) []byte {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	return memory
}
