package fingerprint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

func TestSchemaText(t *testing.T) {
	t.Parallel()
	for _, schema := range []fingerprint.Schema{
		{Name: "a", Version: 1},
		{Name: "match.result", Version: 3},
		{Name: "bet-place_2", Version: 1 << 30},
		{Name: strings.Repeat("a", fingerprint.MaxSchemaName), Version: 7},
	} {
		got, err := fingerprint.ParseSchema(schema.String())
		if err != nil || got != schema {
			t.Errorf("ParseSchema(%q) = %v, %v, want %v", schema, got, err, schema)
		}
	}
}

func TestInvalidSchema(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]fingerprint.Schema{
		"zero":            {},
		"no name":         {Version: 1},
		"no version":      {Name: "a"},
		"minus version":   {Name: "a", Version: -1},
		"long name":       {Name: strings.Repeat("a", fingerprint.MaxSchemaName+1), Version: 1},
		"upper case":      {Name: "aB", Version: 1},
		"digit first":     {Name: "1a", Version: 1},
		"dot first":       {Name: ".a", Version: 1},
		"slash":           {Name: "a/b", Version: 1},
		"colon":           {Name: "a:b", Version: 1},
		"not ASCII":       {Name: "é", Version: 1},
		"with a new line": {Name: "a\n", Version: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := schema.Validate(); !errors.Is(err, fingerprint.ErrInvalidSchema) {
				t.Errorf("Validate() = %v, want ErrInvalidSchema", err)
			}
			if _, err := fingerprint.Of(schema, 1); !errors.Is(err, fingerprint.ErrInvalidSchema) {
				t.Errorf("Of: %v, want ErrInvalidSchema", err)
			}
			if _, err := fingerprint.OfJSON(schema, []byte("1")); !errors.Is(err, fingerprint.ErrInvalidSchema) {
				t.Errorf("OfJSON: %v, want ErrInvalidSchema", err)
			}
			if _, err := fingerprint.ParseSchema(schema.String()); !errors.Is(err, fingerprint.ErrInvalidSchema) {
				t.Errorf("ParseSchema(%q): %v, want ErrInvalidSchema", schema, err)
			}
		})
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add("match.result/3")
	f.Add("a/01")
	f.Fuzz(func(t *testing.T, text string) {
		schema, err := fingerprint.ParseSchema(text)
		if err != nil {
			return
		}
		if schema.String() != text {
			t.Errorf("ParseSchema(%q) accepts another form than %q", text, schema)
		}
	})
}
