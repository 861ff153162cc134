package webhook_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/settleonce/settleonce/outbox/webhook"
)

// TestPrivateAddresses has a server on a loopback address, which answers as
// soon as anybody reaches it.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(newReceiver(t, webhook.ProofStatus).server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			end := newReceiver(t, webhook.ProofStatus)
			sender := end.sender(t, webhook.Structured, func(e *webhook.Endpoint) {
				e.URL, e.AllowPrivateNetworks = "https://"+host+":"+port, false
			})
			answer := sender.Send(t.Context(), numbered(1))[0]
			// A name that some resolvers take for an address is refused, or
			// not found.
			if !errors.Is(answer.Err, webhook.ErrPrivateAddress) && (host != "127.1" || answer.Err == nil) {
				t.Errorf("error %v, want ErrPrivateAddress", answer.Err)
			}
		})
	}
}

// TestNoSharedConnections shows that an endpoint that may not go there does not
// use the open connection of one that may.
func TestNoSharedConnections(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	ours, customers := end.endpoint(t, webhook.Structured), end.endpoint(t, webhook.Structured)
	ours.Name, customers.Name, customers.AllowPrivateNetworks = "a", "b", false
	sender := newSender(t, webhook.Config{
		Endpoints: []webhook.Endpoint{ours, customers}, TLS: end.trust(), Route: bySubject,
	})
	if answer := sender.Send(t.Context(), addressed("a"))[0]; answer.Err != nil {
		t.Fatal(answer.Err)
	}
	if answer := sender.Send(t.Context(), addressed("b"))[0]; !errors.Is(answer.Err, webhook.ErrPrivateAddress) {
		t.Errorf("error %v, want ErrPrivateAddress", answer.Err)
	}
}

// TestDial has connections of the caller's making.
func TestDial(t *testing.T) {
	t.Parallel()
	end := newReceiver(t, webhook.ProofStatus)
	endpoint := end.endpoint(t, webhook.Structured)
	endpoint.URL, endpoint.AllowPrivateNetworks = "https://example.com", false
	dialled := make(chan string, 1)
	sender := newSender(t, webhook.Config{
		Endpoints: []webhook.Endpoint{endpoint}, TLS: end.trust(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled <- address
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, end.server.Listener.Addr().String())
		},
	})
	if answer := sender.Send(t.Context(), numbered(1))[0]; answer.Err != nil {
		t.Fatal(answer.Err)
	}
	if got := <-dialled; got != "example.com:443" {
		t.Errorf("dialled %s", got)
	}
}

// TestNoProxy shows that a proxy of the environment is not used: it would
// connect to where the sender may not.
func TestNoProxy(t *testing.T) {
	proxy, end := newReceiver(t, webhook.ProofStatus), newReceiver(t, webhook.ProofStatus)
	t.Setenv("HTTPS_PROXY", proxy.server.URL)
	_, port, err := net.SplitHostPort(end.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	endpoint := end.endpoint(t, webhook.Structured)
	endpoint.URL = "https://0.0.0.0:" + port // This host, by an address for which a proxy would be asked.
	trust := end.trust().Clone()
	trust.ServerName = "example.com"
	sender := newSender(t, webhook.Config{Endpoints: []webhook.Endpoint{endpoint}, TLS: trust})
	if answer := sender.Send(t.Context(), numbered(1))[0]; answer.Err != nil || len(end.seen()) != 1 {
		t.Errorf("error %v, %d requests", answer.Err, len(end.seen()))
	}
}
