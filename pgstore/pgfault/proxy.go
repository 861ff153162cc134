package pgfault

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
)

const (
	socketPort = "5432"
	socketName = ".s.PGSQL." + socketPort
)

// Config says what a proxy stands in front of.
type Config struct {
	// Target is the connection string of the server, in either form that pgx
	// takes. Only its first host counts. It must be set.
	Target string

	// SocketDir is an existing directory, in which the proxy listens on the
	// Unix socket ".s.PGSQL.5432". Empty: it listens on a TCP port of
	// 127.0.0.1 that the system chooses.
	SocketDir string
}

// Proxy forwards connections to a server and breaks those that meet an armed
// [Trap]. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	working  sync.WaitGroup
	closing  chan struct{} // closed by Close

	mu      sync.Mutex
	dsn     string // through the proxy
	target  target
	traps   []*Trap             // armed, the oldest first
	links   map[*link]struct{}  // open
	severed map[string]struct{} // cancellation keys of connections that were cut
	closed  bool
}

// Listen starts a proxy. It does not connect to the server until a client
// comes.
func Listen(cfg Config) (*Proxy, error) {
	if cfg.Target == "" {
		return nil, errors.New("pgfault: Target: must be set")
	}
	network, address := "tcp", "127.0.0.1:0"
	if cfg.SocketDir != "" {
		network, address = "unix", filepath.Join(cfg.SocketDir, socketName)
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("pgfault: listen: %w", err)
	}
	p := &Proxy{
		listener: listener,
		closing:  make(chan struct{}),
		links:    map[*link]struct{}{},
		severed:  map[string]struct{}{},
	}
	if err := p.SetTarget(cfg.Target); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.working.Go(p.accept)
	return p, nil
}

// DSN returns the target's connection string with the proxy's address in place
// of the server's, and without TLS.
func (p *Proxy) DSN() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dsn
}

// SetTarget sends new connections to another server, as after a failover. Those
// that are open stay where they are. An error changes nothing.
func (p *Proxy) SetTarget(dsn string) error {
	parsed, err := parseTarget(dsn)
	if err != nil {
		return err
	}
	rewritten, err := through(dsn, p.listener.Addr())
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dsn, p.target = rewritten, parsed
	return nil
}

// Arm sets a trap for the next COMMIT that no earlier trap takes, on any
// connection. One trap is sprung once.
func (p *Proxy) Arm(fault Fault) (*Trap, error) {
	if err := fault.check(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("pgfault: the proxy is closed")
	}
	trap := newTrap(p, fault)
	p.traps = append(p.traps, trap)
	return trap, nil
}

// Close cuts every connection, disarms every trap, rolls back a transaction
// whose COMMIT is still held, and waits until nothing of the proxy runs. A
// second call waits too.
func (p *Proxy) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	traps := p.traps
	p.traps = nil
	for open := range p.links {
		open.cut()
	}
	p.mu.Unlock()

	var err error
	if first {
		close(p.closing)
		err = p.listener.Close()
	}
	for _, trap := range traps {
		trap.finish(Report{}, ErrNotSprung)
	}
	p.working.Wait()
	if err != nil {
		return fmt.Errorf("pgfault: %w", err)
	}
	return nil
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			// Closed, or unable to go on: then clients had better find nobody.
			_ = p.listener.Close()
			return
		}
		p.working.Go(func() { p.serve(client) })
	}
}

// take returns the oldest armed trap, which is the caller's now, or nil.
func (p *Proxy) take() *Trap {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.traps) == 0 {
		return nil
	}
	trap := p.traps[0]
	p.traps = p.traps[1:]
	return trap
}

// remove reports whether the trap was still armed, and disarms it.
func (p *Proxy) remove(trap *Trap) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.traps, trap)
	if at < 0 {
		return false
	}
	p.traps = slices.Delete(p.traps, at, at+1)
	return true
}

// enter registers a connection, unless the proxy is closed.
func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.links[l] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// sever has later requests to cancel the connection's statement dropped.
func (p *Proxy) sever(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.severed[key] = struct{}{}
}

func (p *Proxy) isSevered(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, is := p.severed[key]
	return is
}

func (p *Proxy) currentTarget() target {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}
