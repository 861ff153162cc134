package settlehttp_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

var signedAt = time.Unix(1_772_366_400, 0)

func secret(fill byte) []byte { return bytes.Repeat([]byte{fill}, settlehttp.MinHMACSecret) }

func TestNewHMACNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: "A b", Secret: []byte("short")})
	refusesConfig(t, err, "settlehttp: HMACSignConfig: KeyID must have 1 to 64 bytes of a-z, 0-9, '.', '-' and '_'; Secret must have 32 bytes or more, has 5")
	_, err = settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{Tolerance: -1})
	refusesConfig(t, err, "settlehttp: HMACAuthenticateConfig: Keys must not be empty; Tolerance must not be negative, is -1ns")
	_, err = settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{Keys: []settlehttp.HMACKey{
		{ID: "k", Tenant: "a", Secret: secret(1)}, {ID: "k", Secret: secret(2)[1:]}, {ID: strings.Repeat("k", 65), Tenant: "a", Secret: secret(1)},
	}})
	refusesConfig(t, err, `settlehttp: HMACAuthenticateConfig: Keys[1].Secret must have 32 bytes or more, has 31; `+
		`Keys[1].Tenant must have 1 to 128 bytes, has 0; Keys[1].ID "k" stands twice; `+
		`Keys[2].ID must have 1 to 64 bytes of a-z, 0-9, '.', '-' and '_'`)
}

func authenticate(t *testing.T, now time.Time) func(*http.Request, []byte) (string, error) {
	t.Helper()
	hook, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{
		Keys: []settlehttp.HMACKey{
			{ID: "arena-1", Tenant: "arena", Secret: secret(1)},
			{ID: "arena-2", Tenant: "arena", Secret: secret(2)},
			{ID: "shop-1", Tenant: "shop", Secret: secret(3)},
		},
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return hook
}

// signedRequest returns a request with the header that a signer makes.
func signedRequest(t *testing.T, keyID string, key []byte, body string) *http.Request {
	t.Helper()
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: keyID, Secret: key, Now: func() time.Time { return signedAt }})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	if err := sign(r, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSignatureIsStable pins the header. The value was computed with
// openssl: printf 'v1\narena-1\n1772366400\n{}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101…
func TestSignatureIsStable(t *testing.T) {
	t.Parallel()
	got := signedRequest(t, "arena-1", secret(1), "{}").Header.Get(settlehttp.SignatureHeader)
	const want = "v1 arena-1 1772366400 a1ea2bea0bf6ff2cd7072bf7776fab28740b8b47a1a45b3a45669b24d8305ecb"
	if got != want {
		t.Errorf("header %q, want %q", got, want)
	}
}

func TestHMACAuthenticate(t *testing.T) {
	t.Parallel()
	set := func(change func(parts []string)) func(*http.Request) {
		return func(r *http.Request) {
			parts := strings.Split(r.Header.Get(settlehttp.SignatureHeader), " ")
			change(parts)
			r.Header.Set(settlehttp.SignatureHeader, strings.Join(parts, " "))
		}
	}
	for _, test := range []struct {
		name   string
		keyID  string
		secret []byte
		change func(*http.Request)
		body   string // as it arrives; "{}" was signed
		late   time.Duration
		want   string // the tenant, or a part of the error
	}{
		{"a tenant's key", "arena-1", secret(1), nil, "{}", 0, "arena"},
		{"its other key", "arena-2", secret(2), nil, "{}", 0, "arena"},
		{"another tenant's key", "shop-1", secret(3), nil, "{}", 0, "shop"},
		{"latest time", "arena-1", secret(1), nil, "{}", 5 * time.Minute, "arena"},
		{"earliest time", "arena-1", secret(1), nil, "{}", -5 * time.Minute, "arena"},
		{"too late", "arena-1", secret(1), nil, "{}", 301 * time.Second, "its time is 5m1s off, at most 5m0s is allowed"},
		{"too early", "arena-1", secret(1), nil, "{}", -301 * time.Second, "its time is 5m1s off"},
		{"another secret", "arena-1", secret(2), nil, "{}", 0, "does not fit the body"},
		{"another body", "arena-1", secret(1), nil, "{ }", 0, "does not fit the body"},
		{"no body", "arena-1", secret(1), nil, "", 0, "does not fit the body"},
		{"unknown key", "arena-3", secret(1), nil, "{}", 0, `key id "arena-3" is not known`},
		{"key id exchanged", "arena-1", secret(1), set(func(p []string) { p[1] = "shop-1" }), "{}", 0, "does not fit the body"},
		{"time exchanged", "arena-1", secret(1), set(func(p []string) { p[2] = "1772366401" }), "{}", 0, "does not fit the body"},
		{"mac cut short", "arena-1", secret(1), set(func(p []string) { p[3] = p[3][:32] }), "{}", 0, "does not fit the body"},
		{"no mac", "arena-1", secret(1), set(func(p []string) { p[3] = "" }), "{}", 0, "does not fit the body"},
		{"no hexadecimal", "arena-1", secret(1), set(func(p []string) { p[3] = "zz" }), "{}", 0, "does not fit the body"},
		{"another version", "arena-1", secret(1), set(func(p []string) { p[0] = "v2" }), "{}", 0, "must have the form v1"},
		{"fewer parts", "arena-1", secret(1), func(r *http.Request) { r.Header.Set(settlehttp.SignatureHeader, "v1 arena-1") }, "{}", 0, "must have the form v1"},
		{"no header", "arena-1", secret(1), func(r *http.Request) { r.Header.Del(settlehttp.SignatureHeader) }, "{}", 0, "stands 0 times"},
		{"two headers", "arena-1", secret(1), func(r *http.Request) { r.Header.Add(settlehttp.SignatureHeader, "v1 a 1 00") }, "{}", 0, "stands 2 times"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := signedRequest(t, test.keyID, test.secret, "{}")
			if test.change != nil {
				test.change(r)
			}
			tenant, err := authenticate(t, signedAt.Add(test.late))(r, []byte(test.body))
			if err == nil {
				if tenant != test.want {
					t.Errorf("tenant %q, want %q", tenant, test.want)
				}
				return
			}
			if tenant != "" || !errors.Is(err, settlehttp.ErrSignature) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("tenant %q, error %v, want %q", tenant, err, test.want)
			}
		})
	}
}

// TestHMACSecretsAreCopied changes the secrets after the hooks were made.
func TestHMACSecretsAreCopied(t *testing.T) {
	t.Parallel()
	mine, theirs := secret(1), secret(1)
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: "k", Secret: mine})
	if err != nil {
		t.Fatal(err)
	}
	check, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{Keys: []settlehttp.HMACKey{{ID: "k", Tenant: "arena", Secret: theirs}}})
	if err != nil {
		t.Fatal(err)
	}
	mine[0], theirs[1] = 9, 9
	rig := newRig(t, settlehttp.HandlerConfig{Authenticate: check})
	sender := newSender(t, rig.server.URL, func(c *settlehttp.SenderConfig) { c.Sign = sign })
	if got := send(t, sender, match("42")); got.Ack.Kind != outbox.AckReceipt {
		t.Errorf("answer %+v", got)
	}
}
