package fingerprint_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
)

func mustJCS(t testing.TB, text string) string {
	t.Helper()
	got, err := fingerprint.JCS([]byte(text))
	if err != nil {
		t.Fatalf("JCS(%s): %v", text, err)
	}
	return string(got)
}

// The samples of RFC 8785, appendix B: the bits of a double and its form.
func TestJCSNumbersOfAppendixB(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		value := math.Float64frombits(test.bits)
		for how, text := range map[string]string{
			"shortest":  strconv.FormatFloat(value, 'e', -1, 64),
			"17 digits": strconv.FormatFloat(value, 'e', 16, 64),
			"exact":     strconv.FormatFloat(value, 'e', 800, 64),
			"itself":    test.want,
		} {
			if got := mustJCS(t, text); got != test.want {
				t.Errorf("%016x written as %s (%s) is %s, want %s", test.bits, text, how, got, test.want)
			}
		}
	}
}

// The other two samples of appendix B, NaN (7fffffffffffffff) and infinity
// (7ff0000000000000), are errors, and have no JSON text to begin with.
func TestJCSRefusesNaNAndInfinity(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"NaN", "Infinity", "-Infinity", "1e309", "-1e309"} {
		_, err := fingerprint.JCS([]byte(text))
		if err == nil {
			t.Errorf("JCS(%s) is no error", text)
		}
	}
}

// The samples of RFC 8785, sections 3.2.2 and 3.2.3, and what they ask for.
func TestJCSText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"section 3.2.2": {
			"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n              2e-3, 0.000000000000000000000000001],\n" +
				`  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",` + "\n  \"literals\": [null, true, false]\n}",
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"section 3.2.3": {
			`{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",` +
				`"\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
		"every control": {
			`"\u0000\u0001\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u001b\u001f\u0020\u007f\u0080\u2028"`,
			`"\u0000\u0001\u0007\b\t\n\u000b\f\r\u000e\u001b\u001f ` + "\u007f\u0080\u2028" + `"`,
		},
		"no HTML escapes":       {`"\u003c/script\u003e&"`, `"</script>&"`},
		"no normalization":      {`["e\u0301","\u00e9"]`, "[\"e\u0301\",\"é\"]"},
		"prefixes":              {`{"ab":1,"a":2,"":3,"abc":4}`, `{"":3,"a":2,"ab":1,"abc":4}`},
		"beyond the surrogates": {`{"\uffff":1,"\ue000":2,"\ud7ff":3,"\ud800\udc00":4,"\udbff\udfff":5}`, "{\"\ud7ff\":3,\"\U00010000\":4,\"\U0010ffff\":5,\"\ue000\":2,\"\uffff\":1}"},
		"after a common byte":   {`{"x\ufffd":1,"x\ud83d\ude00":2,"xé":3,"xè":4}`, "{\"xè\":4,\"xé\":3,\"x😀\":2,\"x\ufffd\":1}"},
		"nested":                {`[ { "b" : [ ] , "a" : { } } ]`, `[{"a":{},"b":[]}]`},
		"literal at the top":    {" null\n", "null"},
		"even beyond 2^53":      {"9007199254740994", "9007199254740994"},
		"power of two":          {"1152921504606846976", "1152921504606847000"},
		"decimal":               {"0.10", "0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustJCS(t, test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("form differs (-want +got):\n%s", diff)
			}
			if again := mustJCS(t, got); again != got {
				t.Errorf("the form of the form is %s", again)
			}
		})
	}
}

func TestJCSRefusesWhatADoubleCannotCarry(t *testing.T) {
	t.Parallel()
	const changed = "must be a number that a double carries unchanged"
	for name, test := range map[string]struct{ text, path, rule string }{
		"odd beyond 2^53":    {`{"a":[9007199254740993]}`, "$.a[0]", changed},
		"with an exponent":   {`9007199254740993e1`, "$", changed},
		"odd with fraction":  {`9007199254740992.5`, "$", changed},
		"18 digits":          {`0.123456789012345678`, "$", changed},
		"2000 digits":        {"0." + digits(2000), "$", changed},
		"too large":          {`1e309`, "$", "must be within the range of a double"},
		"too small":          {`-1e-400`, "$", "must not be so small that a double makes it zero"},
		"syntax":             {`[01]`, "$[0]", "is not a number"},
		"hexadecimal":        {`[0x10]`, "$", "expected ',' or ']'"},
		"duplicate":          {`{"a":1,"a":1}`, "$.a", "is a duplicate member"},
		"unpaired surrogate": {`"\ud800"`, "$", "must not hold an unpaired surrogate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fingerprint.JCS([]byte(test.text))
			checkValueError(t, err, test.path, test.rule)
		})
	}
}

func digits(count int) string {
	text := make([]byte, count)
	for i := range text {
		text[i] = '1' + byte(i%9)
	}
	return string(text)
}
