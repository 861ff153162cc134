package acceptance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// closer settles and voids what a house accepted: the hold ends in the commit
// of the closing.
type closer struct {
	h      *house
	runner *settle.Runner[houseTx]
	ran    int
}

func newCloser(h *house) *closer {
	h.t.Helper()
	made, err := settle.New(settle.Config[houseTx]{Store: h.fake})
	if err != nil {
		h.t.Fatal(err)
	}
	return &closer{h: h, runner: made}
}

func (c *closer) close(id string, kind receipt.Kind, version string, facts any) (settle.Result[string], error) {
	return acceptance.Close(c.h.t.Context(), c.runner, acceptance.Closing{
		Tenant: "shop", Wallet: "ann", ID: id, Kind: kind, ResultVersion: version, Facts: facts,
	}, func(_ context.Context, a *settle.Attempt[houseTx]) (string, error) {
		c.ran++
		return "closed", a.Tx().Delete("bet/ann/" + id)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.accept(single(t, "b1", "10.00"))
	c := newCloser(h)
	first, err := c.close("b1", settle.Settled, "r1", map[string]string{"legs[0]": "won"})
	if err != nil || first.Value != "closed" || first.Receipt.Key != acceptance.ClosingKey("shop", "ann", "b1") {
		t.Fatalf("settled: %+v, %v", first, err)
	}
	for _, test := range []struct {
		name    string
		kind    receipt.Kind
		version string
		facts   any
		want    error
	}{
		{"the same again", settle.Settled, "r1", map[string]string{"legs[0]": "won"}, nil},
		{"void what is settled", settle.Voided, "r1", map[string]string{"legs[0]": "won"}, receipt.ErrKindMismatch},
		{"by another result", settle.Settled, "r2", map[string]string{"legs[0]": "won"}, receipt.ErrFingerprintMismatch},
		{"by other facts", settle.Settled, "r1", map[string]string{"legs[0]": "lost"}, receipt.ErrFingerprintMismatch},
		{"without facts", settle.Settled, "r1", nil, receipt.ErrFingerprintMismatch},
	} {
		got, err := c.close("b1", test.kind, test.version, test.facts)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || (err == nil && !got.Replayed) {
			t.Errorf("%s: %+v, %v, want %v", test.name, got, err, test.want)
		}
	}
	if c.ran != 1 || len(h.bets()) != 0 {
		t.Errorf("the effect ran %d times, bets %v", c.ran, h.bets())
	}
}

func TestCloseOfWhatWasNotAccepted(t *testing.T) {
	t.Parallel()
	h := newReferringHouse(t)
	h.accept(single(t, "pending", "10.00"))
	h.accept(single(t, "declined", "10.00"))
	h.resolve("declined", acceptance.Resolution{Ruling: acceptance.Decline, By: "tess"})
	c := newCloser(h)
	for _, id := range []string{"nowhere", "pending", "declined"} {
		for _, kind := range []receipt.Kind{settle.Settled, settle.Voided} {
			if _, err := c.close(id, kind, "r1", nil); !errors.Is(err, acceptance.ErrNotAccepted) {
				t.Errorf("%s of %q: %v, want ErrNotAccepted", kind, id, err)
			}
		}
	}
	if c.ran != 0 {
		t.Errorf("the effect ran %d times", c.ran)
	}
}

func TestClosingIsValidated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.accept(single(t, "b1", "10.00"))
	c := newCloser(h)
	_, err := c.close("b1", settle.Aborted, "", nil)
	invalid, ok := errors.AsType[*acceptance.InvalidError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := []acceptance.FieldError{
		{Field: "kind", Rule: `must be "settled" or "voided", is "aborted"`},
		{Field: "result_version", Rule: "must have 1 to 128 bytes, has 0"},
	}
	if diff := cmp.Diff(want, invalid.Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := c.close("b1", settle.Settled, "r1", make(chan int)); !errors.Is(err, fingerprint.ErrInvalidValue) {
		t.Errorf("facts without a fingerprint: %v", err)
	}
}
