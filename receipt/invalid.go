package receipt

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is wrapped by every error about the content of a [Receipt]. Nothing
// was read or written, and the same content is refused again.
var ErrInvalid = errors.New("receipt: invalid")

// rules gathers the rules that a receipt breaks, each with its field.
type rules []string

func (r *rules) add(format string, args ...any) {
	*r = append(*r, fmt.Sprintf(format, args...))
}

func (r *rules) err() error {
	if len(*r) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(*r, "; "))
}
