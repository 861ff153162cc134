package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/sportsbook/strictjson"
)

type sample struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	Inner []struct {
		Name string `json:"name"`
	} `json:"inner"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want *strictjson.Error
	}{
		{`{"id":"a","count":1,"inner":[{"name":"b"}]}`, nil},
		{" \n{}\t", nil},
		{``, &strictjson.Error{Field: "$", Rule: "must be a JSON object"}},
		{`null`, &strictjson.Error{Field: "$", Rule: "must be a JSON object"}},
		{`[]`, &strictjson.Error{Field: "$", Rule: "must be a JSON object"}},
		{`{"id":1}`, &strictjson.Error{Field: "id", Rule: "must not be a JSON number"}},
		{`{"count":1.5}`, &strictjson.Error{Field: "count", Rule: "must not be a JSON number 1.5"}},
		{`{"inner":[{"name":true}]}`, &strictjson.Error{Field: "inner.name", Rule: "must not be a JSON bool"}},
		{`{"other":1}`, &strictjson.Error{Field: "other", Rule: "is not known"}},
		{`{"ID":"a"}`, &strictjson.Error{Field: "ID", Rule: "is not known"}},
		{`{"id":"a","Id":"b"}`, &strictjson.Error{Field: "Id", Rule: "is not known"}},
		{`{"inner":[{"name":"a","NAME":"b"}]}`, &strictjson.Error{Field: "NAME", Rule: "is not known"}},
	} {
		var value sample
		err := strictjson.Decode([]byte(c.text), &value)
		got, _ := errors.AsType[*strictjson.Error](err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.text, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"two members of one name":  `{"id":"a","id":"b"}`,
		"something behind":         `{} {}`,
		"text that is not UTF-8":   "{\"id\":\"\xff\"}",
		"an unpaired surrogate":    `{"id":"\ud800"}`,
		"an object without an end": `{"id":"a"`,
		"depth":                    `{"inner":` + strings.Repeat("[", 20_000),
	} {
		var value sample
		if err := strictjson.Decode([]byte(text), &value); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestReadStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	reader := strings.NewReader(strings.Repeat("a", 100))
	if _, err := strictjson.Read(reader, 9); !errors.Is(err, strictjson.ErrTooLong) {
		t.Errorf("error %v, want ErrTooLong", err)
	}
	if left := reader.Len(); left != 90 {
		t.Errorf("%d bytes are left, want 90", left)
	}
	if text, err := strictjson.Read(strings.NewReader("abc"), 3); err != nil || string(text) != "abc" {
		t.Errorf("read %q, error %v", text, err)
	}
}

// What is taken says the same when it is written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(`{"id":"a","count":1,"inner":[{"name":"b"}]}`)
	f.Add(`{"id":"\u00e9"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var value, again sample
		if err := strictjson.Decode([]byte(text), &value); err != nil {
			return
		}
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || !reflect.DeepEqual(value, again) {
			t.Errorf("%q: %+v became %+v, error %v", text, value, again, err)
		}
	})
}
