package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// seeing keeps the ID of the command that it is asked to accept.
type seeing struct {
	api.Bets
	id *string
}

func (s seeing) Accept(_ context.Context, c acceptance.Command) (house.Decision, error) {
	*s.id = c.ID
	return house.Decision{Verdict: acceptance.Rejected}, nil
}

// seen returns the ID that a header's value becomes, "" where it is refused.
func seen(t *testing.T, v *venue, id *string, value string) string {
	t.Helper()
	*id = ""
	q := place("", single())
	q.header = map[string][]string{api.KeyHeader: {value}}
	if recorder := v.send(t, q); recorder.Code != 200 {
		problemOf(t, recorder, 400, api.TypeKey)
		if *id != "" {
			t.Errorf("%q was refused, and %q decided", value, *id)
		}
	}
	return *id
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	var id string
	v := open(t, func(_ *house.Config, a *api.Config) { a.Bets = seeing{id: &id} })
	longest := strings.Repeat("k", 256)
	for value, want := range map[string]string{
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		`8e03978e-40d5-43dd-bc93-6894a57f9324`:   "8e03978e-40d5-43dd-bc93-6894a57f9324",
		` "a" `:                                  "a",
		`" a "`:                                  " a ",
		`"a\"b\\c"`:                              `a"b\c`,
		`"a,b;c=d"`:                              "a,b;c=d",
		`A_b.1`:                                  "A_b.1",
		`"` + longest + `"`:                      longest,
		`"` + strings.Repeat(`\\`, 256) + `"`:    strings.Repeat(`\`, 256),
		longest:                                  longest,
		`"a/../b"`:                               "a/../b",
		``:                                       "",
		`.`:                                      "",
		`".."`:                                   "",
		`"`:                                      "",
		`""`:                                     "",
		`"a`:                                     "",
		`a"`:                                     "",
		`"a"b`:                                   "",
		`"a" "b"`:                                "",
		`"a", "b"`:                               "",
		`"a";b`:                                  "",
		`a;b`:                                    "",
		`a,b`:                                    "",
		`a b`:                                    "",
		`:YWJj:`:                                 "",
		`?1`:                                     "",
		`'a'`:                                    "",
		`"a\b"`:                                  "",
		`"a\`:                                    "",
		"\"a\tb\"":                               "",
		"\"\u00e9\"":                             "",
		"\u00e9":                                 "",
		longest + "k":                            "",
		`"` + longest + `k"`:                     "",
		`"` + strings.Repeat("k", 1<<16) + `"`:   "",
	} {
		if got := seen(t, v, &id, value); got != want {
			t.Errorf("%q became %q, want %q", value, got, want)
		}
	}
}

// Whatever is taken is a key that can be written again as a String, and is the
// same key then.
func FuzzIdempotencyKey(f *testing.F) {
	f.Add(`"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
	f.Add(`8e03978e-40d5-43dd-bc93-6894a57f9324`)
	f.Add(`"a\"b\\c"`)
	f.Add(`"a";b=c`)
	f.Fuzz(func(t *testing.T, value string) {
		var id string
		v := open(t, func(_ *house.Config, a *api.Config) { a.Bets = seeing{id: &id} })
		key := seen(t, v, &id, value)
		if key == "" {
			return
		}
		if len(key) > 256 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q became %q", value, key)
		}
		again := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if got := seen(t, v, &id, again); got != key {
			t.Errorf("%q became %q, and that, written %s, %q", value, key, again, got)
		}
	})
}
