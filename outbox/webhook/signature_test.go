package webhook_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/webhook"
)

// The vectors of the reference libraries of Standard Webhooks.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorPrivate   = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk="
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorSeconds   = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSymmetric = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorPair      = "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag=="
)

func at(seconds int64) func() time.Time {
	return func() time.Time { return time.Unix(seconds, 0) }
}

// vectorPublic is the public half of vectorPrivate.
func vectorPublic(tb testing.TB) webhook.SignatureKey {
	tb.Helper()
	seed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(vectorPrivate, "whsk_"))
	if err != nil {
		tb.Fatal(err)
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return parseKey(tb, "whpk_"+base64.StdEncoding.EncodeToString(public))
}

// TestSignatureVectors signs as the reference libraries do: binary mode puts
// the vectors' body on the wire.
func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	endpoint := end.endpoint(t, webhook.Binary)
	endpoint.Keys = []webhook.SignatureKey{parseKey(t, vectorSecret), parseKey(t, vectorPrivate), parseKey(t, secret)}
	end.setAnswer(func(http.ResponseWriter, *http.Request) {})
	sender := newSender(t, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: end.trust(), Now: at(vectorSeconds)})
	e := numbered(1)[0]
	e.ID, e.Data = vectorID, []byte(vectorBody)
	end.setClock(at(vectorSeconds))
	sender.Send(t.Context(), []event.Event{e})

	header := end.seen()[0].header
	if got := header.Get("webhook-id"); got != vectorID {
		t.Errorf("webhook-id %q, want %q", got, vectorID)
	}
	if got, want := header.Get("webhook-timestamp"), strconv.Itoa(vectorSeconds); got != want {
		t.Errorf("webhook-timestamp %q, want %q", got, want)
	}
	signatures := strings.Split(header.Get("webhook-signature"), " ")
	if len(signatures) != 3 || signatures[0] != vectorSymmetric || signatures[1] != vectorPair {
		t.Errorf("signatures %q\nwant %q, %q and one more", signatures, vectorSymmetric, vectorPair)
	}
}

