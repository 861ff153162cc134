package acceptance

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDetail is the greatest length in bytes of a ruling's detail and of a
// resolution's reason.
const MaxDetail = 1024

// validate reports every field that breaks a rule.
func (r *Ruling) validate() error {
	var broken []error
	if r.Code != "" {
		if err := r.Code.Validate(); err != nil {
			broken = append(broken, fmt.Errorf("Ruling.Code %w", err))
		}
	}
	if len(r.Detail) > MaxDetail || !utf8.ValidString(r.Detail) {
		broken = append(broken, fmt.Errorf("Ruling.Detail must be UTF-8 of at most %d bytes, has %d", MaxDetail, len(r.Detail)))
	}
	for i, rule := range r.Rules {
		for _, text := range []struct{ field, value string }{{"Name", rule.Name}, {"Version", rule.Version}} {
			if text.value == "" || len(text.value) > MaxText || !utf8.ValidString(text.value) {
				broken = append(broken, fmt.Errorf("Ruling.Rules[%d].%s must be UTF-8 of 1 to %d bytes, has %d", i, text.field, MaxText, len(text.value)))
			}
		}
	}
	return errors.Join(broken...)
}
