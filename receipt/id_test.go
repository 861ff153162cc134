package receipt_test

import (
	"encoding/hex"
	"regexp"
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

// TestIDForm checks the bits against the example of RFC 9562, appendix A.6.
func TestIDForm(t *testing.T) {
	t.Parallel()
	var random [16]byte
	bits, err := hex.DecodeString("ffffffffffff" + "fcc3" + "58c4dc0c0c07398f")
	if err != nil {
		t.Fatal(err)
	}
	copy(random[:], bits)
	const want = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	if got := receipt.FormatID(0x017f22e279b0, random); got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	if got, want := receipt.FormatID(0, [16]byte{}), "00000000-0000-7000-8000-000000000000"; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
}

func TestNewIDNeverRepeats(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	const goroutines, each = 4, 10_000
	ids := make(chan string, goroutines*each)
	for range goroutines {
		go func() {
			for range each {
				ids <- receipt.NewID()
			}
		}()
	}
	seen := make(map[string]bool)
	for range goroutines * each {
		id := <-ids
		if seen[id] {
			t.Fatalf("%s was given twice", id)
		}
		seen[id] = true
		if !form.MatchString(id) {
			t.Fatalf("%s is no UUIDv7", id)
		}
	}
}
