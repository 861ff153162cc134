package quotetoken_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

// issuedAt is when the tokens of the tests say that they were issued.
var issuedAt = time.Date(2026, 5, 9, 14, 30, 0, 123_456_789, time.UTC)

const (
	keyID, issuer, tenant = "feed-1", "feed.example", "shop"

	ownStaleness = 5 * time.Second // of the token
	staleness    = 8 * time.Second // of the verifier
	lifetime     = 30 * time.Second
	skew         = 500 * time.Millisecond
)

// privateKey returns a key that is the same in every run.
func privateKey(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, ed25519.SeedSize))
}

func publicKey(fill byte) ed25519.PublicKey {
	return ed25519.PublicKey(privateKey(fill)[ed25519.SeedSize:])
}

func odds(t testing.TB, text string) money.Odds {
	t.Helper()
	parsed, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// leg is what the tokens of the tests are for.
func leg() acceptance.Leg {
	return acceptance.Leg{Event: "final", Market: "total", Selection: "over", Line: "2.5", QuoteVersion: "t0"}
}

func claims(t testing.TB) quotetoken.Claims {
	t.Helper()
	return quotetoken.Claims{
		Tenant: tenant, Event: "final", Market: "total", Selection: "over", Line: "2.5",
		Version: "t7", Material: "m3", Odds: odds(t, "1.85"), Status: acceptance.MarketOpen,
		CutOff:   issuedAt.Add(time.Hour),
		IssuedAt: issuedAt, ExpiresAt: issuedAt.Add(lifetime), MaxStaleness: ownStaleness,
	}
}

func newSigner(t testing.TB, config quotetoken.SignerConfig) *quotetoken.Signer {
	t.Helper()
	signer, err := quotetoken.NewSigner(config)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// signer returns the one whose key is registered first.
func signer(t testing.TB) *quotetoken.Signer {
	t.Helper()
	return newSigner(t, quotetoken.SignerConfig{KeyID: keyID, Issuer: issuer, PrivateKey: privateKey(1)})
}

func sign(t testing.TB, with *quotetoken.Signer, claims quotetoken.Claims) string {
	t.Helper()
	token, err := with.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func newVerifier(t testing.TB, keys ...quotetoken.PublicKey) *quotetoken.Verifier {
	t.Helper()
	verifier, err := quotetoken.NewVerifier(quotetoken.VerifierConfig{Keys: keys, MaxStaleness: staleness, Skew: skew})
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

// verifier knows two keys of the feed and one of another owner.
func verifier(t testing.TB) *quotetoken.Verifier {
	t.Helper()
	return newVerifier(t,
		quotetoken.PublicKey{ID: keyID, Issuer: issuer, Tenants: []string{"arena", tenant}, Key: publicKey(1)},
		quotetoken.PublicKey{ID: "feed-2", Issuer: issuer, Tenants: []string{tenant}, Key: publicKey(2)},
		quotetoken.PublicKey{ID: "track", Issuer: "track.example", Tenants: []string{"arena"}, Key: publicKey(3)},
	)
}

// handmade puts a token together as the package comment says, from whatever
// the parts of its payload are, and with a signature that fits.
func handmade(key ed25519.PrivateKey, parts ...string) string {
	var payload []byte
	for _, part := range parts {
		payload = append(payload, byte(len(part)>>8), byte(len(part)))
		payload = append(payload, part...)
	}
	return handsigned(key, "q1."+keyID+"."+base64.RawURLEncoding.EncodeToString(payload))
}

func handsigned(key ed25519.PrivateKey, signed string) string {
	signature := ed25519.Sign(key, []byte("settleonce quote token\n"+signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// parts are those of the payload of [claims].
func parts() []string {
	return []string{
		issuer, tenant, "final", "total", "over", "2.5", "t7", "m3",
		"1.85", "open", "1778340600123456789", "1778337000123456789", "1778337030123456789", "5000000000",
	}
}

// wantInvalid fails unless the error says that a token proves nothing.
func wantInvalid(t testing.TB, name string, quote acceptance.Quote, err error) {
	t.Helper()
	if !errors.Is(err, quotetoken.ErrInvalid) {
		t.Errorf("%s: error is %v, want ErrInvalid", name, err)
	}
	if diff := cmp.Diff(acceptance.Quote{}, quote); diff != "" {
		t.Errorf("%s: a quote beside the error (-want +got):\n%s", name, diff)
	}
	if code, refused := quotetoken.Refusal(err); code != acceptance.CodeQuoteProofInvalid || !refused {
		t.Errorf("%s: Refusal is %q, %t", name, code, refused)
	}
}

// segments takes a token apart at its dots.
func segments(token string) []string { return strings.Split(token, ".") }
