package api

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settleonce/settleonce/acceptance"
)

// nameRule returns the rule that the name of a market, a selection, a wallet or
// a version breaks, or "". They are the rules of the names in a command: what
// breaks them is no name of anything, and some of it no database takes.
func nameRule(name string) string {
	switch {
	case name == "" || len(name) > acceptance.MaxText:
		return fmt.Sprintf("must have 1 to %d bytes, has %d", acceptance.MaxText, len(name))
	case !utf8.ValidString(name):
		return "must be valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters"
	default:
		return ""
	}
}

// pathName returns the name in a request's path. There is nothing of a name that
// is none.
func pathName(r *http.Request) (string, error) {
	name := r.PathValue("id")
	if nameRule(name) != "" {
		return "", fail(TypeNotFound)
	}
	return name, nil
}

// checkName adds what is wrong with a name to what is wrong already.
func checkName(wrong []WrongField, field, name string) []WrongField {
	if rule := nameRule(name); rule != "" {
		return append(wrong, WrongField{field, rule})
	}
	return wrong
}
