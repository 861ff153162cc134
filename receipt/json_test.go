package receipt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/receipt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestJSONIsStable pins the bytes of the proof. Senders and receivers of
// different versions exchange it: a difference here is a break.
func TestJSONIsStable(t *testing.T) {
	t.Parallel()
	empty := least(t)
	empty.Value = []byte{}
	for name, r := range map[string]receipt.Receipt{
		"full.json": full(t), "least.json": least(t), "empty_value.json": empty,
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSuffix(string(want), "\n"), string(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		var read receipt.Receipt
		if err := json.Unmarshal(want, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, read); diff != "" {
			t.Errorf("%s read back (-want +got):\n%s", name, diff)
		}
	}
}

func TestJSONIsInUTC(t *testing.T) {
	t.Parallel()
	r := full(t)
	r.RecordedAt = r.RecordedAt.In(time.FixedZone("", -3600))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`"recorded_at":"2026-03-01T12:30:00.123456Z"`)) {
		t.Errorf("not in UTC: %s", text)
	}
	var read receipt.Receipt
	if err := json.Unmarshal(bytes.Replace(text, []byte("12:30:00.123456Z"), []byte("13:30:00.123456+01:00"), 1), &read); err != nil {
		t.Fatal(err)
	}
	if read.RecordedAt != full(t).RecordedAt {
		t.Errorf("read as %v, want it in UTC", read.RecordedAt)
	}
}

// proof returns the JSON of least with old replaced by new, once.
func proof(tb testing.TB, old, replacement string) string {
	tb.Helper()
	text, err := json.Marshal(least(tb))
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		tb.Fatalf("%s holds no %s", text, old)
	}
	return strings.Replace(string(text), old, replacement, 1)
}

