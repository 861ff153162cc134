package pgstore

import (
	"errors"
	"fmt"
	"strings"
)

// DefaultSchema is the schema where none is named.
const DefaultSchema = "settleonce"

// maxSchema is PostgreSQL's limit on identifiers. It would cut a longer one
// in silence.
const maxSchema = 63

// validateSchema reports the rule that a schema's name breaks. The rule is
// narrower than PostgreSQL's, so that the name also passes through the
// templates of migration tools unharmed.
func validateSchema(name string) error {
	switch {
	case name == "" || len(name) > maxSchema:
		return fmt.Errorf("must have 1 to %d bytes, has %d", maxSchema, len(name))
	case strings.HasPrefix(name, "pg_"):
		return errors.New("must not begin with pg_, which PostgreSQL keeps for itself")
	}
	for i := range len(name) {
		if !schemaByte(name[i]) {
			return errors.New("may hold only a-z, A-Z, 0-9, '_' and '-'")
		}
	}
	return nil
}

func schemaByte(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_', b == '-':
		return true
	default:
		return false
	}
}

// quoteSchema returns a validated name as a quoted identifier.
func quoteSchema(name string) string { return `"` + name + `"` }
