//go:build !linux && !darwin

package vfs

import (
	"errors"
	"fmt"
	"runtime"
)

// Options adjust [Open].
type Options struct {
	// NamedDrafts uses named drafts even where unnamed ones work.
	NamedDrafts bool
}

// Open fails: nobody has checked what a sync is worth on this system.
// errors.Is(err, [errors.ErrUnsupported]) is true.
func Open(string, Options) (Dir, error) {
	return nil, fmt.Errorf("vfs: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}
