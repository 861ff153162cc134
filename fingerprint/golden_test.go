package fingerprint_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// The golden file holds forms and digests that receipts out there already
// have. A difference is never mended by changing the file: it needs another
// version of the format. Adding lines is fine.
func TestGoldenForms(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, golden := range []struct {
		name  string
		value any
	}{
		{"nil", nil},
		{"booleans", []bool{true, false}},
		{"integers", []any{0, -1, 1500, uint64(math.MaxUint64), int64(math.MinInt64)}},
		{"floats", []float64{0.5, -0.1, 1e23, math.MaxFloat64}},
		{"decimals", []decimal.Decimal{decimal.RequireFromString("12.50"), decimal.New(1, 5000000), {}}},
		{"big", new(big.Int).Lsh(big.NewInt(1), 100)},
		{"texts", []string{"", "größer\x00\n", strings.Repeat("x", 200)}},
		{"bytes", [][]byte{{}, {0, 255}, nil}},
		{"instants", []time.Time{{}, time.Unix(1772655330, 123456789), time.Unix(-1, 1)}},
		{"map keys", map[any]any{"b": 1, "aa": 2, 3: 3, true: 4, [2]byte{1, 2}: 5, time.Unix(0, 0): 6, "ö": map[string]int{}}},
		{"address", netip.MustParseAddr("2001:db8::1")},
		{"raw", json.RawMessage(`{"b":[1.0,"\u00e9",null,false],"a":1e400}`)},
		{"optionals", optional{Name: "x", Raw: json.RawMessage("null")}},
		{"omitting", omitting{Name: "x", Count: 2}},
		{"embedder", embedder{base{7}, "x"}},
		{"excluding", excluding{Name: "x", Trace: "not there"}},
		{"match", sampleMatch()},
		{"bet", sampleBet()},
		{"json", jsonText(`{"b":[1.0,"\u00e9",null,false,{}],"a":-9007199254740993}`)},
	} {
		canonical := form(t, golden.value)
		digest, err := fingerprint.OfCanonical(sampleSchema, canonical)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n\t%q\n\t%v\n", golden.name, canonical, digest)
	}
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("forms have changed (-want +got):\n%s", diff)
	}
}

// The same vectors, as another implementation would make them from the format
// in the package comment: bytes written by hand, and sha256sum.
func TestGoldenDigestByHand(t *testing.T) {
	t.Parallel()
	// printf '\016match.result/3\001{s\004roomd\0017s\005stakes\0031.5}' | sha256sum
	const want = "match.result/3:b255d5cd1e60783a58fb350607b6e99c5c67a015ba40a466ccca6cac6e1775ad"
	got := mustOf(t, sampleSchema, map[string]any{"stake": "1.5", "room": 7})
	if got.String() != want {
		t.Errorf("digest is %v, want %s", got, want)
	}
}
