package receipt_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
)

func digest(tb testing.TB, first string) fingerprint.Digest {
	tb.Helper()
	parsed, err := fingerprint.Parse("match.result/1:" + first + strings.Repeat("0", 64-len(first)))
	if err != nil {
		tb.Fatal(err)
	}
	return parsed
}

// full returns a receipt with every field set.
func full(tb testing.TB) receipt.Receipt {
	tb.Helper()
	return receipt.Receipt{
		Key:         receipt.Key{Tenant: "shop", Scope: "match", Operation: "settle", ID: "42/é<"},
		Revision:    2,
		Requested:   "settled",
		Outcome:     "aborted",
		Fingerprint: digest(tb, "ab"),
		Value:       []byte(`{"winner":1}`),
		Canonical:   []byte("canonical"),
		OrderingKey: "player/7",
		Attempt:     "0199a1b2-0000-7000-8000-000000000001",
		RecordedAt:  time.Date(2026, 3, 1, 12, 30, 0, 123456000, time.UTC),
	}
}

// least returns a receipt with nothing but what it must have.
func least(tb testing.TB) receipt.Receipt {
	tb.Helper()
	return receipt.Receipt{
		Key:       receipt.Key{Tenant: "a", Scope: "b", Operation: "c", ID: "d"},
		Requested: "settled", Outcome: "settled", Fingerprint: digest(tb, "cd"), Attempt: "1",
	}
}

func long(length int) string { return strings.Repeat("n", length) }

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*receipt.Receipt)
		want   string // "" is valid
	}{
		{"everything set", func(r *receipt.Receipt) { *r = full(t) }, ""},
		{"nothing optional set", func(*receipt.Receipt) {}, ""},
		{"longest", func(r *receipt.Receipt) {
			r.Value, r.Canonical = make([]byte, receipt.MaxOutcome), make([]byte, receipt.MaxCanonical)
			r.Requested, r.Attempt = receipt.Kind(long(64)), long(128)
		}, ""},
		{"every kind of byte in a kind", func(r *receipt.Receipt) { r.Outcome = "az09.-_" }, ""},
		{"key", func(r *receipt.Receipt) { r.Key.Tenant = "" }, "key.tenant must not be empty"},
		{"negative revision", func(r *receipt.Receipt) { r.Revision = -1 }, "revision must not be negative, is -1"},
		{"no requested kind", func(r *receipt.Receipt) { r.Requested = "" }, "requested kind must have 1 to 64 bytes, has 0"},
		{"long requested kind", func(r *receipt.Receipt) { r.Requested = receipt.Kind(long(65)) }, "requested kind must have 1 to 64 bytes, has 65"},
		{"upper case", func(r *receipt.Receipt) { r.Outcome = "Settled" }, "outcome kind may hold only a-z, 0-9, '.', '-' and '_'"},
		{"no fingerprint", func(r *receipt.Receipt) { r.Fingerprint = fingerprint.Digest{} }, "fingerprint must be set"},
		{"long value", func(r *receipt.Receipt) { r.Value = make([]byte, receipt.MaxOutcome+1) }, "value must have at most 1048576 bytes, has 1048577"},
		{"long canonical form", func(r *receipt.Receipt) { r.Canonical = make([]byte, receipt.MaxCanonical+1) }, "canonical form must have at most 1048576 bytes, has 1048577"},
		{"long ordering key", func(r *receipt.Receipt) { r.OrderingKey = long(257) }, "orderingkey must have at most 256 bytes, has 257"},
		{"ordering key not UTF-8", func(r *receipt.Receipt) { r.OrderingKey = "\xff" }, "orderingkey must be valid UTF-8"},
		{"no attempt", func(r *receipt.Receipt) { r.Attempt = "" }, "attempt must have 1 to 128 visible ASCII characters, has 0 bytes"},
		{"long attempt", func(r *receipt.Receipt) { r.Attempt = long(129) }, "attempt must have 1 to 128 visible ASCII characters, has 129 bytes"},
		{"attempt not ASCII", func(r *receipt.Receipt) { r.Attempt = "é" }, "attempt must have 1 to 128 visible ASCII characters, has 2 bytes"},
		{"attempt with a space", func(r *receipt.Receipt) { r.Attempt = "a b" }, "attempt must have 1 to 128 visible ASCII characters, has 3 bytes"},
		{"far future", func(r *receipt.Receipt) { r.RecordedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "recorded at must be in year 1 to 9999 (RFC 3339), is in 10000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := least(t)
			test.change(&r)
			err := r.Validate()
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != "receipt: invalid: "+test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("errors.Is(%v, ErrInvalid) is false", err)
			}
			if text, err := r.MarshalJSON(); !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("MarshalJSON wrote %.100s, error %v", text, err)
			}
		})
	}
}

func TestValidateNamesEveryWrongFieldAtOnce(t *testing.T) {
	t.Parallel()
	zero := receipt.Receipt{Revision: -1, OrderingKey: "\n", Key: receipt.Key{Scope: "s", Operation: "o", ID: "\xff"}}
	want := []string{
		"key.tenant must not be empty",
		"key.id must be valid UTF-8",
		"revision must not be negative, is -1",
		"requested kind must have 1 to 64 bytes, has 0",
		"outcome kind must have 1 to 64 bytes, has 0",
		"fingerprint must be set",
		"orderingkey must not hold control characters or Unicode noncharacters",
		"attempt must have 1 to 128 visible ASCII characters, has 0 bytes",
	}
	got := strings.Split(strings.TrimPrefix(zero.Validate().Error(), "receipt: invalid: "), "; ")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	original := full(t)
	clone := original.Clone()
	if diff := cmp.Diff(original, clone); diff != "" {
		t.Fatalf("clone (-want +got):\n%s", diff)
	}
	clone.Value[0], clone.Canonical[0] = 'X', 'X'
	if diff := cmp.Diff(full(t), original); diff != "" {
		t.Errorf("a change of the clone reached the original (-want +got):\n%s", diff)
	}
	nothing := least(t)
	if clone := nothing.Clone(); clone.Value != nil || clone.Canonical != nil {
		t.Error("nil became empty")
	}
}

func TestLogHoldsNoPayload(t *testing.T) {
	t.Parallel()
	r := full(t)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("settled", "receipt", r)
	slog.New(slog.NewTextHandler(&log, nil)).Info("settled", "receipt", r)
	for _, secret := range []string{"winner", "eyJ3", "canonical", "Y2Fu"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), `"tenant":"shop"`) || !strings.Contains(log.String(), r.Attempt) {
		t.Errorf("the log does not identify the receipt:\n%s", log.String())
	}
}

func TestIsolationText(t *testing.T) {
	t.Parallel()
	for level, want := range map[receipt.Isolation]string{
		receipt.ReadCommitted: "READ COMMITTED", receipt.Serializable: "SERIALIZABLE", 7: "unknown isolation level",
	} {
		if got := level.String(); got != want {
			t.Errorf("%d is %q, want %q", int(level), got, want)
		}
	}
}
