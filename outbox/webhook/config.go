package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// Config configures [NewSender].
type Config struct {
	// Endpoints are the places to which events go, each with a name of its
	// own. There must be one or more.
	Endpoints []Endpoint

	// Route returns the name of the endpoint that gets an event. It must
	// neither change nor keep the event, and answer alike each time: an event
	// that goes elsewhere on a later attempt may overtake another of its
	// ordering key. An error, a panic, or a name that is not known keeps the
	// record and holds back its ordering key alone; events that nobody is to
	// hear of do not belong in the outbox. Nil is for one endpoint. It may be
	// called concurrently.
	Route func(e *event.Event) (endpoint string, err error)

	// Dial connects to endpoints in place of the sender's own dialer, such as
	// through a proxy that filters. It is then Dial's part to refuse
	// addresses that are not public, whatever AllowPrivateNetworks says. Nil
	// is the sender's dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// TLS is for connections to https endpoints, such as with the
	// certificate of a client. Nil is Go's default.
	TLS *tls.Config

	// Now is the clock of signatures and of a Retry-After date. Nil is
	// time.Now.
	Now func() time.Time
}

// Validate reports every field that breaks a rule, all at once.
func (c *Config) Validate() error {
	var broken []string
	if len(c.Endpoints) == 0 {
		broken = append(broken, "Endpoints must not be empty")
	}
	if c.Route == nil && len(c.Endpoints) > 1 {
		broken = append(broken, "Route must be set for more than one endpoint")
	}
	for i := range c.Endpoints {
		endpoint := &c.Endpoints[i]
		for _, rule := range endpoint.broken() {
			broken = append(broken, fmt.Sprintf("Endpoints[%d].%s", i, rule))
		}
		if slices.ContainsFunc(c.Endpoints[:i], func(earlier Endpoint) bool { return earlier.Name == endpoint.Name }) {
			broken = append(broken, fmt.Sprintf("Endpoints[%d].Name %q stands twice", i, endpoint.Name))
		}
	}
	return configError("Config", broken)
}

// configError returns an error that names every wrong field, or nil.
func configError(config string, broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("webhook: %s: %s", config, strings.Join(broken, "; "))
}
