package fingerprint_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

var errOwn = errors.New("own reason")

type (
	failing     struct{}
	failingText struct{}
	badJSON     struct{ text string }
	badText     struct{}
	loop        struct{ Next *loop }
	sliceLoop   []sliceLoop
	pointerLoop *pointerLoop
	caseless    struct{ text string }

	unexported struct{ Open, closed int }
	sameName   struct {
		A int `json:"x"`
		B int `fingerprint:"x"`
	}
	shadowing struct {
		base
		ID int
	}
	selfEmbedding struct{ *selfEmbedding }
	badOption     struct {
		A int `fingerprint:"a,omitempty"`
	}
	badTagText struct {
		A int `fingerprint:"\xff"`
	}
	timed struct {
		time.Time
		Note string
	}
)

func (failing) MarshalJSON() ([]byte, error)     { return nil, errOwn }
func (failingText) MarshalText() ([]byte, error) { return nil, errOwn }
func (b badJSON) MarshalJSON() ([]byte, error)   { return []byte(b.text), nil }
func (badText) MarshalText() ([]byte, error)     { return []byte("\xff"), nil }
func (c caseless) MarshalText() ([]byte, error)  { return []byte(strings.ToLower(c.text)), nil }

func TestInvalidValue(t *testing.T) {
	t.Parallel()
	ring := &loop{}
	ring.Next = ring
	rings := sliceLoop{nil}
	rings[0] = rings
	var pointer pointerLoop
	pointer = &pointer
	mapRing := map[string]any{}
	mapRing["again"] = mapRing
	type legs struct {
		Legs []map[string]any `json:"legs"`
	}
	in := func(value any) any { return legs{[]map[string]any{{}, {"odds": value}}} }
	const inPath = "$.legs[1].odds"
	for name, test := range map[string]struct {
		value      any
		path, rule string
	}{
		"NaN":                  {in(math.NaN()), inPath, "must be a finite number"},
		"infinity":             {in(math.Inf(1)), inPath, "must be a finite number"},
		"minus infinity":       {in(float32(math.Inf(-1))), inPath, "must be a finite number"},
		"text":                 {in("a\xffb"), inPath, "must be valid UTF-8"},
		"surrogate in text":    {in("\xed\xa0\x80"), inPath, "must be valid UTF-8"},
		"key":                  {in(map[string]int{"a\xff": 1}), inPath + ".(map key)", "must be valid UTF-8"},
		"json.Number":          {in(json.Number("0x10")), inPath, "is not a number in JSON's syntax"},
		"empty json.Number":    {in(json.Number("")), inPath, "is not a number in JSON's syntax"},
		"exponent":             {in(json.Number("1e1000000000000001")), inPath, "exponent of ten beyond 10^15"},
		"exponent of an int64": {in(json.Number("1e99999999999999999999999999")), inPath, "exponent of ten beyond 10^15"},
		"raw JSON":             {in(json.RawMessage(`{"a":}`)), inPath + ".a", "is not valid JSON: expected a value at byte 5"},
		"empty raw JSON":       {in(json.RawMessage{}), inPath, "is not valid JSON"},
		"duplicate in raw":     {in(json.RawMessage(`{"a":1,"\u0061":1}`)), inPath + ".a", "is a duplicate member"},
		"marshaler's JSON":     {in(badJSON{`[1,{"b":"\ud800"}]`}), inPath + "[1].b", "must not hold an unpaired surrogate"},
		"marshaler's text":     {in(badText{}), inPath, "must be valid UTF-8"},
		"equal keys":           {in(map[caseless]int{{"A"}: 1, {"a"}: 2}), inPath + ".a", "is the form of two keys of the map"},
		"equal number keys": {
			in(map[any]int{1: 1, uint8(1): 2}), inPath + "[number 1]", "is the form of two keys of the map",
		},
		"equal decimal keys": {
			in(map[decimal.Decimal]int{decimal.New(1, 0): 1, decimal.New(10, -1): 2}),
			inPath + "[number 1]", "is the form of two keys of the map",
		},
		"equal instants": {
			in(map[time.Time]int{time.Unix(0, 0).UTC(): 1, time.Unix(0, 0).In(time.FixedZone("X", 60)): 2}),
			inPath + "[time 1970-01-01T00:00:00Z]", "is the form of two keys of the map",
		},
		"struct key":       {in(map[point]int{{}: 1}), inPath + ".(map key)", "must be a scalar"},
		"nil key":          {in(map[any]int{nil: 1}), inPath + ".(map key)", "must be a scalar"},
		"channel":          {in(make(chan int)), inPath, "is of kind chan"},
		"nil function":     {in((func())(nil)), inPath, "is of kind func"},
		"complex":          {in(1i), inPath, "is of kind complex128"},
		"uintptr":          {in(uintptr(1)), inPath, "is of kind uintptr"},
		"unsafe pointer":   {in(unsafe.Pointer(ring)), inPath, "is of kind unsafe.Pointer"},
		"pointer cycle":    {in(ring), inPath + ".Next.Next", "is a cycle, or more than 256 levels deep"},
		"slice cycle":      {in(rings), inPath + "[0][0]", "is a cycle, or more than 256 levels deep"},
		"map cycle":        {in(mapRing), inPath + ".again.again", "is a cycle, or more than 256 levels deep"},
		"bare pointers":    {pointer, "$", "is a cycle, or more than 256 levels deep"},
		"unexported field": {in(unexported{Open: 1, closed: 2}), inPath, `has an unexported field, closed: export it, or exclude it by the tag fingerprint:"-"`},
		"same name":        {in(sameName{}), inPath, `has fields fingerprint_test.sameName.A and fingerprint_test.sameName.B of one name, "x"`},
		"shadowed field":   {in(shadowing{}), inPath, `has fields fingerprint_test.base.ID and fingerprint_test.shadowing.ID of one name, "ID"`},
		"embeds itself":    {in(selfEmbedding{}), inPath, "embeds type fingerprint_test.selfEmbedding in itself"},
		"unknown option":   {in(badOption{}), inPath, "has a field, A, whose fingerprint tag has an option other than omitzero"},
		"tag not UTF-8":    {in(badTagText{}), inPath, "has a field, A, whose name in its tag is not valid UTF-8"},
		"odd names":        {map[string]any{"a.b": map[string]any{"": map[string]any{"\n": math.NaN()}}}, `$["a.b"][""]["\n"]`, "must be a finite number"},
		"at the top":       {math.NaN(), "$", "must be a finite number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fingerprint.Of(sampleSchema, test.value)
			checkValueError(t, err, test.path, test.rule)
			if _, again := fingerprint.Canonical(test.value); again == nil || again.Error() != err.Error() {
				t.Errorf("Canonical: %v, want %v", again, err)
			}
		})
	}
}

