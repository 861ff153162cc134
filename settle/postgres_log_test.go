package settle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// logbook is the handler of a runner's Logger. It collects the errors that the
// runner tells an operator of.
type logbook struct {
	mu     sync.Mutex
	errors map[string][]error // by message
}

var _ slog.Handler = (*logbook)(nil)

// Enabled takes everything.
func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs is not used by runners.
func (b *logbook) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup is not used by runners.
func (b *logbook) WithGroup(string) slog.Handler { return b }

// Handle notes the record's error.
func (b *logbook) Handle(_ context.Context, record slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.errors == nil {
		b.errors = make(map[string][]error)
	}
	record.Attrs(func(attribute slog.Attr) bool {
		if err, ok := attribute.Value.Any().(error); ok {
			b.errors[record.Message] = append(b.errors[record.Message], err)
		}
		return true
	})
	return nil
}

// checkRetries checks for which codes of the server attempts were tried again.
func (b *logbook) checkRetries(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var codes []string
	for _, err := range b.errors["trying again"] {
		var server *pgconn.PgError
		if errors.As(err, &server) {
			codes = append(codes, server.Code)
		}
	}
	if !slices.Equal(codes, want) {
		t.Errorf("tried again after %q, want %q", codes, want)
	}
}

// checkLooked checks that a look for the outcome failed for a reason that the
// text is in.
func (b *logbook) checkLooked(t *testing.T, text string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	looks := b.errors["the outcome is still unknown"]
	if !slices.ContainsFunc(looks, func(err error) bool { return strings.Contains(err.Error(), text) }) {
		t.Errorf("looks failed with %v, want one for %q", looks, text)
	}
}
