package fingerprint_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
)

func mustOf(t testing.TB, schema fingerprint.Schema, value any) fingerprint.Digest {
	t.Helper()
	digest, err := fingerprint.Of(schema, value)
	if err != nil {
		t.Fatalf("Of(%v): %v", value, err)
	}
	return digest
}

func TestDigestTextForm(t *testing.T) {
	t.Parallel()
	digest := mustOf(t, sampleSchema, sampleMatch())
	text := digest.String()
	if !strings.HasPrefix(text, "match.result/3:") || len(text) != len("match.result/3:")+64 {
		t.Errorf("String() = %q, want the schema and 64 digits", text)
	}
	parsed, err := fingerprint.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if parsed != digest || !parsed.Equal(digest) || parsed.Schema() != sampleSchema || parsed.Sum() != digest.Sum() {
		t.Errorf("Parse(%q) = %v, want the same digest", text, parsed)
	}
}

func TestParseRefusesEveryOtherForm(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	for name, text := range map[string]string{
		"empty":               "",
		"no sum":              "match.result/3",
		"no version":          "match.result:" + sum,
		"version zero":        "match.result/0:" + sum,
		"version with sign":   "match.result/+3:" + sum,
		"version with zero":   "match.result/03:" + sum,
		"version too large":   "match.result/99999999999999999999:" + sum,
		"upper-case schema":   "Match.result/3:" + sum,
		"upper-case digits":   "match.result/3:" + strings.ToUpper(sum),
		"short sum":           "match.result/3:" + sum[:62],
		"long sum":            "match.result/3:" + sum + "00",
		"sum of other digits": "match.result/3:" + strings.Repeat("zz", 32),
		"space":               "match.result/3: " + sum[1:],
		"newline behind":      "match.result/3:" + sum + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			digest, err := fingerprint.Parse(text)
			if !errors.Is(err, fingerprint.ErrInvalidDigest) {
				t.Errorf("Parse(%q) = %v, %v, want ErrInvalidDigest", text, digest, err)
			}
		})
	}
}

func TestParseErrorIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{long, long + ":0", long + "/1:0", "a/" + long + ":0", "a/" + strings.Repeat("9", 1<<20) + ":0", "a/1:" + long} {
		if _, err := fingerprint.Parse(text); err == nil || len(err.Error()) > 300 {
			t.Errorf("a hostile text that begins with %q makes an error of %d bytes", text[:8], len(err.Error()))
		}
	}
}

func TestDigestEqualNeedsTheSchema(t *testing.T) {
	t.Parallel()
	older := fingerprint.Schema{Name: sampleSchema.Name, Version: sampleSchema.Version - 1}
	a, b := mustOf(t, sampleSchema, "same"), mustOf(t, older, "same")
	if a.Equal(b) || a == b {
		t.Error("digests of two versions are equal")
	}
	if a.Sum() == b.Sum() {
		t.Error("the schema is no part of the sum")
	}
	// The sum alone, moved under another version, must not be equal either.
	moved, err := fingerprint.Parse(strings.Replace(a.String(), "/3:", "/2:", 1))
	if err != nil {
		t.Fatal(err)
	}
	if moved.Equal(a) {
		t.Error("Equal compares the sums alone")
	}
}

func TestDigestInJSON(t *testing.T) {
	t.Parallel()
	type envelope struct {
		Set   fingerprint.Digest `json:"set"`
		Unset fingerprint.Digest `json:"unset"`
	}
	want := envelope{Set: mustOf(t, sampleSchema, 1)}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if expected := `{"set":"` + want.Set.String() + `","unset":""}`; string(text) != expected {
		t.Errorf("JSON is %s, want %s", text, expected)
	}
	got := envelope{Unset: want.Set}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("JSON gives %v back, want %v", got, want)
	}
	err = json.Unmarshal([]byte(`{"set":"nonsense"}`), &got)
	if !errors.Is(err, fingerprint.ErrInvalidDigest) {
		t.Errorf("reading nonsense gives %v, want ErrInvalidDigest", err)
	}
	if got != want {
		t.Error("a failed read changed the digest")
	}
}

func TestDigestInSQL(t *testing.T) {
	t.Parallel()
	want := mustOf(t, sampleSchema, 1)
	value, err := want.Value()
	if err != nil || value != want.String() {
		t.Fatalf("Value() = %v, %v, want the text", value, err)
	}
	for name, source := range map[string]any{"string": want.String(), "bytes": []byte(want.String())} {
		var got fingerprint.Digest
		if err := got.Scan(source); err != nil || got != want {
			t.Errorf("Scan(%s) = %v, %v", name, got, err)
		}
	}
	for name, source := range map[string]any{"number": 1, "nonsense": "nonsense", "short": []byte("a/1:00")} {
		got := want
		if err := got.Scan(source); !errors.Is(err, fingerprint.ErrInvalidDigest) || got != want {
			t.Errorf("Scan(%s) = %v, want ErrInvalidDigest and no change", name, err)
		}
	}
}

func TestZeroDigest(t *testing.T) {
	t.Parallel()
	var zero fingerprint.Digest
	if !zero.IsZero() || zero.String() != "" {
		t.Errorf("the zero Digest is %q", zero.String())
	}
	if value, err := zero.Value(); value != nil || err != nil {
		t.Errorf("Value() = %v, %v, want NULL", value, err)
	}
	set := mustOf(t, sampleSchema, 1)
	if set.IsZero() {
		t.Error("a digest is zero")
	}
	scanned, read := set, set
	if err := scanned.Scan(nil); err != nil || !scanned.IsZero() {
		t.Errorf("Scan(nil) = %v, %v, want the zero Digest", scanned, err)
	}
	if err := read.UnmarshalText(nil); err != nil || !read.IsZero() {
		t.Errorf("UnmarshalText(nil) = %v, %v, want the zero Digest", read, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("match.result/3:" + strings.Repeat("0a", 32))
	f.Add("a/1:")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		digest, err := fingerprint.Parse(text)
		if err != nil {
			return
		}
		if diff := cmp.Diff(text, digest.String()); diff != "" {
			t.Errorf("Parse accepts another form than String writes:\n%s", diff)
		}
		if err := digest.Schema().Validate(); err != nil {
			t.Error(err)
		}
	})
}
