package acceptance

import (
	"errors"
	"fmt"
	"strings"
)

// MaxCode is the greatest length in bytes of a [Code].
const MaxCode = 64

// Validate reports the rule that the code breaks, see [Code]. The empty code
// breaks it too: where it means that nothing is rejected, do not ask.
func (c Code) Validate() error {
	if rule := c.brokenRule(); rule != "" {
		return errors.New("acceptance: code " + rule)
	}
	return nil
}

// brokenRule says what the code must be and is not, or nothing.
func (c Code) brokenRule() string {
	if c == "" || len(c) > MaxCode || c[0] < 'a' || c[0] > 'z' || strings.ContainsFunc(string(c), notInCode) {
		return fmt.Sprintf("must have 1 to %d bytes of a-z, 0-9, '.', '-' and '_', beginning with a letter, is %s",
			MaxCode, excerpt(string(c)))
	}
	return ""
}

func notInCode(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}

// excerpt quotes the beginning of a text, so that an error cannot be forged or
// filled by what it complains about.
func excerpt(text string) string {
	if len(text) <= MaxCode {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", text[:MaxCode])
}
