package fingerprint_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b any
		want []string
	}{
		"equal":              {sampleBet(), sampleBet(), nil},
		"whole":              {1, 2, []string{"$"}},
		"number and text":    {1, "1", []string{"$"}},
		"array and object":   {[]int{}, map[string]int{}, []string{"$"}},
		"object and number":  {jsonText(`{"a":[{"x":1}],"z":1}`), jsonText(`{"a":[1],"z":2}`), []string{"$.a[0]", "$.z"}},
		"element":            {[]int{1, 2, 3}, []int{1, 5, 3}, []string{"$[1]"}},
		"missing elements":   {[]int{1}, []int{1, 2, 3}, []string{"$[1]", "$[2]"}},
		"surplus elements":   {[]any{1, []int{7}, 3}, []int{1}, []string{"$[1]", "$[2]"}},
		"member":             {map[string]int{"a": 1, "b": 2}, map[string]int{"a": 1, "b": 3}, []string{"$.b"}},
		"missing member":     {jsonText(`{"a":1,"c":3}`), jsonText(`{"a":1,"b":{"x":2},"c":3,"d":4}`), []string{"$.b", "$.d"}},
		"surplus member":     {jsonText(`{"a":{"x":1},"b":1}`), jsonText(`{"b":2}`), []string{"$.a", "$.b"}},
		"absent and null":    {optional{}, optional{Raw: json.RawMessage("null")}, []string{"$.Raw"}},
		"deep":               {jsonText(`{"legs":[{"odds":1.5},{"odds":2}]}`), jsonText(`{"legs":[{"odds":"1.5"},{"odds":3}]}`), []string{"$.legs[0].odds", "$.legs[1].odds"}},
		"name in two places": {jsonText(`{"a":{"a":1},"b":{"a":1}}`), jsonText(`{"a":{"a":2},"b":{"a":1}}`), []string{"$.a.a"}},
		"odd names":          {jsonText(`{"":1,"a.b":1,"0":1,"ö":1,"]":1}`), jsonText(`{"":2,"a.b":2,"0":2,"ö":2,"]":2}`), []string{`$[""]`, "$.0", `$["]"]`, `$["a.b"]`, `$["ö"]`}},
		"number key":         {map[int]int{1: 1}, map[int]int{1: 2}, []string{"$[number 1]"}},
		"text and number":    {map[int]int{1: 1}, map[string]int{"1": 1}, []string{"$[number 1]", "$.1"}},
		"other keys": {
			map[any]int{true: 1, [1]byte{0xab}: 1, time.Unix(0, 5): 1},
			map[any]int{},
			[]string{"$[bytes ab]", "$[time 1970-01-01T00:00:00.000000005Z]", "$[true]"},
		},
		"very deep": {
			jsonText(strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40)), jsonText(strings.Repeat("[", 40) + "2" + strings.Repeat("]", 40)),
			[]string{"$" + strings.Repeat("[0]", 32) + "…"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := form(t, test.a), form(t, test.b)
			got, err := fingerprint.Diff(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("paths differ (-want +got):\n%s", diff)
			}
			swapped, err := fingerprint.Diff(b, a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, swapped); diff != "" {
				t.Errorf("paths differ when the forms are swapped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidCanonical(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", fingerprint.MaxDepth+1) + strings.Repeat("]", fingerprint.MaxDepth+1)
	for name, test := range map[string]struct{ form, rule string }{
		"empty":                   {"", "is empty"},
		"other version":           {"\x02n", "version 2 is not known to this build"},
		"version alone":           {"\x01", "ends within a value"},
		"unknown tag":             {"\x01x", "has a tag 'x', which is none"},
		"trailing":                {"\x01nn", "has bytes behind the value"},
		"no length":               {"\x01s", "has a malformed length"},
		"length not shortest":     {"\x01s\x81\x00a", "has a malformed length"},
		"length beyond 64 bits":   {"\x01s\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "has a malformed length"},
		"length beyond the end":   {"\x01s\x05abc", "ends within a scalar"},
		"huge length":             {"\x01s\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc", "ends within a scalar"},
		"text not UTF-8":          {"\x01s\x01\xff", "has text that is not valid UTF-8"},
		"number not a number":     {"\x01d\x01x", "has a malformed number"},
		"number not canonical":    {"\x01d\x0210", "has a malformed number"},
		"number with exponent 0":  {"\x01d\x031e0", "has a malformed number"},
		"number minus zero":       {"\x01d\x02-0", "has a malformed number"},
		"number with upper case":  {"\x01d\x031E5", "has a malformed number"},
		"empty number":            {"\x01d\x00", "has a malformed number"},
		"short instant":           {"\x01i\x01a", "has a malformed instant"},
		"nanoseconds":             {"\x01i\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x3b\x9a\xca\x00", "has a malformed instant"},
		"unclosed array":          {"\x01[n", "ends within a value"},
		"unclosed object":         {"\x01{s\x01an", "ends within a value"},
		"wrong end":               {"\x01[n}", "has an end without a beginning"},
		"end alone":               {"\x01]", "has an end without a beginning"},
		"key without a value":     {"\x01{s\x01a}", "has an end without a beginning"},
		"null as key":             {"\x01{nn}", "has a key that is no scalar"},
		"array as key":            {"\x01{[]n}", "has a key that is no scalar"},
		"duplicate key":           {"\x01{s\x01ans\x01an}", "has keys that do not ascend"},
		"descending keys":         {"\x01{s\x01bns\x01an}", "has keys that do not ascend"},
		"descending tags of keys": {"\x01{s\x01and\x011n}", "has keys that do not ascend"},
		"too deep":                {"\x01" + deep, "is too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(call string, err error) {
				t.Helper()
				if !errors.Is(err, fingerprint.ErrInvalidCanonical) || !strings.Contains(err.Error(), test.rule) {
					t.Errorf("%s: %v, want ErrInvalidCanonical and %q", call, err, test.rule)
				}
			}
			_, err := fingerprint.OfCanonical(sampleSchema, []byte(test.form))
			check("OfCanonical", err)
			for other, form := range map[string]string{"itself": test.form, "null": "\x01n", "an array": "\x01[n]", "an object": "\x01{s\x01an}"} {
				_, err = fingerprint.Diff([]byte(test.form), []byte(form))
				check("Diff with "+other, err)
				_, err = fingerprint.Diff([]byte(form), []byte(test.form))
				check("Diff of "+other, err)
			}
		})
	}
}
