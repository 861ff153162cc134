package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

// FuzzJSON says what holds for every JSON text: whether it is one, that its
// form is a fixed point, and that another way to write it has the same form.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		``, `null`, `-0`, `1.50e+3`, `9007199254740993`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", `[]`, `{}`, `[1,[2,{"a":[]}]]`,
		`{"b":1,"a":{"d":null,"c":true}}`, `{"a":1,"\u0061":2}`, ` [ 1 , 2 ] `, `{"é":"\u00e9","\ufb33":1,"😀":2}`, `1e1000000000000001`,
		`[333333333.33333329,1E30,4.50,2e-3,1e-27]`, `"\u0000\b\f\n\r\t\"\\\/"`, `[1,]`, `01`, `{"a"}`, strings.Repeat("[", 300),
	} {
		f.Add([]byte(text), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		canonical, err := fingerprint.CanonicalJSON(text)
		digest, digestErr := fingerprint.OfJSON(sampleSchema, text)
		if (err == nil) != (digestErr == nil) {
			t.Fatalf("CanonicalJSON: %v, OfJSON: %v", err, digestErr)
		}
		steps, _, _ := fingerprint.StepsJSON(text)
		checkSteps(t, "steps", steps, len(text)+len(canonical)+16)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatal("CanonicalJSON accepts what is not JSON")
		}
		again, err := fingerprint.OfCanonical(sampleSchema, canonical)
		if err != nil || again != digest {
			t.Errorf("OfCanonical = %v, %v, want %v", again, err, digest)
		}
		rewritten := rewrite(t, text, rand.New(rand.NewPCG(seed, 0)))
		if other := form(t, jsonText(rewritten)); !bytes.Equal(other, canonical) {
			t.Errorf("%s has form %q, rewritten as %s %q", text, canonical, rewritten, other)
		}
		checkJCS(t, text, rewritten)
		if deep(canonical) {
			return
		}
		if fixed := form(t, decode(canonical)); !bytes.Equal(fixed, canonical) {
			t.Errorf("the form is no fixed point: %q, then %q", canonical, fixed)
		}
	})
}

func checkJCS(t *testing.T, text, rewritten []byte) {
	t.Helper()
	jcs, err := fingerprint.JCS(text)
	if err != nil {
		return
	}
	if !json.Valid(jcs) {
		t.Errorf("JCS(%s) is no JSON: %s", text, jcs)
	}
	for _, other := range [][]byte{jcs, rewritten} {
		if again, err := fingerprint.JCS(other); err != nil || !bytes.Equal(again, jcs) {
			t.Errorf("JCS(%s) = %s, %v, want %s", other, again, err, jcs)
		}
	}
}

// rewrite writes a JSON text in another way: members in another order, other
// white space, other escapes, other exponents.
func rewrite(t *testing.T, text []byte, random *rand.Rand) []byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	r := rewriter{random: random}
	r.value(value)
	r.space()
	return r.out.Bytes()
}

type rewriter struct {
	random *rand.Rand
	out    bytes.Buffer
}

func (r *rewriter) space() {
	for r.random.IntN(3) == 0 {
		r.out.WriteByte(" \t\r\n"[r.random.IntN(4)])
	}
}

func (r *rewriter) value(value any) {
	r.space()
	switch value := value.(type) {
	case json.Number:
		r.out.WriteString(value.String())
		if !strings.ContainsAny(value.String(), "eE") {
			r.out.WriteString([]string{"", "e0", "E+00", "e-000"}[r.random.IntN(4)])
		}
	case string:
		r.text(value)
	case []any:
		r.out.WriteByte('[')
		for i, element := range value {
			if i > 0 {
				r.out.WriteByte(',')
			}
			r.value(element)
			r.space()
		}
		r.out.WriteByte(']')
	case map[string]any:
		r.object(value)
	default:
		fmt.Fprint(&r.out, map[any]string{nil: "null", true: "true", false: "false"}[value])
	}
}

func (r *rewriter) object(object map[string]any) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	r.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	r.out.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			r.out.WriteByte(',')
		}
		r.space()
		r.text(key)
		r.space()
		r.out.WriteByte(':')
		r.value(object[key])
		r.space()
	}
	r.out.WriteByte('}')
}

func (r *rewriter) text(text string) {
	r.out.WriteByte('"')
	for _, c := range text {
		switch {
		case c > 0xFFFF && r.random.IntN(2) == 0:
			fmt.Fprintf(&r.out, `\u%04x\u%04X`, 0xD800+(c-0x10000)>>10, 0xDC00+(c-0x10000)&0x3FF)
		case c < ' ' || c == '"' || c == '\\' || c <= 0xFFFF && r.random.IntN(3) == 0:
			fmt.Fprintf(&r.out, `\u%04x`, c)
		default:
			r.out.WriteRune(c)
		}
	}
	r.out.WriteByte('"')
}

// FuzzCanonical says that bytes which are read as a canonical form are the one
// form of their value.
func FuzzCanonical(f *testing.F) {
	for _, value := range []any{nil, sampleMatch(), sampleBet(), sampleMap(), map[any]any{1: true, "a": []byte{1}, true: 0.1}} {
		f.Add(form(f, value))
	}
	f.Add([]byte("\x01{s\x01an"))
	f.Add([]byte("\x01d\x031e0"))
	f.Fuzz(func(t *testing.T, canonical []byte) {
		_, err := fingerprint.OfCanonical(sampleSchema, canonical)
		paths, diffErr := fingerprint.Diff(canonical, canonical)
		if (err == nil) != (diffErr == nil) || len(paths) > 0 {
			t.Errorf("OfCanonical: %v, Diff: %q, %v", err, paths, diffErr)
		}
		null := []byte("\x01n")
		if _, diffErr := fingerprint.Diff(null, canonical); (err == nil) != (diffErr == nil) {
			t.Errorf("OfCanonical: %v, Diff: %v", err, diffErr)
		}
		if err != nil || deep(canonical) {
			return
		}
		if again := form(t, decode(canonical)); !bytes.Equal(again, canonical) {
			t.Errorf("another form of the same value: %q, then %q", canonical, again)
		}
	})
}

// deep reports whether the form may have more levels than its Go value, in
// which each level is also an interface, may have.
func deep(canonical []byte) bool {
	return bytes.Count(canonical, []byte("["))+bytes.Count(canonical, []byte("{")) > fingerprint.MaxDepth/2
}
