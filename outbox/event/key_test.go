package event_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
)

func TestKeyValidate(t *testing.T) {
	t.Parallel()
	broken := event.Key{Scope: "a\nb", Operation: "\xff", ID: long(257)}
	want := []string{
		"tenant must not be empty",
		"scope must not hold control characters or Unicode noncharacters",
		"operation must be valid UTF-8",
		"id must have at most 256 bytes, has 257",
	}
	if diff := cmp.Diff(want, wrongFields(t, broken.Validate())); diff != "" {
		t.Errorf("wrong parts (-want +got):\n%s", diff)
	}
	longest := event.Key{Tenant: long(128), Scope: long(128), Operation: long(128), ID: long(256)}
	if err := longest.Validate(); err != nil {
		t.Errorf("longest parts: %v", err)
	}
}

// TestKeyEncodingIsStable pins the bytes, which receipts and locks of running
// systems depend on.
func TestKeyEncodingIsStable(t *testing.T) {
	t.Parallel()
	key := event.Key{Tenant: "shop", Scope: "match", Operation: "settle", ID: long(130)}
	got, err := key.AppendBinary([]byte{0xee})
	if err != nil {
		t.Fatal(err)
	}
	want := "ee" + "04" + hex.EncodeToString([]byte("shop")) + "05" + hex.EncodeToString([]byte("match")) +
		"06" + hex.EncodeToString([]byte("settle")) + "8201" + hex.EncodeToString([]byte(long(130)))
	if diff := cmp.Diff(want, hex.EncodeToString(got)); diff != "" {
		t.Errorf("encoding (-want +got):\n%s", diff)
	}
}

func TestKeyText(t *testing.T) {
	t.Parallel()
	key := event.Key{Tenant: "a/b", Scope: "c%2Fd", Operation: "é", ID: "x y"}
	if got, want := key.String(), "a%2Fb/c%252Fd/%C3%A9/x%20y"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	if !(event.Key{}).IsZero() || key.IsZero() {
		t.Error("IsZero is true for the zero key alone")
	}
}

func TestKeyJSON(t *testing.T) {
	t.Parallel()
	want := event.Key{Tenant: "shop", Scope: "match", Operation: "settle", ID: "42"}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); got != `{"tenant":"shop","scope":"match","operation":"settle","id":"42"}` {
		t.Errorf("key written as %s", got)
	}
	var got event.Key
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("read %v, error %v", got, err)
	}
	for text, rule := range map[string]string{
		`null`: "must be a JSON object",
		`{"tenant":"a","scope":"b","operation":"c"}`:                     "id is missing",
		`{"tenant":"a","scope":"b","operation":"c","ID":"d"}`:            `"ID" must be written id`,
		`{"tenant":"a","scope":"b","operation":"c","id":"d","id":"d"}`:   `member "id" stands twice`,
		`{"tenant":"a","scope":"b","operation":"c","id":"d","x":"y"}`:    "must have at most 4 members",
		`{"tenant":null,"scope":"b","operation":"c","id":7}`:             "tenant must not be null; id has the wrong JSON type",
		`{"tenant":"","scope":"b","operation":"c","id":"\u0000"}`:        "tenant must not be empty; id must not hold control characters",
		`{"tenant":"\ud800","scope":"b","operation":"c","id":"d"}`:       "half of a surrogate pair",
		`{"tenant":"a","scope":"b","operation":"c","id":"d"} {"id":"e"}`: "after top-level value",
	} {
		err := json.Unmarshal([]byte(text), &got)
		if err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("%s: error %v, want %q", text, err, rule)
		}
		if got != want {
			t.Errorf("%s: the key became %v", text, got)
		}
	}
}

// FuzzKeyEncodingIsInjective keeps I10: two keys have one encoding, or one
// text, only if they are equal. Both keys are cut from the same texts, so that
// the fuzzer finds shifted borders at once.
func FuzzKeyEncodingIsInjective(f *testing.F) {
	f.Add("a", "b", "c", "d", "ab", "", "c", "d")
	f.Add("a/b", "c", "d", "e", "a", "b/c", "d", "e")
	f.Add("\x01a", "", "", "", "", "a", "", "")
	f.Add("%2F", "", "", "", "/", "", "", "")
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g, h, i string) {
		one, two := event.Key{Tenant: a, Scope: b, Operation: c, ID: d}, event.Key{Tenant: e, Scope: g, Operation: h, ID: i}
		first, _ := one.AppendBinary(nil)
		second, _ := two.AppendBinary(nil)
		if equal := one == two; bytes.Equal(first, second) != equal || (one.String() == two.String()) != equal {
			t.Errorf("keys %#v and %#v: equal %v, encodings %x and %x, texts %q and %q", one, two, equal, first, second, one, two)
		}
	})
}
