package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivateAddress is true where an endpoint's host resolved to an address
// that is not public, and the endpoint does not allow that. No connection was
// made.
var ErrPrivateAddress = errors.New("webhook: the address is not public")

const dialTimeout = 10 * time.Second

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// publicDialer returns a dialer that connects to public addresses alone. It
// looks at the address that it is about to connect to, after the name was
// resolved, so that a name which resolves to another address the second time
// gains nothing.
func publicDialer() dialFunc {
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		return checkPublic(address)
	}}
	return dialer.DialContext
}

func anyDialer() dialFunc {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext
}

func checkPublic(address string) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil || !public(parsed.Addr()) {
		return fmt.Errorf("%w: %s", ErrPrivateAddress, address)
	}
	return nil
}

// public reports whether an address is one of the Internet at large. Those that
// hold or lead to an IPv4 address (mapped, NAT64, 6to4, Teredo) are not: the
// address inside could be any.
func public(address netip.Addr) bool {
	if address.Zone() != "" || !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	if address.Is6() && !globalIPv6().Contains(address) {
		return false
	}
	for _, special := range specialPrefixes() {
		if special.Contains(address) {
			return false
		}
	}
	return true
}

// globalIPv6 is all that is assigned for global unicast.
func globalIPv6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// specialPrefixes lists what IANA's special-purpose registries keep from the
// Internet and package netip does not tell.
func specialPrefixes() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network
		netip.MustParsePrefix("100.64.0.0/10"),   // shared by carriers
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
		netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4
		netip.MustParsePrefix("3fff::/20"),       // documentation
	}
}
