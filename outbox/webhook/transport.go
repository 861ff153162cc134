package webhook

import (
	"net/http"
	"time"
)

const maxAnswerHeader = 64 << 10

// transports holds one for endpoints that may have any address, and one for
// those that may not: with one pool of connections for both, an endpoint could
// use another's connection to where its own may not go.
type transports struct {
	anywhere *http.Transport
	public   *http.Transport
}

func newTransports(config *Config) *transports {
	anywhere, public := anyDialer(), publicDialer()
	if config.Dial != nil {
		anywhere, public = config.Dial, config.Dial
	}
	perHost := DefaultMaxInFlight
	for _, endpoint := range config.Endpoints {
		perHost = max(perHost, endpoint.MaxInFlight)
	}
	return &transports{newTransport(config, anywhere, perHost), newTransport(config, public, perHost)}
}

func (t *transports) of(endpoint *Endpoint) *http.Transport {
	if endpoint.AllowPrivateNetworks {
		return t.anywhere
	}
	return t.public
}

// newTransport takes no proxy from the environment: it would connect to
// addresses that the dialer never sees.
func newTransport(config *Config, dial dialFunc, perHost int) *http.Transport {
	transport := &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // An answer's length is what was sent.
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxAnswerHeader,
	}
	if config.TLS != nil {
		transport.TLSClientConfig = config.TLS.Clone()
	}
	return transport
}
