package pgfault

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
)

// The codes that stand in place of a protocol version in the first message.
const (
	sslRequestCode    = 80877103
	gssEncRequestCode = 80877104
	cancelRequestCode = 80877102

	startupCodeEnd = 8 // the length and the code
)

// serve handles one connection from its first message to its end.
func (p *Proxy) serve(client net.Conn) {
	l := &link{
		proxy: p, client: client, fromClient: bufio.NewReader(client),
		statements: newStatements(), verdicts: make(chan verdict, 1),
	}
	if !p.enter(l) {
		_ = client.Close() // the proxy is closing
		return
	}
	defer p.leave(l)
	defer l.cut()
	startup, err := l.readStartup()
	if err != nil || !l.connect() {
		return // the client went away, or finds no server, as without a proxy
	}
	if binary.BigEndian.Uint32(startup[4:]) == cancelRequestCode {
		if !p.isSevered(string(startup[startupCodeEnd:])) {
			_, _ = l.server.Write(startup) // nobody gets an answer to it
		}
		return
	}
	l.unready.Add(1)
	if _, err := l.server.Write(startup); err != nil {
		return
	}
	p.working.Go(l.downstream)
	l.upstream()
}

// readStartup returns the first message that is not a request for encryption,
// which it declines.
func (l *link) readStartup() ([]byte, error) {
	for {
		startup, err := readStartup(l.fromClient)
		if err != nil {
			return nil, err
		}
		switch binary.BigEndian.Uint32(startup[4:]) {
		case sslRequestCode, gssEncRequestCode:
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return nil, fmt.Errorf("pgfault: decline encryption: %w", err)
			}
		default:
			return startup, nil
		}
	}
}
