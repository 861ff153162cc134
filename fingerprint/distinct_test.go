package fingerprint_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// Every value here is another effect than every other: no two may share a form.
func TestDifferentEffectsHaveDifferentForms(t *testing.T) {
	t.Parallel()
	empty := ""
	values := []any{
		nil, true, false,
		// Numbers, near and far.
		0, 1, -1, 10, 1 << 53, 1<<53 + 1, uint64(math.MaxUint64), int64(math.MinInt64),
		json.Number("9007199254740992.5"), 0.1, decimal.RequireFromString("0.1"), float32(0.1),
		math.SmallestNonzeroFloat64, math.MaxFloat64, math.Nextafter(math.MaxFloat64, 0),
		decimal.New(1, 5000000), decimal.New(1, 5000001), json.Number("1e-999999999999999"),
		// Texts that look like other things.
		"", "0", "1", "-1", "null", "true", "0.1", "n", "[]", "{}", "1e5000000", "\x00", "é", "e\u0301", "\uFFFD",
		// Bytes and instants.
		[]byte{},
		[]byte("1"), []byte("1772655330"),
		[]byte{0, 0, 0, 0, 0x69, 0xa8, 0x8b, 0x22, 0, 0, 0, 0},
		time.Unix(1772655330, 0), time.Unix(1772655330, 1), time.Unix(-1, 0),
		time.Time{},
		"2026-03-04T20:15:30Z",
		// Shapes.
		[]int{},
		[]int{0},
		[]int{0, 0},
		[][]int{{}},
		[][]int{{}, {}},
		[][]int{{0}, {0}},
		[]any{nil},
		[]any{nil, []int{}},
		[]any{[]int{}, []int(nil)},
		[]any{map[string]int(nil), map[string]int{}},
		[]any{[]any{nil}},
		[]string{"a", "bc"},
		[]string{"ab", "c"},
		[]string{"abc"},
		[]string{"a", "b", "c"},
		[]string{"", "abc"},
		[]string{"abc", ""},
		map[string]int{},
		map[string]any{"a": nil},
		map[string]any{"a": map[string]any{}},
		map[string]int{"a": 0},
		map[string]int{"": 0},
		map[string]string{"a": "b"},
		map[string]string{"ab": ""},
		map[string]string{"": "ab"},
		[]any{"a", "b"},
		map[string]any{"a": "b", "c": "d"},
		map[string]any{"a": []any{"b", "c", "d"}},
		map[string]any{"a": "d", "c": "b"},
		map[int]int{1: 1},
		map[string]int{"1": 1},
		map[bool]int{true: 1},
		map[string]int{"true": 1},
		map[[1]byte]int{{'1'}: 1},
		map[time.Time]int{time.Unix(1, 0): 1},
		// Absent, null, zero and empty.
		offWire{},
		offWire{Hidden: "x"},
		optional{},
		optional{Note: &empty},
		optional{List: []int{}},
		optional{Pairs: map[string]int{}},
		optional{Raw: json.RawMessage("null")},
		optional{Any: 0},
		optional{Null: decimal.NewNullDecimal(decimal.Zero)},
		omitting{Own: ownZero{"none"}, Count: 1},
		omitting{Own: ownZero{"none"}, Spot: point{Y: 1}},
		flat{"x", 7},
		flat{"7", 0},
		named{"x"},
	}
	seen := map[string]int{}
	for i, value := range values {
		canonical := string(form(t, value))
		if j, ok := seen[canonical]; ok {
			t.Errorf("%#v and %#v share the form %q", values[j], value, canonical)
		}
		seen[canonical] = i
	}
}

func TestDifferentJSONHasDifferentForms(t *testing.T) {
	t.Parallel()
	texts := []string{
		`null`, `true`, `false`, `0`, `"0"`, `9007199254740993`, `9007199254740992`, `9007199254740992.0000000001`,
		`1e400`, `1e401`, `0.1`, `0.1000000000000000055511151231257827`, `"0.1"`, `""`, `[]`, `{}`, `[null]`, `[[]]`, `[{}]`,
		`["a","bc"]`, `["ab","c"]`, `{"a":"bc"}`, `{"ab":"c"}`, `{"a":null}`, `{"a":{"b":1}}`, `{"a":1,"b":{}}`,
		`[1,2]`, `[2,1]`, `["1","2"]`, `["\u0000"]`, `["\\u0000"]`, `"\ud83d\ude00"`, `"\ud83d\ude01"`, `"\ufffd"`,
	}
	seen := map[string]string{}
	for _, text := range texts {
		canonical := string(form(t, jsonText(text)))
		if other, ok := seen[canonical]; ok {
			t.Errorf("%s and %s share the form %q", other, text, canonical)
		}
		seen[canonical] = text
	}
}

// FuzzDistinct says that forms are equal exactly where the values are.
func FuzzDistinct(f *testing.F) {
	f.Add("a", "bc", int64(1), 0.5, []byte("x"), "ab", "c", int64(1), 0.5, []byte("x"))
	f.Add("", "", int64(0), 0.1, []byte{}, "", "", int64(0), 0.1, []byte{})
	f.Add("a", "b", int64(1)<<53, 9007199254740992.0, []byte{0}, "a", "b", int64(1)<<53+1, 1e300, []byte{})
	type values struct {
		A, B string
		N    int64
		F    float64
		Bin  []byte
		List []string
	}
	f.Fuzz(func(t *testing.T, a1, b1 string, n1 int64, f1 float64, bin1 []byte, a2, b2 string, n2 int64, f2 float64, bin2 []byte) {
		// Nil bytes would be absent.
		first := values{a1, b1, n1, f1, append([]byte{}, bin1...), []string{a1, b1}}
		second := values{a2, b2, n2, f2, append([]byte{}, bin2...), []string{a2, b2}}
		form1, err1 := fingerprint.Canonical(first)
		form2, err2 := fingerprint.Canonical(second)
		if err1 != nil || err2 != nil {
			return
		}
		equal := a1 == a2 && b1 == b2 && n1 == n2 && f1 == f2 && string(bin1) == string(bin2)
		if got := string(form1) == string(form2); got != equal {
			t.Errorf("forms equal: %v, values equal: %v", got, equal)
		}
		paths, err := fingerprint.Diff(form1, form2)
		if err != nil || (len(paths) == 0) != equal {
			t.Errorf("Diff = %q, %v, values equal: %v", paths, err, equal)
		}
	})
}
