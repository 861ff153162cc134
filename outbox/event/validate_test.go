package event_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

// wrongFields returns "field rule" of each entry of an InvalidError.
func wrongFields(tb testing.TB, err error) []string {
	tb.Helper()
	if err == nil {
		return nil
	}
	if !errors.Is(err, event.ErrInvalid) {
		tb.Errorf("errors.Is(%v, ErrInvalid) is false", err)
	}
	invalid, ok := errors.AsType[*event.InvalidError](err)
	if !ok {
		tb.Fatalf("%v is no *InvalidError", err)
	}
	fields := make([]string, len(invalid.Fields))
	for i, wrong := range invalid.Fields {
		fields[i] = wrong.Field + " " + wrong.Rule
	}
	return fields
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*event.Event){
		"everything set":        func(e *event.Event) { *e = full(t) },
		"nothing optional set":  func(*event.Event) {},
		"longest texts":         func(e *event.Event) { e.ID, e.Key.ID = long(event.MaxText), long(event.MaxKeyID) },
		"relative source":       func(e *event.Event) { e.Source = "rooms?of=battle-7#x" },
		"urn as source":         func(e *event.Event) { e.Source = "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66" },
		"percent in source":     func(e *event.Event) { e.Source = "/caf%C3%A9" },
		"any script in a key":   func(e *event.Event) { e.Key.Scope = "試合 ⚽ <&> /" },
		"replacement character": func(e *event.Event) { e.Key.ID = "\ufffd" },
		"null as data":          func(e *event.Event) { e.Data = []byte(`null`) },
		"no JSON, any bytes":    func(e *event.Event) { e.DataContentType, e.Data = "image/png", []byte{0xff, 0} },
		"no JSON, no bytes":     func(e *event.Event) { e.DataContentType, e.Data = "image/png", []byte{} },
		"JSON by suffix":        func(e *event.Event) { e.DataContentType, e.Data = "application/x+json; a=b", []byte(`1`) },
		"extension of 64":       func(e *event.Event) { e.Extensions = map[string]any{long(64): "x"} },
		"greatest position":     func(e *event.Event) { e.Position = math.MaxInt64 },
		"first second of UTC":   func(e *event.Event) { e.Time = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := least(t)
			change(&e)
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func long(length int) string { return strings.Repeat("n", length) }

// TestValidateRefuses breaks one rule a row.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	const (
		required   = "must not be empty"
		characters = "must not hold control characters or Unicode noncharacters"
		reference  = "must be a URI reference (RFC 3986)"
		isReserved = "is a name that the envelope itself uses"
	)
	extension := func(name string, value any) func(*event.Event) {
		return func(e *event.Event) { e.Extensions = map[string]any{name: value} }
	}
	for _, test := range []struct {
		change func(*event.Event)
		want   string
	}{
		{func(e *event.Event) { e.ID = "" }, "id " + required},
		{func(e *event.Event) { e.ID = long(1025) }, "id must have at most 1024 bytes, has 1025"},
		{func(e *event.Event) { e.ID = "a\xff" }, "id must be valid UTF-8"},
		{func(e *event.Event) { e.ID = "a\n" }, "id " + characters},
		{func(e *event.Event) { e.ID = "\x7f" }, "id " + characters},
		{func(e *event.Event) { e.ID = "\u009f" }, "id " + characters},
		{func(e *event.Event) { e.ID = "\ufdd0" }, "id " + characters},
		{func(e *event.Event) { e.ID = "\uffff" }, "id " + characters},
		{func(e *event.Event) { e.ID = "\U0010fffe" }, "id " + characters},
		{func(e *event.Event) { e.Source = "" }, "source " + required},
		{func(e *event.Event) { e.Source = long(1025) }, "source must have at most 1024 bytes, has 1025"},
		{func(e *event.Event) { e.Source = "://" }, "source " + reference},
		{func(e *event.Event) { e.Source = "/a b" }, "source " + reference},
		{func(e *event.Event) { e.Source = "/caf\u00e9" }, "source " + reference},
		{func(e *event.Event) { e.Source = "/%zz" }, "source " + reference},
		{func(e *event.Event) { e.Type = "" }, "type " + required},
		{func(e *event.Event) { e.Type = "\x00" }, "type " + characters},
		{func(e *event.Event) { e.Subject = "\x1f" }, "subject " + characters},
		{func(e *event.Event) { e.DataSchema = "/relative" }, "dataschema must be an absolute URI (RFC 3986)"},
		{func(e *event.Event) { e.DataSchema = "http://[::1" }, "dataschema " + reference},
		{func(e *event.Event) { e.DataSchema = "x:" + long(1024) }, "dataschema must have at most 1024 bytes, has 1026"},
		{func(e *event.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "time must have a form in RFC 3339 (year 0 to 9999, zone offset under 24 hours)"},
		{func(e *event.Event) { e.Time = time.Unix(1, 0).In(time.FixedZone("LMT", 1172)) }, "time must have a zone offset of whole minutes (RFC 3339)"},
		{func(e *event.Event) { e.Time = time.Unix(1, 0).In(time.FixedZone("", 86400)) }, "time must have a form in RFC 3339 (year 0 to 9999, zone offset under 24 hours)"},
		{func(e *event.Event) { e.DataContentType = "json" }, "datacontenttype must be a media type (RFC 2046)"},
		{func(e *event.Event) { e.DataContentType = "a/b; c" }, "datacontenttype must be a media type (RFC 2046)"},
		{func(e *event.Event) { e.DataContentType = "a/b\n" }, "datacontenttype " + characters},
		{func(e *event.Event) { e.Data = []byte(`{`) }, "data of a JSON media type must be one valid JSON text"},
		{func(e *event.Event) { e.Data = []byte{} }, "data of a JSON media type must be one valid JSON text"},
		{func(e *event.Event) { e.Data = []byte("\"\xff\"") }, "data of a JSON media type must be valid UTF-8"},
		{func(e *event.Event) { e.Data = []byte(`"\ud800"`) }, "data of a JSON media type must not hold half of a surrogate pair"},
		{func(e *event.Event) { e.DataContentType, e.Data = "text/json", []byte(`{`) }, "data of a JSON media type must be one valid JSON text"},
		{func(e *event.Event) { e.Key.Tenant = "" }, "key.tenant " + required},
		{func(e *event.Event) { e.Key.Tenant = long(129) }, "key.tenant must have at most 128 bytes, has 129"},
		{func(e *event.Event) { e.Key.Scope = "" }, "key.scope " + required},
		{func(e *event.Event) { e.Key.Scope = "\xc3" }, "key.scope must be valid UTF-8"},
		{func(e *event.Event) { e.Key.Operation = "" }, "key.operation " + required},
		{func(e *event.Event) { e.Key.Operation = "a\tb" }, "key.operation " + characters},
		{func(e *event.Event) { e.Key.ID = "" }, "key.id " + required},
		{func(e *event.Event) { e.Key.ID = long(257) }, "key.id must have at most 256 bytes, has 257"},
		{func(e *event.Event) { e.OrderingKey = long(257) }, "orderingkey must have at most 256 bytes, has 257"},
		{func(e *event.Event) { e.OrderingKey = "\r" }, "orderingkey " + characters},
		{func(e *event.Event) { e.Fingerprint = fingerprint.Digest{} }, "fingerprint must be set"},
		{func(e *event.Event) { e.Position = -1 }, "position must not be negative, is -1"},
		{extension("Trace", "x"), `extensions."Trace" must have a name of 1 to 64 characters of a-z and 0-9`},
		{extension("", "x"), `extensions."" must have a name of 1 to 64 characters of a-z and 0-9`},
		{extension(long(65), "x"), `extensions."` + long(64) + `"… must have a name of 1 to 64 characters of a-z and 0-9`},
		{extension("trace_id", "x"), `extensions."trace_id" must have a name of 1 to 64 characters of a-z and 0-9`},
		{extension("keyid", "x"), "extensions.keyid " + isReserved},
		{extension("partitionkey", "x"), "extensions.partitionkey " + isReserved},
		{extension("sequence", "0000000000000000007"), "extensions.sequence " + isReserved},
		{extension("specversion", "1.0"), "extensions.specversion " + isReserved},
		{extension("n", 1), "extensions.n must be a string, a bool or an int32, is int"},
		{extension("n", nil), "extensions.n must be a string, a bool or an int32, is <nil>"},
		{extension("n", 1.5), "extensions.n must be a string, a bool or an int32, is float64"},
		{extension("n", "\x00"), "extensions.n " + characters},
		{func(e *event.Event) { e.Extensions = extensions(33) }, "extensions must be at most 32, are 33"},
	} {
		t.Run(test.want[:min(len(test.want), 60)], func(t *testing.T) {
			t.Parallel()
			e := least(t)
			test.change(&e)
			if diff := cmp.Diff([]string{test.want}, wrongFields(t, e.Validate())); diff != "" {
				t.Errorf("wrong fields (-want +got):\n%s", diff)
			}
			if text, err := e.MarshalJSON(); !errors.Is(err, event.ErrInvalid) {
				t.Errorf("MarshalJSON wrote %s, error %v", text, err)
			}
		})
	}
}

func extensions(count int) map[string]any {
	values := make(map[string]any)
	for i := range count {
		values[fmt.Sprintf("x%d", i)] = "v"
	}
	return values
}

func TestValidateNamesEveryWrongFieldAtOnce(t *testing.T) {
	t.Parallel()
	zero := event.Event{Position: -7, Extensions: map[string]any{"b": 1, "A": 2}}
	want := []string{
		"id must not be empty",
		"source must not be empty",
		"type must not be empty",
		"key.tenant must not be empty",
		"key.scope must not be empty",
		"key.operation must not be empty",
		"key.id must not be empty",
		"fingerprint must be set",
		"position must not be negative, is -7",
		`extensions."A" must have a name of 1 to 64 characters of a-z and 0-9`,
		"extensions.b must be a string, a bool or an int32, is int",
	}
	err := zero.Validate()
	if diff := cmp.Diff(want, wrongFields(t, err)); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
	if got, want := err.Error(), "event: invalid: "+strings.Join(want, "; "); got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestValidateOrderingKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][]string{
		"":        nil,
		"wallet":  nil,
		"a\x00":   {"orderingkey must not hold control characters or Unicode noncharacters"},
		"\xff":    {"orderingkey must be valid UTF-8"},
		long(257): {"orderingkey must have at most 256 bytes, has 257"},
	} {
		if diff := cmp.Diff(want, wrongFields(t, event.ValidateOrderingKey(key))); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", key, diff)
		}
	}
}