// checkValueError checks an error's whole contract. A path that is cut need
// only begin with path.
func checkValueError(t *testing.T, err error, path, rule string) {
	t.Helper()
	if !errors.Is(err, fingerprint.ErrInvalidValue) {
		t.Fatalf("error is %v, want ErrInvalidValue", err)
	}
	invalid, ok := errors.AsType[*fingerprint.ValueError](err)
	if !ok {
		t.Fatalf("error is %T, want *ValueError", err)
	}
	if cut := strings.HasSuffix(invalid.Path, "…"); invalid.Path != path && (!cut || !strings.HasPrefix(invalid.Path, path)) {
		t.Errorf("path is %s, want %s", invalid.Path, path)
	}
	if !strings.Contains(invalid.Rule, rule) {
		t.Errorf("rule is %q, want %q", invalid.Rule, rule)
	}
	if text := err.Error(); !strings.Contains(text, invalid.Path) || !strings.Contains(text, invalid.Rule) || len(text) > 1000 {
		t.Errorf("text is %q", text)
	}
}

func TestMethodsErrorIsTheCause(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"JSON": failing{}, "text": failingText{}} {
		_, err := fingerprint.Of(sampleSchema, []any{0, value})
		checkValueError(t, err, "$[1]", "failed to marshal itself: own reason")
		if !errors.Is(err, errOwn) {
			t.Errorf("%s: the method's error is lost", name)
		}
	}
}

// A struct that embeds a type with a method for JSON has that method too, and
// encoding/json then leaves out every other field.
func TestPromotedMethodHidesNoField(t *testing.T) {
	t.Parallel()
	a := form(t, timed{time.Unix(1, 0), "a"})
	b := form(t, timed{time.Unix(1, 0), "b"})
	if string(a) == string(b) {
		t.Error("a field is hidden behind the embedded type's method")
	}
	paths, err := fingerprint.Diff(a, b)
	if err != nil || len(paths) != 1 || paths[0] != "$.Note" {
		t.Errorf("Diff = %q, %v, want $.Note", paths, err)
	}
}

func TestInvalidJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", fingerprint.MaxDepth+1) + strings.Repeat("]", fingerprint.MaxDepth+1)
	for name, test := range map[string]struct{ text, path, rule string }{
		"empty":                  {"", "$", "expected a value at byte 0"},
		"white space":            {" \n", "$", "expected a value at byte 2"},
		"byte order mark":        {"\xef\xbb\xbf1", "$", "expected a value at byte 0"},
		"two values":             {"1 2", "$", "expected the end of the text at byte 2"},
		"bare word":              {"nul", "$", "expected a value at byte 0"},
		"other bare word":        {"NaN", "$", "expected a value at byte 0"},
		"form feed":              {"\f1", "$", "expected a value at byte 0"},
		"unclosed array":         {"[1", "$", "expected ',' or ']' at byte 2"},
		"trailing comma":         {"[1,]", "$[1]", "expected a value at byte 3"},
		"leading comma":          {"[,1]", "$[0]", "expected a value at byte 1"},
		"unclosed object":        {`{"a":1`, "$", "expected ',' or '}' at byte 6"},
		"object's comma":         {`{"a":1,}`, "$", "expected a member's name at byte 7"},
		"name without quotes":    {`{a:1}`, "$", "expected a member's name at byte 1"},
		"no colon":               {`{"a" 1}`, "$", "expected ':' at byte 5"},
		"wrong bracket":          {`{"a":[1}`, "$.a", "expected ',' or ']' at byte 7"},
		"leading zero":           {`{"a":[01]}`, "$.a[0]", "is not a number"},
		"plus":                   {"+1", "$", "expected a value at byte 0"},
		"bare minus":             {"-", "$", "is not a number"},
		"bare point":             {"1.", "$", "is not a number"},
		"point first":            {".5", "$", "expected a value at byte 0"},
		"bare exponent":          {"1e", "$", "is not a number"},
		"bare signed exponent":   {"1e+", "$", "is not a number"},
		"sum":                    {"1+1", "$", "is not a number"},
		"huge exponent":          {`[1,-1e-1000000000000001]`, "$[1]", "has an exponent of ten beyond 10^15"},
		"absurd exponent":        {`1e` + strings.Repeat("9", 1000), "$", "has an exponent of ten beyond 10^15"},
		"unclosed string":        {`{"a":"x`, "$.a", `expected '"', an escape or a character above U+001F at byte 7`},
		"control character":      {"{\"a\":\"x\ny\"}", "$.a", `expected '"', an escape or a character above U+001F at byte 7`},
		"control after escape":   {"\"\\n\n\"", "$", `expected '"', an escape or a character above U+001F at byte 3`},
		"unclosed escape":        {`"\`, "$", "expected an escape at byte 1"},
		"unknown escape":         {`"\x41"`, "$", "expected an escape at byte 1"},
		"short unicode escape":   {`"\u12"`, "$", "expected an escape at byte 1"},
		"signed unicode escape":  {`"\u+123"`, "$", "expected an escape at byte 1"},
		"UTF-8":                  {"{\"a\":[\"\xff\"]}", "$.a[0]", "must be valid UTF-8"},
		"UTF-8 after an escape":  {"[\"\\n\xc3\"]", "$[0]", "must be valid UTF-8"},
		"UTF-8 surrogate":        {"[\"\xed\xa0\x80\"]", "$[0]", "must be valid UTF-8"},
		"UTF-8 in a name":        {"{\"a\":{\"\xff\":1}}", "$.a.(member name)", "must be valid UTF-8"},
		"high surrogate":         {`{"a":"\ud83d"}`, "$.a", "must not hold an unpaired surrogate"},
		"low surrogate":          {`{"a":"\ude02"}`, "$.a", "must not hold an unpaired surrogate"},
		"two high surrogates":    {`"\ud83d\ud83d"`, "$", "must not hold an unpaired surrogate"},
		"swapped surrogates":     {`"\ude02\ud83d"`, "$", "must not hold an unpaired surrogate"},
		"high and a letter":      {`"\ud83dx"`, "$", "must not hold an unpaired surrogate"},
		"high and other escape":  {`"\ud83d\n"`, "$", "must not hold an unpaired surrogate"},
		"surrogate in a name":    {`{"\ud800":1}`, "$.(member name)", "must not hold an unpaired surrogate"},
		"duplicate":              {`{"a":{"x":1,"y":2,"x":1}}`, "$.a.x", "is a duplicate member"},
		"duplicate by an escape": {`[{"x":1,"\u0078":1}]`, "$[0].x", "is a duplicate member"},
		"empty duplicate":        {`{"":1,"":1}`, `$[""]`, "is a duplicate member"},
		"too deep":               {deep, "$[0][0]", "more than 256 levels deep"},
		"too deep, unclosed":     {strings.Repeat(`{"a":`, 100_000), "$.a.a", "more than 256 levels deep"},
		"too long":               {strings.Repeat(" ", fingerprint.MaxSize) + "1", "$", "is a JSON text of more than 16777216 bytes"},
		"long name": {
			`{"` + strings.Repeat("n", 1<<20) + `":tru}`, "$." + strings.Repeat("n", 100) + "…", "expected a value at byte 1048580",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fingerprint.OfJSON(sampleSchema, []byte(test.text))
			checkValueError(t, err, test.path, test.rule)
			if _, again := fingerprint.CanonicalJSON([]byte(test.text)); again == nil || again.Error() != err.Error() {
				t.Errorf("CanonicalJSON: %v, want %v", again, err)
			}
		})
	}
}

func TestLimitsAreReached(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", fingerprint.MaxDepth) + strings.Repeat("]", fingerprint.MaxDepth)
	canonical := form(t, jsonText(deep))
	if _, err := fingerprint.OfCanonical(sampleSchema, canonical); err != nil {
		t.Errorf("what CanonicalJSON wrote can't be read: %v", err)
	}
	if paths, err := fingerprint.Diff(canonical, canonical); err != nil || paths != nil {
		t.Errorf("Diff = %q, %v", paths, err)
	}
	form(t, jsonText(`[1e1000000000000000,-1e-1000000000000000]`))
	text := strings.Repeat(" ", fingerprint.MaxSize-1) + "1"
	form(t, jsonText(text))
	const frame = len("\x01b\x00\x00\x00\x00") // of bytes that take a length of four bytes
	form(t, make([]byte, fingerprint.MaxSize-frame))
	_, err := fingerprint.Canonical(make([]byte, fingerprint.MaxSize-frame+1))
	checkValueError(t, err, "$", "makes the canonical form longer than 16777216 bytes")
	nested := any(1)
	for range fingerprint.MaxDepth / 2 { // each level is a slice and an interface
		nested = []any{nested}
	}
	form(t, nested)
	_, err = fingerprint.Canonical([]any{nested})
	checkValueError(t, err, "$[0][0]", "more than 256 levels deep")
}

// Shared pointers without a cycle would take longer than anyone waits.
func TestSharedPointersAreBounded(t *testing.T) {
	t.Parallel()
	type node struct {
		Left, Right *node
		Text        string
	}
	root := &node{Text: strings.Repeat("x", 1<<16)}
	for range 60 {
		root = &node{Left: root, Right: root}
	}
	_, size, err := fingerprint.Steps(root)
	if err == nil || size > fingerprint.MaxSize+1<<17 {
		t.Errorf("wrote %d bytes: %v", size, err)
	}
	_, err = fingerprint.Of(sampleSchema, root)
	checkValueError(t, err, "$.Left", "makes the canonical form longer than 16777216 bytes")
}

// Texts can be shared as pointers can, and many of one need no memory of their
// own before they are written.
func TestSharedTextsAreBounded(t *testing.T) {
	t.Parallel()
	const most, many = fingerprint.MaxSize + 1<<21, 64
	text := strings.Repeat("x", 1<<20)
	list, entries := slices.Repeat([]string{text}, many), make(map[int]string)
	for i := range many {
		entries[i] = text
	}
	for name, value := range map[string]any{"slice": list, "array": [many]string(list), "map": entries} {
		_, size, err := fingerprint.Steps(value)
		if err == nil || size > most {
			t.Errorf("%s: wrote %d bytes: %v", name, size, err)
		}
	}
	_, err := fingerprint.Of(sampleSchema, list)
	checkValueError(t, err, "$[15]", "makes the canonical form longer than 16777216 bytes")
}

func TestTextMarshalersOfOtherPackages(t *testing.T) {
	t.Parallel()
	// The zero Addr marshals to the empty text, and is no error.
	if got := form(t, netip.Addr{}); string(got) != "\x01s\x00" {
		t.Errorf("form is %q", got)
	}
}
