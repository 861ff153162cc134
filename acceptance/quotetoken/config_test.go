package quotetoken_test

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

func wantText(t testing.TB, err error, want string) {
	t.Helper()
	got := "no error"
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestNewNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := quotetoken.NewSigner(quotetoken.SignerConfig{})
	wantText(t, err, "quotetoken: SignerConfig: KeyID must have 1 to 64 bytes of a-z, 0-9, '-' and '_'; "+
		"Issuer must have 1 to 128 bytes, has 0; PrivateKey must have 64 bytes, has 0")
	torn := append(privateKey(1)[:ed25519.SeedSize:ed25519.SeedSize], publicKey(2)...)
	_, err = quotetoken.NewSigner(quotetoken.SignerConfig{KeyID: "a.b", Issuer: "\xff", PrivateKey: torn})
	wantText(t, err, "quotetoken: SignerConfig: KeyID must have 1 to 64 bytes of a-z, 0-9, '-' and '_'; "+
		"Issuer must be valid UTF-8; PrivateKey must end in the public key of its seed")

	_, err = quotetoken.NewVerifier(quotetoken.VerifierConfig{Skew: -1})
	wantText(t, err, "quotetoken: VerifierConfig: Keys must not be empty; MaxStaleness must be positive, is 0s; Skew must not be negative, is -1ns")
	_, err = quotetoken.NewVerifier(quotetoken.VerifierConfig{MaxStaleness: 1, Keys: []quotetoken.PublicKey{
		{ID: "k", Issuer: "a", Tenants: []string{"t"}, Key: publicKey(1)},
		{ID: "k", Issuer: "a", Tenants: []string{"t", "", strings.Repeat("t", 129)}, Key: publicKey(2)[1:]},
		{ID: strings.Repeat("k", 65), Issuer: strings.Repeat("i", 129), Key: publicKey(3)},
	}})
	wantText(t, err, `quotetoken: VerifierConfig: Keys[1].ID "k" stands twice; `+
		`Keys[1].Tenants[1] must have 1 to 128 bytes, has 0; Keys[1].Tenants[2] must have 1 to 128 bytes, has 129; `+
		`Keys[1].Key must have 32 bytes, has 31; `+
		`Keys[2].ID must have 1 to 64 bytes of a-z, 0-9, '-' and '_'; Keys[2].Issuer must have 1 to 128 bytes, has 129; `+
		`Keys[2].Tenants must not be empty`)
}

func TestSignNamesEveryWrongClaim(t *testing.T) {
	t.Parallel()
	_, err := signer(t).Sign(quotetoken.Claims{})
	if !errors.Is(err, quotetoken.ErrClaims) {
		t.Errorf("error %v is not ErrClaims", err)
	}
	wantText(t, err, "quotetoken: invalid claims: Tenant must have 1 to 128 bytes, has 0; "+
		"Event must have 1 to 128 bytes, has 0; Market must have 1 to 128 bytes, has 0; "+
		"Selection must have 1 to 128 bytes, has 0; Version must have 1 to 128 bytes, has 0; "+
		"Odds must be set; Status must be open, suspended or closed; IssuedAt must be set; MaxStaleness must be positive, is 0s")

	long, far := strings.Repeat("x", acceptance.MaxText+1), time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	const range64 = "IssuedAt and ExpiresAt must be in the years 1678 to 2261"
	for _, test := range []struct {
		want   string
		change func(*quotetoken.Claims)
	}{
		{"Tenant must have 1 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Tenant = long }},
		{"Event must have 1 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Event = long }},
		{"Market must have 1 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Market = long }},
		{"Selection must have 1 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Selection = long }},
		{"Line must be valid UTF-8", func(c *quotetoken.Claims) { c.Line = "\xff" }},
		{"Selection must not hold control characters", func(c *quotetoken.Claims) { c.Selection = "over\n" }},
		{"Version must have 1 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Version = long }},
		{"Material must have 0 to 128 bytes, has 129", func(c *quotetoken.Claims) { c.Material = long }},
		{"Odds must be set", func(c *quotetoken.Claims) { c.Odds = money.Odds{} }},
		{"Status must be open, suspended or closed", func(c *quotetoken.Claims) { c.Status = "ajar" }},
		{"CutOff must be in the years 1678 to 2261", func(c *quotetoken.Claims) { c.CutOff = far }},
		{range64, func(c *quotetoken.Claims) { c.ExpiresAt = far }},
		{range64, func(c *quotetoken.Claims) { c.IssuedAt = far.AddDate(-700, 0, 0) }},
		{"ExpiresAt must be after IssuedAt", func(c *quotetoken.Claims) { c.ExpiresAt = c.IssuedAt }},
		{"MaxStaleness must be positive, is -1ns", func(c *quotetoken.Claims) { c.MaxStaleness = -1 }},
	} {
		stated := claims(t)
		test.change(&stated)
		token, err := signer(t).Sign(stated)
		wantText(t, err, "quotetoken: invalid claims: "+test.want)
		if token != "" {
			t.Errorf("a token beside the error %v", err)
		}
	}
}

// What a Config holds is copied: a caller who wipes his key breaks nothing.
func TestNewCopiesKeys(t *testing.T) {
	t.Parallel()
	private, public, tenants := privateKey(1), slices.Clone(publicKey(1)), []string{tenant}
	signer := newSigner(t, quotetoken.SignerConfig{KeyID: keyID, Issuer: issuer, PrivateKey: private})
	verifier := newVerifier(t, quotetoken.PublicKey{ID: keyID, Issuer: issuer, Tenants: tenants, Key: public})
	clear(private)
	clear(public)
	clear(tenants)
	if _, err := verifier.Verify(sign(t, signer, claims(t)), leg(), tenant, issuedAt); err != nil {
		t.Error(err)
	}
}
