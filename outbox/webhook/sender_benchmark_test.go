package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/settleonce/settleonce/outbox/webhook"
)

// BenchmarkSend sends signed events over TLS to a server in this process, by
// one caller, one call at a time. The time is per event.
func BenchmarkSend(b *testing.B) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
	}))
	b.Cleanup(server.Close)
	for _, test := range []struct {
		mode  webhook.Mode
		batch int
	}{{webhook.Structured, 1}, {webhook.Binary, 1}, {webhook.Batched, 100}} {
		b.Run(fmt.Sprintf("mode %d, %d a call", test.mode, test.batch), func(b *testing.B) {
			sender := newSender(b, webhook.Config{
				Endpoints: []webhook.Endpoint{{
					Name: "shop", URL: server.URL, AllowPrivateNetworks: true, Mode: test.mode,
					Proof: webhook.ProofStatus, Keys: []webhook.SignatureKey{parseKey(b, secret)},
				}},
				TLS: trusting(server),
			})
			events := numbered(test.batch)
			b.ReportAllocs()
			for sent := 0; sent < b.N; sent += len(events) {
				for _, answer := range sender.Send(b.Context(), events) {
					if answer.Err != nil {
						b.Fatal(answer.Err)
					}
				}
			}
		})
	}
}
