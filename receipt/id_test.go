package receipt_test

import (
	"regexp"
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

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
