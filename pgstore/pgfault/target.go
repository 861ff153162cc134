package pgfault

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// target is a server to connect to.
type target struct{ network, address string }

// parseTarget takes the first host of a connection string.
func parseTarget(dsn string) (target, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return target{}, fmt.Errorf("pgfault: Target: %w", err)
	}
	if !allowsPlain(cfg) {
		return target{}, errors.New("pgfault: Target: sslmode must allow a connection without TLS")
	}
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	return target{network, address}, nil
}

func allowsPlain(cfg *pgconn.Config) bool {
	if cfg.TLSConfig == nil {
		return true
	}
	for _, fallback := range cfg.Fallbacks {
		if fallback.TLSConfig == nil && fallback.Host == cfg.Host {
			return true
		}
	}
	return false
}

// through returns dsn with the proxy's address instead of its own.
func through(dsn string, proxy net.Addr) (string, error) {
	host, port, err := hostAndPort(proxy)
	if err != nil {
		return "", err
	}
	if !strings.Contains(dsn, "://") {
		// The last one of each counts.
		return fmt.Sprintf("%s host='%s' port=%s sslmode=disable", dsn, quote(host), port), nil
	}
	address, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("pgfault: Target: %w", err)
	}
	query := address.Query()
	query.Set("host", host)
	query.Set("port", port)
	query.Set("sslmode", "disable")
	address.Host, address.RawQuery = "", query.Encode()
	return address.String(), nil
}

// hostAndPort returns a connection string's host and port for an address: a
// Unix socket's host is its directory.
func hostAndPort(address net.Addr) (host, port string, err error) {
	if address.Network() == "unix" {
		directory, err := filepath.Abs(filepath.Dir(address.String()))
		if err != nil {
			return "", "", fmt.Errorf("pgfault: SocketDir: %w", err)
		}
		return directory, socketPort, nil
	}
	host, port, err = net.SplitHostPort(address.String())
	if err != nil {
		return "", "", fmt.Errorf("pgfault: %w", err)
	}
	return host, port, nil
}

func quote(value string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)
}
