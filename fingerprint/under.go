package fingerprint

import (
	"errors"
	"fmt"
)

// ErrUnknownSchema is true where a digest is asked for under a schema that
// this build does not know. It says nothing about the value: a build that
// knows the schema can answer, so a retry is safe and may help.
var ErrUnknownSchema = errors.New("fingerprint: schema is not known to this build")

// Form is a value as one schema sees it.
type Form struct {
	// Schema must be valid.
	Schema Schema
	// Value is what [Of] digests under Schema.
	Value any
}

// Under returns a function that digests the value under any schema that forms
// names, and for another schema returns an error for which errors.Is(err,
// [ErrUnknownSchema]) is true. All other errors are those of [Of].
//
// A receipt that was stored under an older version is compared under that
// version, so a build that has moved on lists the older forms too. Where
// forms names a schema twice, the first one counts. Nothing is digested before
// the function is called. It may be called from any goroutine, as long as
// nobody changes the values.
func Under(forms ...Form) func(Schema) (Digest, error) {
	return func(schema Schema) (Digest, error) {
		for _, form := range forms {
			if form.Schema == schema {
				return Of(schema, form.Value)
			}
		}
		return Digest{}, fmt.Errorf("%w: %v", ErrUnknownSchema, schema)
	}
}
