package outbox_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

func TestRecordNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("r", 256)
	for _, c := range []struct {
		key  event.Key
		time int64
		want string
	}{
		{event.Key{Tenant: "acme", Scope: "match", Operation: "settle", ID: "room-7"}, 0, "acme.match.settle.room-7-19700101000000.000000000.json"},
		{event.Key{Tenant: "..", Scope: "/", Operation: "a.b", ID: "A"}, 1, "%2e%2e.%2f.a%2eb.%41-19700101000000.000000001.json"},
		{event.Key{Tenant: "-rf", Scope: "%", Operation: "~", ID: "ü"}, 1_769_871_845_999_999_999, "%2drf.%25.%7e.%c3%bc-20260131150405.999999999.json"},
		{
			event.Key{Tenant: "acme", Scope: "match", Operation: "settle", ID: long},
			0,
			"acme.match.settle." + strings.Repeat("r", 77) + "~26b753a242d5f9005c749f00e02153d3d8293ea1c36a822764397e932c5a71a4-19700101000000.000000000.json",
		},
	} {
		got := outbox.RecordName(outbox.EncodeKey(c.key), c.time)
		if got != c.want {
			t.Errorf("name of %v at %d:\n got %s\nwant %s", c.key, c.time, got, c.want)
		}
		if _, err := outbox.ParseRecordName(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestNamesThatAreNoRecords(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"",
		".json",
		"notes.json",
		"-20260131150405.000000000.json",
		"a-20260131150405.000000000",
		"a-20260131150405.000000000.JSON",
		"a-20261331150405.000000000.json",
		"a-20260131150405,000000000.json",
		"a-19691231235959.999999999.json",
		"a-22620101000000.000000000.json",
		"a-99990101000000.000000000.json",
		"A-20260131150405.000000000.json",
		"a/b-20260131150405.000000000.json",
		"../a-20260131150405.000000000.json",
		"a\x00-20260131150405.000000000.json",
		strings.Repeat("a", 161) + "-20260131150405.000000000.json",
	} {
		if _, err := outbox.ParseRecordName(name); !errors.Is(err, outbox.ErrMalformed) {
			t.Errorf("ParseRecordName(%q): %v, want %v", name, err, outbox.ErrMalformed)
		}
	}
}

// FuzzRecordName checks that names are safe, that they can be read back, and
// that two keys share one only if they are equal.
func FuzzRecordName(f *testing.F) {
	f.Add("acme", "match", "settle", "room-7", "acme", "match", "settle", "Room-7", int64(0))
	f.Add("a.b", "c", "d", "e", "a", "b.c", "d", "e", int64(1))
	f.Add("..", "/", "\x00", "K", "..", "/", "\x00", "k", int64(math.MaxInt64))
	f.Add("a", "b", "c", strings.Repeat("x", 256), "a", "b", "c", strings.Repeat("x", 255)+"X", int64(5))
	f.Fuzz(func(t *testing.T, t1, s1, o1, i1, t2, s2, o2, i2 string, at int64) {
		a := event.Key{Tenant: t1, Scope: s1, Operation: o1, ID: i1}
		b := event.Key{Tenant: t2, Scope: s2, Operation: o2, ID: i2}
		if a.Validate() != nil || b.Validate() != nil {
			return
		}
		at = at & math.MaxInt64 % 9214646400e9
		name := outbox.RecordName(outbox.EncodeKey(a), at)
		parsed, err := outbox.ParseRecordName(name)
		if err != nil || parsed.String() != name {
			t.Fatalf("%q reads as %q: %v", name, parsed, err)
		}
		other := outbox.RecordName(outbox.EncodeKey(b), at)
		if strings.EqualFold(name, other) != (a == b) {
			t.Errorf("%v and %v have the names %q and %q", a, b, name, other)
		}
		aside := outbox.QuarantinedName(name, math.MaxInt32)
		longest := outbox.DiscardedName(aside, math.MaxInt32) + ".reason"
		if want := name + ".2147483647.discarded.reason"; longest != want {
			t.Errorf("%q is discarded as %q, want %q", aside, longest, want)
		}
		if len(longest) > 255 || len(aside+".reason") > 255 || strings.ContainsAny(name, "/\\\x00:") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
			t.Errorf("%q is no safe name", longest)
		}
	})
}

// FuzzParseNames checks that whatever is accepted as a name has that one form.
func FuzzParseNames(f *testing.F) {
	f.Add("acme.match.settle.room-7-20260131150405.000000000.json")
	f.Add("acme.match.settle.room-7-20260131150405.000000000.json.2.bad")
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := outbox.ParseRecordName(text); err == nil && name.String() != text {
			t.Errorf("%q reads as %q", text, name)
		}
		if name, err := outbox.ParseQuarantinedName(text); err == nil && !strings.HasPrefix(text, name.String()) {
			t.Errorf("%q is set aside from %q", text, name)
		}
		if quarantined, err := outbox.ParseQuarantinedName(outbox.QuarantinedName(text, 2)); err == nil {
			if name, err := outbox.ParseRecordName(text); err == nil && name != quarantined {
				t.Errorf("%q set aside reads as %q", text, quarantined)
			}
		}
		if discarded := outbox.DiscardedName(text, 2); outbox.IsAside(discarded) || strings.HasSuffix(discarded, ".json") {
			t.Errorf("%q, discarded, would be read again", text)
		}
	})
}
