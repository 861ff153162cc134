package webhook_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/outbox/webhook"
)

func encoded(prefix string, length int) string {
	return prefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xa5}, length))
}

func TestParseSignatureKey(t *testing.T) {
	t.Parallel()
	seed := bytes.Repeat([]byte{0xa5}, ed25519.SeedSize)
	pair := ed25519.NewKeyFromSeed(seed)
	wrongPair := append(bytes.Clone(seed), seed...)
	const form = "webhook: key must begin with whsec_, whsk_ or whpk_"
	for _, test := range []struct {
		name, text string
		want       string // the key's text, or the error's
	}{
		{"shortest secret", encoded("whsec_", 24), "whsec_…"},
		{"longest secret", encoded("whsec_", 64), "whsec_…"},
		{"short secret", encoded("whsec_", 23), "webhook: key whsec_… must have 24 to 64 bytes, has 23"},
		{"long secret", encoded("whsec_", 65), "webhook: key whsec_… must have 24 to 64 bytes, has 65"},
		{"no secret", "whsec_", "webhook: key whsec_… must have 24 to 64 bytes, has 0"},
		{"seed", encoded("whsk_", 32), "whsk_…"},
		{"pair", "whsk_" + base64.StdEncoding.EncodeToString(pair), "whsk_…"},
		{"pair of two halves", "whsk_" + base64.StdEncoding.EncodeToString(wrongPair), "webhook: key whsk_… has a public half that is not its private half's"},
		{"odd private key", encoded("whsk_", 33), "webhook: key whsk_… must have 32 or 64 bytes, has 33"},
		{"public key", encoded("whpk_", 32), "whpk_…"},
		{"short public key", encoded("whpk_", 31), "webhook: key whpk_… must have 32 bytes, has 31"},
		{"no prefix", encoded("", 32), form},
		{"other prefix", encoded("whxx_", 32), form},
		{"capitals", encoded("WHSEC_", 32), form},
		{"empty", "", form},
		{"no padding", strings.TrimRight(encoded("whsec_", 32), "="), "webhook: key whsec_… must be base64 with padding behind its prefix"},
		{"not base64", "whsec_hello world", "webhook: key whsec_… must be base64 with padding behind its prefix"},
		{"line end", encoded("whsec_", 32) + "\n", "webhook: key whsec_… must be base64 with padding behind its prefix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			key, err := webhook.ParseSignatureKey(test.text)
			got := key.String()
			if err != nil {
				got = err.Error()
				if !key.IsZero() {
					t.Error("a key came with the error")
				}
			}
			if got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestSecretsNeverShow prints all that holds a secret in every way that a log
// or a test could.
func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	const token = "token-of-the-customer"
	material := bytes.Repeat([]byte{0xa5}, 32)
	keys := []webhook.SignatureKey{parseKey(t, encoded("whsec_", 32)), parseKey(t, encoded("whsk_", 32))}
	endpoint := webhook.Endpoint{
		Name: "shop", URL: "https://hooks.example/" + token, Keys: keys, Header: http.Header{"Authorization": {token}},
	}
	config := webhook.Config{Endpoints: []webhook.Endpoint{endpoint}}
	sender := newSender(t, config)
	verifierConfig := webhook.VerifierConfig{Keys: []webhook.VerifierKey{{Tenant: "acme", Key: keys[0]}, {Tenant: "acme", Key: keys[1]}}}
	verifier, err := webhook.NewVerifier(verifierConfig)
	if err != nil {
		t.Fatal(err)
	}
	inner := struct{ hidden webhook.SignatureKey }{keys[0]}

	var shown bytes.Buffer
	logs := []*slog.Logger{slog.New(slog.NewJSONHandler(&shown, nil)), slog.New(slog.NewTextHandler(&shown, nil))}
	for _, value := range []any{
		keys[0], &keys[0], keys, inner, endpoint, &endpoint, config, &config,
		*sender, sender, verifierConfig, *verifier, verifier,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
	}
	encodable := struct{ Endpoints []webhook.Endpoint }{config.Endpoints}
	for _, log := range logs {
		log.Info("x", "key", keys[0], "endpoint", endpoint, "inner", inner, "endpoints", config.Endpoints, "encodable", encodable)
	}
	for _, value := range []any{keys, endpoint, &endpoint, encodable} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		shown.Write(text)
	}
	for _, secret := range []string{
		token, base64.StdEncoding.EncodeToString(material)[:20],
		"a5a5a5", "A5A5A5", "165 165 165", "0xa5, 0xa5", fmt.Sprintf("%x", token), fmt.Sprintf("%X", token),
	} {
		if at := strings.Index(shown.String(), secret); at >= 0 {
			t.Errorf("%q shows in …%q", secret, shown.String()[max(0, at-60):at+len(secret)])
		}
	}
}

func FuzzParseSignatureKey(f *testing.F) {
	f.Add(encoded("whsec_", 24))
	f.Add(encoded("whsk_", 32))
	f.Add(encoded("whsk_", 64))
	f.Add(encoded("whpk_", 32))
	f.Add("whsec_ß")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := webhook.ParseSignatureKey(text)
		if err != nil {
			if len(text) > 12 && strings.Contains(err.Error(), text[6:]) {
				t.Errorf("the error shows the key: %v", err)
			}
			return
		}
		again, err := webhook.ParseSignatureKey(text)
		if err != nil || !again.Equal(key) {
			t.Errorf("read twice, %v: two keys", err)
		}
	})
}
