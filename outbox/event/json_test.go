package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSuffix(string(want), "\n"), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestJSONIsStable pins the envelope's bytes: files in outboxes and rows in
// databases hold it.
func TestJSONIsStable(t *testing.T) {
	t.Parallel()
	binary := least(t)
	binary.DataContentType, binary.Data = "application/octet-stream", []byte{0, 0xff, '<'}
	positioned := full(t)
	positioned.Position = 4711
	for name, e := range map[string]event.Event{
		"full.json": full(t), "least.json": least(t), "binary.json": binary, "positioned.json": positioned,
	} {
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, text)
		var read event.Event
		if err := read.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, read); diff != "" {
			t.Errorf("%s read back (-want +got):\n%s", name, diff)
		}
	}
}

// TestPositionsCompareAsTheirTexts is what consumers that know the extension
// alone rely on.
func TestPositionsCompareAsTheirTexts(t *testing.T) {
	t.Parallel()
	last := ""
	for _, position := range []int64{1, 9, 10, 99, 100, 1 << 53, 1<<53 + 1, math.MaxInt64} {
		e := least(t)
		e.Position = position
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var attributes struct{ Sequence string }
		if err := json.Unmarshal(text, &attributes); err != nil {
			t.Fatal(err)
		}
		if attributes.Sequence <= last {
			t.Errorf("position %d is written %q, after %q", position, attributes.Sequence, last)
		}
		last = attributes.Sequence
		var read event.Event
		if err := read.UnmarshalJSON(text); err != nil || read.Position != position {
			t.Errorf("position %d reads back as %d: %v", position, read.Position, err)
		}
	}
}

