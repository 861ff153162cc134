package fingerprint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// Fingerprint a match result, as a lobby does before it settles the match.
func ExampleOf() {
	type result struct {
		Room    string  `json:"room"`
		Winner  *int    `json:"winner"` // nil: nobody won, and the field is absent
		Players []int64 `json:"players"`
		Trace   string  `json:"trace" fingerprint:"-"` // changes no effect
	}
	schema := fingerprint.Schema{Name: "match.result", Version: 1}
	winner := 2
	digest, err := fingerprint.Of(schema, result{Room: "r-7", Winner: &winner, Players: []int64{11, 12}, Trace: "a1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(digest)
	// Output:
	// match.result/1:39dba7999af05071dd9404937324813dc3cc867e9b920b5a06ce3452b9c16715
}

// A sender that was restarted writes its request again, with its fields in
// another order and its odds in another form. The receiver decodes before it
// digests, so it sees the same request.
func ExampleOf_retry() {
	type bet struct {
		Wallet string          `json:"wallet"`
		Stake  decimal.Decimal `json:"stake"`
		Odds   decimal.Decimal `json:"odds"`
	}
	schema := fingerprint.Schema{Name: "bet.place", Version: 1}
	receive := func(body string) (fingerprint.Digest, error) {
		var request bet
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			return fingerprint.Digest{}, err
		}
		return fingerprint.Of(schema, request)
	}
	first, err := receive(`{"wallet":"w-1","stake":"10.00","odds":"1.50"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{
		`{ "odds": "1.5", "stake": "10", "wallet": "w-1" }`,
		`{"wallet":"w-1","stake":"100","odds":"1.50"}`,
	} {
		digest, err := receive(body)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("same request:", digest.Equal(first))
	}
	// Output:
	// same request: true
	// same request: false
}

// Fingerprint JSON whose Go type the receiver does not have.
func ExampleOfJSON() {
	schema := fingerprint.Schema{Name: "webhook", Version: 1}
	a, err := fingerprint.OfJSON(schema, []byte(`{"id":9007199254740993,"name":"Zo\u00eb"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := fingerprint.OfJSON(schema, []byte(`{ "name": "Zoë", "id": 9007199254740993.0 }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Equal(b))

	_, err = fingerprint.OfJSON(schema, []byte(`{"legs":[{"odds":1.5,"odds":2.5}]}`))
	fmt.Println(err)
	// Output:
	// true
	// fingerprint: invalid value: $.legs[0].odds is a duplicate member
}

// Say in which fields a request differs from the one that was settled.
func ExampleDiff() {
	stored, err := fingerprint.CanonicalJSON([]byte(`{"stake":10,"legs":[{"odds":1.5},{"odds":2}],"note":null}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	came, err := fingerprint.CanonicalJSON([]byte(`{"stake":10.0,"legs":[{"odds":1.50},{"odds":2.1}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	paths, err := fingerprint.Diff(stored, came)
	fmt.Println(paths, err)
	// Output:
	// [$.legs[1].odds $.note] <nil>
}

// Compare with a receipt that an older build stored.
func ExampleUnder() {
	type resultV1 struct{ Room string }
	type resultV2 struct{ Room, Mode string }
	v1 := fingerprint.Schema{Name: "match.result", Version: 1}
	v2 := fingerprint.Schema{Name: "match.result", Version: 2}
	under := fingerprint.Under(
		fingerprint.Form{Schema: v2, Value: resultV2{"r-7", "ranked"}},
		fingerprint.Form{Schema: v1, Value: resultV1{"r-7"}},
	)

	stored, err := fingerprint.Of(v1, resultV1{"r-7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	came, err := under(stored.Schema())
	fmt.Println(came.Equal(stored), err)

	_, err = under(fingerprint.Schema{Name: "match.result", Version: 3})
	fmt.Println(errors.Is(err, fingerprint.ErrUnknownSchema))
	// Output:
	// true <nil>
	// true
}

// Keep the canonical form beside the digest, and make it only once.
func ExampleOfCanonical() {
	schema := fingerprint.Schema{Name: "match.result", Version: 1}
	canonical, err := fingerprint.Canonical(map[string]any{"room": "r-7", "score": 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	digest, err := fingerprint.OfCanonical(schema, canonical)
	fmt.Printf("%q\n%v %v\n", canonical, digest, err)
	// Output:
	// "\x01{s\x04rooms\x03r-7s\x05scored\x013}"
	// match.result/1:d26699121f207a15774cbc64adbd03a5e2ae686f68b4dff08b5da5f7ad418005 <nil>
}

// Write JSON in the form of RFC 8785, for a peer that signs it.
func ExampleJCS() {
	text, err := fingerprint.JCS([]byte(`{ "b": 1.50, "a": "\u20ac\/" }`))
	fmt.Println(string(text), err)

	_, err = fingerprint.JCS([]byte(`{"id":9007199254740993}`))
	fmt.Println(err)
	// Output:
	// {"a":"€/","b":1.5} <nil>
	// fingerprint: invalid value: $.id must be a number that a double carries unchanged
}

// An error names the place.
func ExampleValueError() {
	_, err := fingerprint.Canonical(map[string]any{"legs": []any{map[string]any{"odds": math.Inf(1)}}})
	if invalid, ok := errors.AsType[*fingerprint.ValueError](err); ok {
		fmt.Println(invalid.Path)
		fmt.Println(invalid.Rule)
	}
	// Output:
	// $.legs[0].odds
	// must be a finite number
}

// Read a digest's text form back, as from a log or a URL.
func ExampleParse() {
	digest, err := fingerprint.Parse("bet.place/2:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")
	fmt.Println(digest.Schema(), err)

	_, err = fingerprint.Parse("bet.place:00")
	fmt.Println(errors.Is(err, fingerprint.ErrInvalidDigest))
	// Output:
	// bet.place/2 <nil>
	// true
}
