package fingerprint_test

import (
	"encoding/json"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// form is the canonical form of a Go value, or of a JSON text.
func form(t testing.TB, value any) []byte {
	t.Helper()
	if text, ok := value.(jsonText); ok {
		canonical, err := fingerprint.CanonicalJSON([]byte(text))
		if err != nil {
			t.Fatalf("CanonicalJSON(%s): %v", text, err)
		}
		return canonical
	}
	canonical, err := fingerprint.Canonical(value)
	if err != nil {
		t.Fatalf("Canonical(%#v): %v", value, err)
	}
	return canonical
}

// jsonText is a JSON text in a table of values.
type jsonText string

type (
	optional struct {
		Name  string  `json:"name"`
		Note  *string `json:"note"`
		List  []int   `json:"list"`
		Pairs map[string]int
		Any   any
		Deep  **int
		Raw   json.RawMessage
		Null  decimal.NullDecimal
	}
	omitting struct {
		Name  string          `json:"name"`
		Count int             `json:"count,omitzero"`
		Stake decimal.Decimal `json:"stake,omitempty,omitzero"`
		At    time.Time       `fingerprint:",omitzero"`
		Spot  point           `json:",omitzero"`
		Own   ownZero         `fingerprint:"own,omitzero"`
		Addr  netip.Addr      `json:",omitzero"`
	}
	named struct {
		Name string `json:"name"`
	}
	renamed struct {
		Other string `json:"elsewhere" fingerprint:"name"`
	}
	// offWire has a field that JSON leaves out, and that counts.
	offWire struct {
		Hidden string `json:"-"`
	}
	point   struct{ X, Y int }
	ownZero struct{ Text string }
	// base and its kin stand inside others.
	base     struct{ ID int }
	embedder struct {
		base
		Name string `json:"name"`
	}
	richBase struct {
		At    time.Time       `json:"at"`
		Stake decimal.Decimal `json:"stake"`
		Pairs map[string]any  `json:"pairs"`
		Held  viaPointer      `json:"held"`
	}
	richEmbedder struct {
		richBase
	}
	pointerEmbedder struct {
		*base
		Name string `json:"name"`
	}
	flat struct {
		Name string `json:"name"`
		ID   int
	}
	excluding struct {
		Name   string `json:"name"`
		Trace  string `fingerprint:"-"`
		Func   func() `fingerprint:"-"`
		hidden int    `fingerprint:"-"`
		_      int
	}
	wrapped   struct{ decimal.Decimal }
	unwrapped struct{ Decimal decimal.Decimal }
	addressed struct {
		netip.Addr
		Port int
	}
	jsonList []int
	// viaPointer has its method on the pointer.
	viaPointer struct{ text string }
	holder     struct{ Held viaPointer }
	stringer   struct{ Held string }
)

func (l jsonList) MarshalJSON() ([]byte, error) { return []byte(strconv.Itoa(len(l))), nil }

func (o ownZero) IsZero() bool { return o.Text == "none" }

func (v *viaPointer) MarshalText() ([]byte, error) { return []byte(strings.ToLower(v.text)), nil }

func TestEqualEffectsHaveEqualForms(t *testing.T) {
	t.Parallel()
	one := 1
	pointerToNil := (*int)(nil)
	berlin := time.FixedZone("CET", 3600)
	instant := time.Date(2026, 3, 4, 20, 15, 30, 5, time.UTC)
	now := time.Now()
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for name, pair := range map[string][2]any{
		"decimal places":           {decimal.RequireFromString("1.50"), decimal.RequireFromString("1.5")},
		"decimal exponents":        {decimal.New(15, 4), decimal.New(150000, 0)},
		"decimal zeros":            {decimal.New(0, 7), decimal.Decimal{}},
		"decimal and big int":      {decimal.NewFromBigInt(huge, 0), huge},
		"zones":                    {instant, instant.In(berlin)},
		"monotonic reading":        {now, now.Round(0)},
		"integer sizes":            {int8(7), uint64(7)},
		"integral float":           {float64(1 << 60), 1 << 60},
		"fractional float":         {-0.375, decimal.RequireFromString("-0.375")},
		"negative zero":            {math.Copysign(0, -1), 0},
		"json.Number":              {json.Number("1.500e1"), 15},
		"raw JSON":                 {json.RawMessage(` {"b":1,"a":"\u0041"} `), map[string]any{"a": "A", "b": 1}},
		"pointer":                  {&one, 1},
		"pointer to pointer":       {&[]*int{&one}[0], 1},
		"nil pointer":              {(*int)(nil), nil},
		"struct and map":           {named{"x"}, map[string]string{"name": "x"}},
		"fingerprint tag wins":     {renamed{"x"}, named{"x"}},
		"nil optionals are absent": {optional{Name: "x"}, named{"x"}},
		"nil behind a pointer":     {optional{Name: "x", Deep: &pointerToNil, Any: pointerToNil}, named{"x"}},
		"omitzero":                 {omitting{Name: "x"}, map[string]any{"name": "x", "own": map[string]string{"Text": ""}}},
		"omitzero by IsZero":       {omitting{Name: "x", Stake: decimal.New(0, 3), At: time.Time{}.In(berlin), Own: ownZero{"none"}}, named{"x"}},
		"excluded fields":          {excluding{Name: "x", Trace: "t", hidden: 1}, named{"x"}},
		"embedded":                 {embedder{base{7}, "x"}, flat{"x", 7}},
		"embedded pointer":         {pointerEmbedder{&base{7}, "x"}, flat{"x", 7}},
		"embedded, all kinds": {
			richEmbedder{richBase{instant, decimal.New(1, 0), map[string]any{"a": 1}, viaPointer{"H"}}},
			map[string]any{"at": instant, "stake": 1, "pairs": map[string]int{"a": 1}, "held": "h"},
		},
		"embedded nil pointer":        {pointerEmbedder{nil, "x"}, named{"x"}},
		"embedded type with a method": {wrapped{decimal.New(5, 0)}, unwrapped{decimal.New(5, 0)}},
		"method on the pointer":       {holder{viaPointer{"ABC"}}, stringer{"abc"}},
		"... when addressable":        {&holder{viaPointer{"ABC"}}, stringer{"abc"}},
		"... in a map":                {map[string]viaPointer{"Held": {"ABC"}}, stringer{"abc"}},
		"named for the wire alone":    {offWire{"x"}, map[string]string{"Hidden": "x"}},
		"nil elements are null":       {make([]any, 7), []any{[]int(nil), map[string]int(nil), []byte(nil), json.RawMessage(nil), decimal.NullDecimal{}, net.IP(nil), jsonList(nil)}},
		"JSON marshaler of a slice":   {jsonList{1, 2}, 2},
		"valid NullDecimal":           {decimal.NewNullDecimal(decimal.New(150, -2)), decimal.New(15, -1)},
		"embedded text marshaler":     {addressed{netip.MustParseAddr("::1"), 1}, map[string]any{"Addr": "::1", "Port": 1}},
		"text marshaler":              {netip.MustParseAddr("2001:DB8::1"), "2001:db8::1"},
		"text marshaler as key":       {map[netip.Addr]int{netip.MustParseAddr("::1"): 1}, map[string]int{"::1": 1}},
		"array and slice":             {[2]int{1, 2}, []int{1, 2}},
		"byte array and slice":        {[2]byte{1, 2}, []byte{1, 2}},
		"byte array, addressable":     {&struct{ A [2]byte }{[2]byte{1, 2}}, struct{ A []byte }{[]byte{1, 2}}},
		"map keys by interface":       {map[any]int{"a": 1, 2: 3}, map[any]int{int8(2): 3, "a": 1}},

		"JSON member order":   {jsonText(`{"a":1,"b":[2,{"c":3,"d":4}]}`), jsonText(`{"b":[2,{"d":4,"c":3}],"a":1}`)},
		"JSON white space":    {jsonText("{\"a\":[1,2]}"), jsonText(" {\t\"a\" :\n[ 1 ,\r2 ] } ")},
		"JSON escapes":        {jsonText(`{"aé/\n😀":"\""}`), jsonText(`{"\u0061\u00E9\/\u000a\ud83d\uDE00":"\u0022"}`)},
		"JSON numbers":        {jsonText(`[1.0, 1.50, 0.001, 0, 0]`), jsonText(`[1, 15e-1, 1E-3, -0, 0.0e+7]`)},
		"JSON huge exponents": {jsonText(`[1e999999999999999, 10e-3]`), jsonText(`[10E+999999999999998, 0.1e-1]`)},
		"JSON and Go":         {jsonText(`{"id":9007199254740993,"ok":true,"none":null,"list":["x"]}`), map[string]any{"id": 9007199254740993, "ok": true, "none": nil, "list": []string{"x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(form(t, pair[0]), form(t, pair[1])); diff != "" {
				t.Errorf("forms differ:\n%s", diff)
			}
		})
	}
}

func TestOfIsOfCanonical(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"match": sampleMatch(), "bet": sampleBet(), "map": sampleMap(), "nil": nil} {
		again, err := fingerprint.OfCanonical(sampleSchema, form(t, value))
		if want := mustOf(t, sampleSchema, value); err != nil || again != want {
			t.Errorf("%s: OfCanonical = %v, %v, want %v", name, again, err, want)
		}
	}
	text := []byte(`{"b":[1,null],"a":"x"}`)
	want, err := fingerprint.OfJSON(sampleSchema, text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fingerprint.OfCanonical(sampleSchema, form(t, jsonText(text)))
	if err != nil || again != want {
		t.Errorf("OfCanonical = %v, %v, want %v", again, err, want)
	}
}

// A caller may change or keep what it was given.
func TestCanonicalIsTheCallers(t *testing.T) {
	t.Parallel()
	first := form(t, "first")
	kept := string(first)
	form(t, "other")
	if string(first) != kept {
		t.Error("a later call changed the bytes of an earlier one")
	}
}