// TestJSONThroughStandardLibrary checks that json.Marshal and json.Unmarshal
// keep the event, if not its bytes.
func TestJSONThroughStandardLibrary(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(full(t))
	if err != nil {
		t.Fatal(err)
	}
	var read event.Event
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	want := full(t)
	want.Data = []byte(`{"winner":1,"note":"\u003cé\u003e"}`) // the escapes that json.Marshal adds
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// envelope returns the JSON of least with members added in front.
func envelope(tb testing.TB, added string) string {
	tb.Helper()
	e := least(tb)
	text, err := e.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	if added == "" {
		return string(text)
	}
	return "{" + added + "," + string(text[1:])
}

func TestJSONReads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		added string
		want  func(*event.Event)
	}{
		"unknown extensions": {
			`"traceparent":"00-1","comexampleothervalue":5,"flag":false`,
			func(e *event.Event) {
				e.Extensions = map[string]any{"traceparent": "00-1", "comexampleothervalue": int32(5), "flag": false}
			},
		},
		"null is absent":             {`"subject":null,"time":null,"dataschema":null,"datacontenttype":null,"unset":null`, func(*event.Event) {}},
		"white space":                {"\n \"subject\" : \"s\" ", func(e *event.Event) { e.Subject = "s" }},
		"escapes":                    {`"subject":"\u00e9\ud83d\ude00"`, func(e *event.Event) { e.Subject = "é😀" }},
		"data of any JSON type":      {`"data":[1, {"a":null}]`, func(e *event.Event) { e.Data = []byte(`[1, {"a":null}]`) }},
		"null data is data":          {`"data":null`, func(e *event.Event) { e.Data = []byte(`null`) }},
		"a JSON string is JSON data": {`"data":"text"`, func(e *event.Event) { e.Data = []byte(`"text"`) }},
		"text of another media type": {
			`"data":"<a b=\"c\"/>","datacontenttype":"application/xml"`,
			func(e *event.Event) { e.Data, e.DataContentType = []byte(`<a b="c"/>`), "application/xml" },
		},
		"data before its media type": {
			`"data_base64":"AP8=","datacontenttype":"image/png"`,
			func(e *event.Event) { e.Data, e.DataContentType = []byte{0, 0xff}, "image/png" },
		},
		"JSON in base64":   {`"data_base64":"eyJhIjoxfQ=="`, func(e *event.Event) { e.Data = []byte(`{"a":1}`) }},
		"no bytes":         {`"data_base64":"","datacontenttype":"a/b"`, func(e *event.Event) { e.Data, e.DataContentType = []byte{}, "a/b" }},
		"time with offset": {`"time":"2026-01-01T01:00:00.5+01:00"`, func(e *event.Event) { e.Time = time.Date(2026, 1, 1, 0, 0, 0, 5e8, time.UTC) }},
		"a position":       {`"sequence":"0000000000000000007"`, func(e *event.Event) { e.Position = 7 }},
		"greatest of them": {`"sequence":"9223372036854775807"`, func(e *event.Event) { e.Position = math.MaxInt64 }},
		"no position":      {`"sequence":null`, func(*event.Event) {}},
		"least integer":    {`"n":-2147483648`, func(e *event.Event) { e.Extensions = map[string]any{"n": int32(-2147483648)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := least(t)
			test.want(&want)
			var got event.Event
			if err := got.UnmarshalJSON([]byte(envelope(t, test.added))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	whole := envelope(t, "")
	for name, test := range map[string]struct{ text, want string }{
		"no text":              {``, "JSON must be one valid JSON text"},
		"null":                 {`null`, "JSON must be a JSON object"},
		"array":                {`[` + whole + `]`, "JSON must be a JSON object"},
		"truncated":            {whole[:len(whole)-1], "JSON must be one valid JSON text"},
		"text behind":          {whole + whole, "JSON must be one valid JSON text"},
		"duplicate":            {envelope(t, `"id":"1"`), `member "id" stands twice`},
		"duplicate extension":  {envelope(t, `"x":1,"x":1`), `member "x" stands twice`},
		"duplicate by escape":  {envelope(t, `"\u0069d":"1"`), `member "id" stands twice`},
		"other letter case":    {envelope(t, `"ID":"2"`), `extensions."ID" must have a name`},
		"too many members":     {envelope(t, many(60)), "must have at most 49 members"},
		"not UTF-8":            {envelope(t, "\"subject\":\"\xff\""), "JSON must be valid UTF-8"},
		"half a surrogate":     {envelope(t, `"subject":"\ud800"`), "JSON must not hold half of a surrogate pair"},
		"no specversion":       {strings.Replace(whole, `"specversion":"1.0",`, ``, 1), `specversion must be "1.0"`},
		"other specversion":    {strings.Replace(whole, `"1.0"`, `"0.3"`, 1), `specversion must be "1.0"`},
		"number as version":    {strings.Replace(whole, `"1.0"`, `1.0`, 1), `specversion must be a string`},
		"number as id":         {strings.Replace(whole, `"id":"1"`, `"id":1`, 1), `id must be a string`},
		"null id":              {strings.Replace(whole, `"id":"1"`, `"id":null`, 1), `id must not be empty`},
		"empty subject":        {envelope(t, `"subject":""`), `subject must not be empty`},
		"empty partitionkey":   {envelope(t, `"partitionkey":""`), `orderingkey must not be empty`},
		"empty time":           {envelope(t, `"time":""`), `time must not be empty`},
		"loose time":           {envelope(t, `"time":"2026-01-01T1:00:00Z"`), `time must be a timestamp (RFC 3339)`},
		"comma in time":        {envelope(t, `"time":"2026-01-01T01:00:00,5Z"`), `time must be a timestamp (RFC 3339)`},
		"time of day only":     {envelope(t, `"time":"10:00"`), `time must be a timestamp (RFC 3339)`},
		"absent time":          {envelope(t, `"time":"0001-01-01T00:00:00Z"`), `after the first instant of year 1`},
		"picoseconds":          {envelope(t, `"time":"2026-01-01T00:00:00.1234567891Z"`), `time must be a timestamp (RFC 3339) of at most nanoseconds`},
		"fingerprint":          {strings.Replace(whole, "match.result/1:", "match.result/01:", 1), `fingerprint must be a digest`},
		"long fingerprint":     {strings.Replace(whole, "match.result/1:", long(1000), 1), `fingerprint must have at most 1024 bytes`},
		"null fingerprint":     {strings.Replace(whole, `"`+least(t).Fingerprint.String()+`"`, "null", 1), `fingerprint must be set`},
		"zero as position":     {envelope(t, `"sequence":"0000000000000000000"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"negative position":    {envelope(t, `"sequence":"-000000000000000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position with a sign": {envelope(t, `"sequence":"+000000000000000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position too short":   {envelope(t, `"sequence":"000000000000000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position too long":    {envelope(t, `"sequence":"00000000000000000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position too great":   {envelope(t, `"sequence":"9223372036854775808"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position grouped":     {envelope(t, `"sequence":"000000000000_000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position in hex":      {envelope(t, `"sequence":"0x00000000000000007"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"position with spaces": {envelope(t, `"sequence":"                  7"`), `position must be a positive integer of 64 bits in 19 decimal digits`},
		"number as position":   {envelope(t, `"sequence":7`), `position must be a string`},
		"empty position":       {envelope(t, `"sequence":""`), `position must not be empty`},
		"two positions":        {envelope(t, `"sequence":"0000000000000000007","sequence":"0000000000000000007"`), `member "sequence" stands twice`},
		"extension object":     {envelope(t, `"x":{}`), `extensions.x must be a string, a boolean or an integer of 32 bits`},
		"extension fraction":   {envelope(t, `"x":1.0`), `extensions.x must be a string, a boolean or an integer of 32 bits`},
		"extension exponent":   {envelope(t, `"x":1e2`), `extensions.x must be a string, a boolean or an integer of 32 bits`},
		"extension too great":  {envelope(t, `"x":2147483648`), `extensions.x must be a string, a boolean or an integer of 32 bits`},
		"data twice":           {envelope(t, `"data":1,"data_base64":"MQ=="`), `data must not stand beside data_base64`},
		"null beside base64":   {envelope(t, `"data":null,"data_base64":"MQ=="`), `data must not stand beside data_base64`},
		"null base64":          {envelope(t, `"data_base64":null`), `data_base64 must be a string`},
		"not base64":           {envelope(t, `"data_base64":"M"`), `data_base64 must be base64`},
		"loose base64":         {envelope(t, `"data_base64":"MR=="`), `data_base64 must be base64`},
		"object under text":    {envelope(t, `"data":{},"datacontenttype":"text/plain"`), `data must be a string under a media type other than JSON`},
		"null under text":      {envelope(t, `"data":null,"datacontenttype":"text/plain"`), `data must be a string under a media type other than JSON`},
		"base64 no JSON":       {envelope(t, `"data_base64":"ew=="`), `data of a JSON media type must be one valid JSON text`},
		"bad content type":     {envelope(t, `"data":1,"datacontenttype":"json"`), `datacontenttype must be a media type`},
		"number content type":  {envelope(t, `"data":{},"datacontenttype":1`), `datacontenttype must be a string`},
		"control character":    {envelope(t, `"subject":"\u0000"`), `subject must not hold control characters`},
		"control in extension": {envelope(t, `"x":"\u0007"`), `extensions.x must not hold control characters`},
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
			if !errors.Is(err, event.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			if strings.Count(err.Error(), ";") > 0 {
				t.Errorf("one fault is reported as several: %v", err)
			}
			if diff := cmp.Diff(full(t), got); diff != "" {
				t.Errorf("the event changed (-want +got):\n%s", diff)
			}
		})
	}
}

func many(count int) string {
	names := make([]string, count)
	for i := range names {
		names[i] = `"x` + strings.Repeat("x", i) + `":null`
	}
	return strings.Join(names, ",")
}

// TestJSONNamesEveryWrongFieldAtOnce mixes fields of a wrong JSON type with
// missing ones and with broken rules.
func TestJSONNamesEveryWrongFieldAtOnce(t *testing.T) {
	t.Parallel()
	var e event.Event
	err := e.UnmarshalJSON([]byte(`{"id":1,"type":"","time":"noon","keytenant":"a","keyid":"\u0001","x":[],"data_base64":"?"}`))
	want := []string{
		`specversion must be "1.0"`,
		"id must be a string",
		"type must not be empty",
		"time must be a timestamp (RFC 3339) of at most nanoseconds, after the first instant of year 1",
		"extensions.x must be a string, a boolean or an integer of 32 bits",
		"data_base64 must be base64 (RFC 4648, section 4)",
		"source must not be empty",
		"key.scope must not be empty",
		"key.operation must not be empty",
		"key.id must not hold control characters or Unicode noncharacters",
		"fingerprint must be set",
	}
	if diff := cmp.Diff(want, wrongFields(t, err)); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
}

// TestDataIsCopied checks that an event keeps nothing of the text it was read
// from.
func TestDataIsCopied(t *testing.T) {
	t.Parallel()
	text := []byte(envelope(t, `"data":{"a":1}`))
	var e event.Event
	if err := e.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	clear(text)
	if got := string(e.Data); got != `{"a":1}` {
		t.Errorf("data is now %q", got)
	}
}

// FuzzEventJSON checks that what is read can be written, and reads back the
// same, in stable bytes.
func FuzzEventJSON(f *testing.F) {
	for _, name := range []string{"full.json", "least.json", "binary.json", "positioned.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(envelope(f, `"data":"<a/>","datacontenttype":"application/xml"`)))
	f.Add([]byte(envelope(f, `"time":"2026-01-01T01:00:00.5+23:59","x":-1,"y":null`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first event.Event
		if err := first.UnmarshalJSON(text); err != nil {
			if !errors.Is(err, event.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			return
		}
		written, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("read from %q, cannot be written: %v", text, err)
		}
		var second event.Event
		if err := second.UnmarshalJSON(written); err != nil {
			t.Fatalf("written as %s, cannot be read: %v", written, err)
		}
		again, err := second.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written, again) {
			t.Errorf("written %s, then %s", written, again)
		}
		second.Data, first.Data = compact(second.Data), compact(first.Data)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("event (-first +second):\n%s", diff)
		}
	})
}

// compact removes the white space that JSON data may lose.
func compact(data []byte) []byte {
	var compacted bytes.Buffer
	if json.Compact(&compacted, data) != nil {
		return data
	}
	return compacted.Bytes()
}
