package fingerprint_test

import (
	"errors"
	"math"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

func TestUnder(t *testing.T) {
	t.Parallel()
	older := fingerprint.Schema{Name: sampleSchema.Name, Version: 2}
	broken := fingerprint.Schema{Name: sampleSchema.Name, Version: 1}
	under := fingerprint.Under(
		fingerprint.Form{Schema: sampleSchema, Value: sampleMatch()},
		fingerprint.Form{Schema: older, Value: named{"x"}},
		fingerprint.Form{Schema: older, Value: "never reached"},
		fingerprint.Form{Schema: broken, Value: math.NaN()},
	)
	for schema, value := range map[fingerprint.Schema]any{sampleSchema: sampleMatch(), older: named{"x"}} {
		got, err := under(schema)
		if err != nil || got != mustOf(t, schema, value) {
			t.Errorf("under(%v) = %v, %v", schema, got, err)
		}
	}
	if _, err := under(broken); !errors.Is(err, fingerprint.ErrInvalidValue) || errors.Is(err, fingerprint.ErrUnknownSchema) {
		t.Errorf("under(%v): %v, want ErrInvalidValue", broken, err)
	}
	for _, unknown := range []fingerprint.Schema{{Name: sampleSchema.Name, Version: 4}, {Name: "other", Version: 3}, {}} {
		digest, err := under(unknown)
		if !errors.Is(err, fingerprint.ErrUnknownSchema) || !digest.IsZero() {
			t.Errorf("under(%v) = %v, %v, want ErrUnknownSchema", unknown, digest, err)
		}
	}
}
