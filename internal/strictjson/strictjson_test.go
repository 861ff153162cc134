package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/strictjson"
)

func TestObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		text string
		want string // a part of the error
	}{
		{"array", `[]`, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"empty", ``, "must be one valid JSON text"},
		{"text behind the object", `{} {}`, "must be one valid JSON text"},
		{"truncated", `{"a":1`, "must be one valid JSON text"},
		{"comma at the end", `{"a":1,}`, "must be one valid JSON text"},
		{"no comma", `{"a":1 "b":2}`, "must be one valid JSON text"},
		{"duplicate", `{"a":1,"b":2,"a":1}`, `member "a" stands twice`},
		{"duplicate by escape", `{"a":1,"\u0061":1}`, `member "a" stands twice`},
		{"long duplicate name", `{"` + strings.Repeat("n", 9000) + `":1,"` + strings.Repeat("n", 9000) + `":1}`, `"… stands twice`},
		{"too many members", `{"a":1,"b":2,"c":3,"d":4}`, "must have at most 3 members"},
		{"not UTF-8", "{\"a\":\"\xff\"}", "must be valid UTF-8"},
		{"not UTF-8 in a name", "{\"\xff\":1}", "must be valid UTF-8"},
		{"high half alone", `{"a":"\ud800"}`, "half of a surrogate pair"},
		{"high half before another escape", `{"a":"\ud800\n"}`, "half of a surrogate pair"},
		{"high half twice", `{"a":"\ud800\ud800"}`, "half of a surrogate pair"},
		{"low half alone", `{"a":"\udc00"}`, "half of a surrogate pair"},
		{"halves in the wrong order", `{"a":"\udc00\ud800"}`, "half of a surrogate pair"},
		{"half in a name", `{"\ud800":1}`, "half of a surrogate pair"},
		{"half within a value", `{"a":[{"b":"\uDBFF"}]}`, "half of a surrogate pair"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			members, err := strictjson.Object([]byte(test.text), 3)
			if err == nil {
				t.Fatalf("Object accepted %s as %v", test.text, members)
			}
			if !strings.Contains(err.Error(), test.want) || len(err.Error()) > 200 {
				t.Errorf("error %q, want %q in a short text", err, test.want)
			}
		})
	}
}

func TestObjectKeepsOrderAndText(t *testing.T) {
	t.Parallel()
	got, err := strictjson.Object([]byte(`{"b": [1, 2], "a":"\ud83d\ude00 \\ud800 é", "A": null}`), 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []strictjson.Member{
		{Name: "b", Value: json.RawMessage(`[1, 2]`)},
		{Name: "a", Value: json.RawMessage(`"\ud83d\ude00 \\ud800 é"`)},
		{Name: "A", Value: json.RawMessage(`null`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// FuzzObject holds the reader against encoding/json: what it accepts is an
// object for both, with the same members, and no string of it was repaired.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":"\ud83d\ude00"}}`))
	f.Add([]byte(`{"a":"\\ud800"}`))
	f.Add([]byte(`{"a":"\ud800\ud83d\ude00"}`))
	f.Add([]byte("{\"a\":\"\xed\xa0\x80\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		members, err := strictjson.Object(text, 100)
		if err != nil {
			return
		}
		var reference map[string]any
		if err := json.Unmarshal(text, &reference); err != nil {
			t.Fatalf("accepted %q, encoding/json says %v", text, err)
		}
		if len(members) != len(reference) {
			t.Errorf("%d members, encoding/json has %d in %q", len(members), len(reference), text)
		}
		if repaired(reference) && !strings.Contains(string(text), "\ufffd") && !strings.Contains(strings.ToLower(string(text)), `\ufffd`) {
			t.Errorf("a string of %q was repaired", text)
		}
	})
}

// repaired reports whether a string of value holds U+FFFD.
func repaired(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && strings.Contains(string(text), "\ufffd")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"a":"x","b":1,"c":null,"z":[]}`:  nil,
		`{"a":"x","c":2}`:                  nil,
		`{"a":"x","c":2,"c":2}`:            {`member "c" stands twice`},
		`[]`:                               {"must be a JSON object"},
		`{"b":null}`:                       {"a is missing", "b must not be null", "c is missing"},
		`{"A":"y","a":"x","c":1}`:          {`"A" must be written a`},
		`{"A":"x","c":1}`:                  {"a is missing", `"A" must be written a`},
		`{"a":123456789,"b":"","c":false}`: {"a has the wrong JSON type", "b has the wrong JSON type", "c has the wrong JSON type"},
	} {
		var a string
		var b int
		var c *int
		got := strictjson.Read([]byte(text), 5, []strictjson.Field{
			{Name: "a", Place: &a}, {Name: "b", Place: &b, Optional: true}, {Name: "c", Place: &c, Nullable: true},
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if want == nil && a != "x" {
			t.Errorf("%s: a is %q", text, a)
		}
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	got, err := strictjson.Array([]byte(` [1, {"a":1,"a":2}, "é", null] `), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`"é"`), json.RawMessage(`null`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{}`:          "must be a JSON array",
		`null`:        "must be a JSON array",
		``:            "must be one valid JSON text",
		`[1,]`:        "must be one valid JSON text",
		`[1] [2]`:     "must be one valid JSON text",
		"[\"\xff\"]":  "must be valid UTF-8",
		`["\udc00"]`:  "half of a surrogate pair",
		`[1,2,3,4,5]`: "must have at most 4 elements",
	} {
		elements, err := strictjson.Array([]byte(text), 4)
		if err == nil || !strings.Contains(err.Error(), want) || elements != nil {
			t.Errorf("%s: %v, %v; want %q", text, elements, err, want)
		}
	}
}