// vectorVerifier knows the vectors' keys, and another one, five minutes after
// they were signed.
func vectorVerifier(tb testing.TB) *webhook.Verifier {
	tb.Helper()
	verifier, err := webhook.NewVerifier(webhook.VerifierConfig{
		Keys: []webhook.VerifierKey{
			{Tenant: "old", Key: parseKey(tb, secret)},
			{Tenant: "acme", Key: parseKey(tb, vectorSecret)},
			{Tenant: "pair", Key: vectorPublic(tb)},
		},
		Now: at(vectorSeconds + 300),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return verifier
}

// vectorRequest is signed with the shared secret, but for what change does to
// its headers.
func vectorRequest(change func(http.Header)) *http.Request {
	r := &http.Request{Header: http.Header{}}
	r.Header.Set("webhook-id", vectorID)
	r.Header.Set("webhook-timestamp", strconv.Itoa(vectorSeconds))
	r.Header.Set("webhook-signature", vectorSymmetric)
	if change != nil {
		change(r.Header)
	}
	return r
}

func set(name, value string) func(http.Header) {
	return func(h http.Header) { h.Set(name, value) }
}

func TestVerifierNamesTheTenant(t *testing.T) {
	t.Parallel()
	verifier := vectorVerifier(t)
	for _, test := range []struct {
		name   string
		change func(http.Header)
		want   string
	}{
		{"shared secret", nil, "acme"},
		{"pair", set("webhook-signature", vectorPair), "pair"},
		{"one of several", set("webhook-signature", "v1,AAAA v2,x "+vectorPair+" v1a,AAAA"), "pair"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := verifier.Authenticate(vectorRequest(test.change), []byte(vectorBody))
			if err != nil || got != test.want {
				t.Errorf("tenant %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// wantRefused says why a request is refused, past "webhook: signature: ".
func wantRefused(t *testing.T, verifier *webhook.Verifier, r *http.Request, body, want string) {
	t.Helper()
	tenant, err := verifier.Authenticate(r, []byte(body))
	if tenant != "" || !errors.Is(err, webhook.ErrSignature) || err.Error() != "webhook: signature: "+want {
		t.Errorf("tenant %q, %v\nwant ErrSignature: %s", tenant, err, want)
	}
}

func TestVerifierRefusesWhatNobodySigned(t *testing.T) {
	t.Parallel()
	verifier := vectorVerifier(t)
	for _, test := range []struct {
		name   string
		change func(http.Header)
		body   string
	}{
		{"other body", nil, vectorBody + " "},
		{"other id", set("webhook-id", vectorID+"x"), vectorBody},
		{"other time", set("webhook-timestamp", "1614265331"), vectorBody},
		{"pair's signature as shared", set("webhook-signature", "v1"+strings.TrimPrefix(vectorPair, "v1a")), vectorBody},
		{"shared signature as pair's", set("webhook-signature", "v1a"+strings.TrimPrefix(vectorSymmetric, "v1")), vectorBody},
		{"unknown versions alone", set("webhook-signature", "v2,AAAA v3,"), vectorBody},
		{"empty signature", set("webhook-signature", "v1,"), vectorBody},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, verifier, vectorRequest(test.change), test.body, "none fits the request under any known key")
		})
	}
}

func TestVerifierRefusesWrongHeaders(t *testing.T) {
	t.Parallel()
	verifier := vectorVerifier(t)
	const form = "Webhook-Signature: it must have entries of the form version,base64 with one space between them"
	const noID = "Webhook-Id must have 1 to 8192 printable ASCII characters without a full stop"
	const noTime = "Webhook-Timestamp must be a number of seconds"
	for _, test := range []struct {
		name   string
		change func(http.Header)
		want   string
	}{
		{"no header value", set("webhook-signature", ""), form},
		{"two spaces", set("webhook-signature", "v2,AAAA  "+vectorSymmetric), form},
		{"no version", set("webhook-signature", ",AAAA"), form},
		{"not base64", set("webhook-signature", "v1,*"), "Webhook-Signature: it has a signature that is not base64 with padding"},
		{"many", set("webhook-signature", strings.Repeat("v2,A ", 16)+vectorSymmetric), "Webhook-Signature: it must have at most 16 signatures, has 17"},
		{"long", set("webhook-signature", "v2,"+strings.Repeat("A", 4096)), "Webhook-Signature: it must have at most 4096 bytes, has 4099"},
		{"no id", func(h http.Header) { h.Del("webhook-id") }, "Webhook-Id must stand once, stands 0 times"},
		{"no time", func(h http.Header) { h.Del("webhook-timestamp") }, "Webhook-Timestamp must stand once, stands 0 times"},
		{"no signature", func(h http.Header) { h.Del("webhook-signature") }, "Webhook-Signature must stand once, stands 0 times"},
		{"two signature headers", func(h http.Header) { h.Add("webhook-signature", vectorPair) }, "Webhook-Signature must stand once, stands 2 times"},
		{"full stop in the id", set("webhook-id", "msg.1"), noID},
		{"empty id", set("webhook-id", ""), noID},
		{"space in the id", set("webhook-id", "msg 1"), noID},
		{"time with a sign", set("webhook-timestamp", "+1614265330"), noTime},
		{"time with a zero", set("webhook-timestamp", "01614265330"), noTime},
		{"time as a text", set("webhook-timestamp", "now"), noTime},
		{"time too old", set("webhook-timestamp", "1614265329"), "Webhook-Timestamp is 5m1s off, at most 5m0s is allowed"},
		{"time ahead", set("webhook-timestamp", "1614265931"), "Webhook-Timestamp is 5m1s off, at most 5m0s is allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, verifier, vectorRequest(test.change), vectorBody, "header "+test.want)
		})
	}
}

func TestVerifierConfig(t *testing.T) {
	t.Parallel()
	private := parseKey(t, vectorPrivate)
	for _, test := range []struct {
		name   string
		config webhook.VerifierConfig
		want   string
	}{
		{"empty", webhook.VerifierConfig{Tolerance: -1}, "webhook: VerifierConfig: Keys must not be empty; Tolerance must not be negative, is -1ns"},
		{"no key and no tenant", webhook.VerifierConfig{Keys: []webhook.VerifierKey{{}}}, "webhook: VerifierConfig: Keys[0].Tenant must have 1 to 128 bytes, has 0; Keys[0].Key must be set"},
		{"two tenants of one pair", webhook.VerifierConfig{Keys: []webhook.VerifierKey{{"a", private}, {"b", vectorPublic(t)}}}, "webhook: VerifierConfig: Keys[1].Key must not be that of Keys[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantError(t, second(webhook.NewVerifier(test.config)), test.want)
		})
	}
}

func FuzzVerifier(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorSymmetric, []byte(vectorBody))
	f.Add(vectorID, "1614265330", vectorPair+" v1,AAAA", []byte(vectorBody))
	f.Add("a.b", "-1", "v1,, ,", []byte(nil))
	verifier, err := webhook.NewVerifier(webhook.VerifierConfig{
		Keys: []webhook.VerifierKey{{Tenant: "acme", Key: parseKey(f, vectorSecret)}, {Tenant: "pair", Key: vectorPublic(f)}},
		Now:  at(vectorSeconds),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, seconds, signature string, body []byte) {
		r := &http.Request{Header: http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {seconds}, "Webhook-Signature": {signature}}}
		tenant, err := verifier.Authenticate(r, body)
		genuine := id == vectorID && seconds == strconv.Itoa(vectorSeconds) && string(body) == vectorBody
		if err == nil != (tenant != "") || err == nil && !genuine {
			t.Errorf("tenant %q, %v for a forged request", tenant, err)
		}
	})
}
