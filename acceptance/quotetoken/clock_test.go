package quotetoken_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

func TestVerifyJudgesByTheGivenClock(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		name            string
		lifetime, stale time.Duration // of the token
		after           time.Duration // from issued-at to now
		want            error
	}{
		{"at once", lifetime, ownStaleness, 0, nil},
		{"the last instant of its own staleness", lifetime, ownStaleness, ownStaleness - 1, nil},
		{"its own staleness is over", lifetime, ownStaleness, ownStaleness, quotetoken.ErrStale},
		{"the last instant of the verifier's staleness", lifetime, year, staleness - 1, nil},
		{"the verifier's staleness is over", lifetime, year, staleness, quotetoken.ErrStale},
		{"the last instant before its end", time.Second, ownStaleness, time.Second - 1, nil},
		{"its end", time.Second, ownStaleness, time.Second, quotetoken.ErrExpired},
		{"behind its end", time.Second, ownStaleness, time.Second + 1, quotetoken.ErrExpired},
		{"an end before stale", ownStaleness, ownStaleness, ownStaleness, quotetoken.ErrExpired},
		{"years later", lifetime, year, 200 * year, quotetoken.ErrExpired},
		{"from the future within skew", lifetime, ownStaleness, -skew, nil},
		{"from the future beyond skew", lifetime, ownStaleness, -skew - 1, quotetoken.ErrInvalid},
		{"from the far future", lifetime, ownStaleness, -200 * year, quotetoken.ErrInvalid},
		{"ended by the skew alone", 1, ownStaleness, 0, nil},
	} {
		stated := claims(t)
		stated.ExpiresAt, stated.MaxStaleness = issuedAt.Add(test.lifetime), test.stale
		now := issuedAt.Add(test.after).In(time.FixedZone("west", -7*3600))
		quote, err := verifier(t).Verify(sign(t, signer(t), stated), leg(), tenant, now)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: error is %v, want %v", test.name, err, test.want)
		}
		if (err == nil) != (quote.Version == stated.Version) {
			t.Errorf("%s: quote %+v beside error %v", test.name, quote, err)
		}
		for _, other := range []error{quotetoken.ErrInvalid, quotetoken.ErrExpired, quotetoken.ErrStale} {
			if errors.Is(err, other) != errors.Is(test.want, other) {
				t.Errorf("%s: error is %v, want %v and nothing else", test.name, err, test.want)
			}
		}
	}
}

func TestSkewDefault(t *testing.T) {
	t.Parallel()
	verifier, err := quotetoken.NewVerifier(quotetoken.VerifierConfig{
		Keys:         []quotetoken.PublicKey{{ID: keyID, Issuer: issuer, Tenants: []string{tenant}, Key: publicKey(1)}},
		MaxStaleness: staleness,
	})
	if err != nil {
		t.Fatal(err)
	}
	token := sign(t, signer(t), claims(t))
	if _, err := verifier.Verify(token, leg(), tenant, issuedAt.Add(-2*time.Second)); err != nil {
		t.Error(err)
	}
	quote, err := verifier.Verify(token, leg(), tenant, issuedAt.Add(-2*time.Second-1))
	wantInvalid(t, "beyond", quote, err)
}

// A caller's mistake must not look like a fault of the token: it would reject
// bets, and for good.
func TestVerifyTellsTheCallersMistakes(t *testing.T) {
	t.Parallel()
	token := sign(t, signer(t), claims(t))
	for name, call := range map[string]func() (acceptance.Quote, error){
		"no tenant": func() (acceptance.Quote, error) { return verifier(t).Verify(token, leg(), "", issuedAt) },
		"no clock":  func() (acceptance.Quote, error) { return verifier(t).Verify(token, leg(), tenant, time.Time{}) },
		"no clock, and no token": func() (acceptance.Quote, error) {
			return verifier(t).Verify("", leg(), tenant, time.Time{})
		},
	} {
		_, err := call()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if code, refused := quotetoken.Refusal(err); refused {
			t.Errorf("%s: %v rejects with %q", name, err, code)
		}
	}
}
