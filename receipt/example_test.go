package receipt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
)

func exampleReceipt() receipt.Receipt {
	sum, err := fingerprint.Parse("match.result/1:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4")
	if err != nil {
		panic(err)
	}
	return receipt.Receipt{
		Key:         receipt.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: "0199a1b2-1111-7222-8333-444455556666"},
		Requested:   "settled",
		Outcome:     "settled",
		Fingerprint: sum,
		Value:       []byte(`{"match":7}`),
		Attempt:     "0199a1b2-4c7d-7e3f-8a90-b1c2d3e4f506",
		RecordedAt:  time.Date(2026, 3, 1, 12, 30, 0, 123456000, time.UTC),
	}
}

// A receipt travels as JSON.
func ExampleReceipt_MarshalJSON() {
	text, err := json.MarshalIndent(exampleReceipt(), "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output:
	// {
	//   "key": {
	//     "tenant": "arena",
	//     "scope": "match",
	//     "operation": "settle",
	//     "id": "0199a1b2-1111-7222-8333-444455556666"
	//   },
	//   "revision": 0,
	//   "requested": "settled",
	//   "outcome": "settled",
	//   "fingerprint": "match.result/1:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
	//   "value": "eyJtYXRjaCI6N30=",
	//   "attempt": "0199a1b2-4c7d-7e3f-8a90-b1c2d3e4f506",
	//   "recorded_at": "2026-03-01T12:30:00.123456Z"
	// }
}

// A conflict says what is stored and what came.
func ExampleConflictError() {
	stored := exampleReceipt()
	err := error(&receipt.ConflictError{
		Key: stored.Key, Stored: stored, Requested: "aborted", Fingerprint: stored.Fingerprint,
	})
	fmt.Println(errors.Is(err, receipt.ErrKindMismatch), errors.Is(err, receipt.ErrFingerprintMismatch))
	fmt.Println(err)
	// Output:
	// true false
	// receipt: conflict on key arena/match/settle/0199a1b2-1111-7222-8333-444455556666: stored for kind "settled", requested "aborted"; nothing was changed
}

// An id for a key that must never come twice.
func ExampleNewID() {
	one, other := receipt.NewID(), receipt.NewID()
	fmt.Println(len(one), one != other)
	// Output: 36 true
}
