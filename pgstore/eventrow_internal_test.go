package pgstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzExtensions reads whatever stands in the column, and what it took once it
// writes and reads again the same.
func FuzzExtensions(f *testing.F) {
	for _, text := range []string{`{"a":"b","c":true,"d":-2147483648}`, `{}`, `null`, `{"a":1.5}`, `{"a":2147483648}`, `{"a":null}`, `{"a":[]}`, `{"a":1e2}`, `[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := extensionsFrom(text)
		if err != nil {
			return
		}
		for name, value := range read {
			switch value.(type) {
			case string, bool, int32:
			default:
				t.Errorf("%s is %T", name, value)
			}
		}
		written, err := extensionsText(read)
		if err != nil {
			t.Fatal(err)
		}
		if written == nil {
			if len(read) != 0 {
				t.Errorf("%v was written as none", read)
			}
			return
		}
		again, err := extensionsFrom([]byte(*written))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read, again); diff != "" {
			t.Errorf("extensions (-read +read again):\n%s", diff)
		}
	})
}