func TestJSONIgnoresMembersOfLaterVersions(t *testing.T) {
	t.Parallel()
	var read receipt.Receipt
	text := proof(t, `{"key":{`, `{"later":{"key":1,"key":2},"kéy":null,"key":{`)
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(least(t), read); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

// TestJSONRefuses has the texts that two readers could understand in two ways,
// and those that are no receipt.
func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	const key = `{"tenant":"a","scope":"b","operation":"c","id":"d"}`
	for name, test := range map[string]struct{ text, want string }{
		"no text":               {``, "must be one valid JSON text"},
		"null":                  {`null`, "must be a JSON object"},
		"bare string":           {`"receipt"`, "must be a JSON object"},
		"truncated":             {proof(t, `Z"}`, ``), "must be one valid JSON text"},
		"text behind":           {proof(t, `0001-01-01T00:00:00Z"}`, `0001-01-01T00:00:00Z"} {}`), "must be one valid JSON text"},
		"key twice":             {proof(t, `"revision"`, `"key":`+key+`,"revision"`), `member "key" stands twice`},
		"key twice by escape":   {proof(t, `"revision"`, `"\u006bey":`+key+`,"revision"`), `member "key" stands twice`},
		"unknown twice":         {proof(t, `"revision"`, `"x":1,"x":1,"revision"`), `member "x" stands twice`},
		"key in capitals":       {proof(t, `"revision"`, `"KEY":`+key+`,"revision"`), `"KEY" must be written key`},
		"key in capitals alone": {proof(t, `"key"`, `"Key"`), `key is missing; "Key" must be written key`},
		"Kelvin sign":           {proof(t, `"revision"`, `"\u212aey":`+key+`,"revision"`), `must be written key`},
		"long s":                {proof(t, `"revision"`, `"reque\u017fted":"aborted","revision"`), `must be written requested`},
		"ordering key folded":   {proof(t, `"revision"`, `"Ordering_Key":"x","revision"`), `"Ordering_Key" must be written ordering_key`},
		"tenant twice":          {proof(t, `"scope"`, `"tenant":"z","scope"`), `key event: invalid: JSON member "tenant" stands twice`},
		"tenant in capitals":    {proof(t, `"scope"`, `"Tenant":"z","scope"`), `key event: invalid: JSON must have at most 4 members`},
		"unknown part of a key": {proof(t, `"scope"`, `"region":"z","scope"`), `key event: invalid: JSON must have at most 4 members`},
		"part of another case":  {proof(t, `"tenant":"a"`, `"Tenant":"a"`), `"Tenant" must be written tenant`},
		"no tenant":             {proof(t, `"tenant":"a",`, ``), `key event: invalid: JSON tenant is missing`},
		"null tenant":           {proof(t, `"tenant":"a"`, `"tenant":null`), `key event: invalid: JSON tenant must not be null`},
		"number as tenant":      {proof(t, `"tenant":"a"`, `"tenant":1`), `key event: invalid: JSON tenant has the wrong JSON type`},
		"empty tenant":          {proof(t, `"tenant":"a"`, `"tenant":""`), `key event: invalid: tenant must not be empty`},
		"array as key":          {proof(t, key, `[]`), `key event: invalid: JSON must be a JSON object`},
		"null key":              {proof(t, key, `null`), `key must not be null`},
		"half a surrogate":      {proof(t, `"tenant":"a"`, `"tenant":"\udfff"`), "half of a surrogate pair"},
		"not UTF-8":             {proof(t, `"tenant":"a"`, "\"tenant\":\"\xff\""), "must be valid UTF-8"},
		"no revision":           {proof(t, `"revision":0,`, ``), `revision is missing`},
		"fraction as revision":  {proof(t, `"revision":0`, `"revision":0.5`), `revision has the wrong JSON type`},
		"negative revision":     {proof(t, `"revision":0`, `"revision":-1`), `revision must not be negative`},
		"null revision":         {proof(t, `"revision":0`, `"revision":null`), `revision must not be null`},
		"no fingerprint":        {proof(t, `"fingerprint":"`+digest(t, "cd").String()+`",`, ``), `fingerprint is missing`},
		"empty fingerprint":     {proof(t, digest(t, "cd").String(), ``), `fingerprint must be set`},
		"loose fingerprint":     {proof(t, "cd000", "CD000"), `fingerprint fingerprint: invalid digest`},
		"no value":              {proof(t, `"value":null,`, ``), `value is missing`},
		"numbers as value":      {proof(t, `"value":null`, `"value":[1,2]`), `value must be base64 text`},
		"no base64":             {proof(t, `"value":null`, `"value":"?"`), `value must be base64 text`},
		"loose base64":          {proof(t, `"value":null`, `"value":"MR=="`), `value must be base64 text`},
		"empty attempt":         {proof(t, `"attempt":"1"`, `"attempt":""`), `attempt must have 1 to 128`},
		"no time":               {proof(t, `,"recorded_at":"0001-01-01T00:00:00Z"`, ``), `recorded_at is missing`},
		"number as time":        {proof(t, `"0001-01-01T00:00:00Z"`, `0`), `recorded_at must be a timestamp (RFC 3339)`},
		"upper-case kind":       {proof(t, `"outcome":"settled"`, `"outcome":"Settled"`), `outcome kind may hold only`},
		"several":               {`{}`, `key is missing; revision is missing; requested is missing; outcome is missing; fingerprint is missing; value is missing; attempt is missing; recorded_at is missing`},
		"a problem":             {`{"type":"about:blank","status":200}`, `key is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := full(t)
			err := got.UnmarshalJSON([]byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			if diff := cmp.Diff(full(t), got); diff != "" {
				t.Errorf("the receipt changed (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzReceiptJSON checks that what is read as a proof can be written and reads
// back the same, and that encoding/json, which is lenient, can't see another
// key or fingerprint in it.
func FuzzReceiptJSON(f *testing.F) {
	for _, name := range []string{"full.json", "least.json", "empty_value.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(proof(f, `"revision"`, `"Key":{},"revision"`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first receipt.Receipt
		if err := first.UnmarshalJSON(text); err != nil {
			if !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			return
		}
		var lenient struct {
			Key                receipt.Key
			Fingerprint        string
			Requested, Outcome receipt.Kind
		}
		if err := json.Unmarshal(text, &lenient); err != nil {
			t.Fatal(err)
		}
		if lenient.Key != first.Key || lenient.Fingerprint != first.Fingerprint.String() ||
			lenient.Requested != first.Requested || lenient.Outcome != first.Outcome {
			t.Errorf("%q has two meanings: %+v and %+v", text, first, lenient)
		}
		written, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("read from %q, cannot be written: %v", text, err)
		}
		var second receipt.Receipt
		if err := second.UnmarshalJSON(written); err != nil {
			t.Fatalf("written as %s, cannot be read: %v", written, err)
		}
		if len(first.Canonical) == 0 {
			first.Canonical = nil // an empty form is none
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("receipt (-first +second):\n%s", diff)
		}
	})
}
