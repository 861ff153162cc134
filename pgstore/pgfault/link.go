package pgfault

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// link is one client's connection and the one to the server behind it.
type link struct {
	proxy      *Proxy
	client     net.Conn
	fromClient *bufio.Reader
	statements *statements // upstream's

	mu     sync.Mutex
	server net.Conn // nil: not connected yet
	isCut  bool
	key    string // for cancellation; empty: not known yet

	// unready counts the ReadyForQuery messages that the client has coming.
	unready atomic.Int64

	// hiding has downstream return nothing more to the client, and deciding
	// has it look for what decides about COMMIT. Each is set before the
	// messages are forwarded whose answers it is for.
	hiding, deciding atomic.Bool

	// Downstream's, until it has sent its verdict.
	sqlState string
	returned int

	verdicts chan verdict // takes one
}

// verdict is what the server said about the transaction, and how much of it
// the client got.
type verdict struct {
	outcome  Outcome
	sqlState string
	returned int
}

// connect opens the connection to the server and reports whether it did.
func (l *link) connect() bool {
	to := l.proxy.currentTarget()
	// A server that does not answer must not hold up Close for long.
	server, err := net.DialTimeout(to.network, to.address, 10*time.Second)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		_ = server.Close() // the proxy was closed meanwhile
		return false
	}
	l.server = server
	return true
}

// cut closes both sides.
func (l *link) cut() {
	_ = l.client.Close() // whoever reads from it gets the error
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	if l.server != nil {
		_ = l.server.Close()
	}
}

// cutClient closes the client's side, and has its requests to cancel dropped.
func (l *link) cutClient() {
	l.mu.Lock()
	key := l.key
	l.mu.Unlock()
	l.proxy.sever(key)
	_ = l.client.Close()
}

// upstream forwards what the client sends, until either side ends or a trap is
// sprung.
func (l *link) upstream() {
	for {
		pipeline, err := readPipeline(l.fromClient)
		if err != nil {
			return
		}
		at, err := l.statements.commitAt(pipeline)
		if err != nil {
			return
		}
		if at >= 0 {
			if trap := l.proxy.take(); trap != nil {
				l.spring(trap, pipeline[:at], pipeline[at:])
				return
			}
		}
		if err := l.forward(pipeline); err != nil {
			return
		}
	}
}

// forward sends messages to the server.
func (l *link) forward(messages []message) error {
	l.expect(messages)
	return writeMessages(l.server, messages)
}

// forwardCommit sends messages of which one runs COMMIT, waits for what the
// server says to it, or for the connection's end, and reports whether they
// were sent.
func (l *link) forwardCommit(messages []message) (verdict, bool) {
	l.expect(messages)
	l.deciding.Store(true)
	err := writeMessages(l.server, messages)
	return <-l.verdicts, err == nil
}

// expect counts the ReadyForQuery that messages will bring.
func (l *link) expect(messages []message) {
	for _, m := range messages {
		switch m.kind() {
		case queryMessage, syncMessage, callMessage:
			l.unready.Add(1)
		}
	}
}

// downstream returns the server's answers, until the server's side ends or an
// answer decides about a trap.
func (l *link) downstream() {
	fromServer := bufio.NewReader(l.server)
	for {
		m, err := readMessage(fromServer)
		if err != nil {
			l.decide(NoAnswer)
			_ = l.client.Close() // upstream ends with it
			return
		}
		if outcome, decided := l.read(m); decided {
			l.decide(outcome)
			return
		}
		if l.hiding.Load() {
			continue
		}
		if l.deciding.Load() {
			l.returned += len(m.raw)
		}
		// A client that has gone away shows upstream, or is of no matter to
		// a trap that waits for the verdict.
		_, _ = l.client.Write(m.raw)
	}
}

func (l *link) decide(outcome Outcome) {
	l.verdicts <- verdict{outcome: outcome, sqlState: l.sqlState, returned: l.returned}
}

// read notes what a message from the server says, and reports whether it
// decides about COMMIT. Only an answer to the last pipeline can.
func (l *link) read(m message) (outcome Outcome, decided bool) {
	switch m.kind() {
	case backendKeyMessage:
		l.mu.Lock()
		l.key = string(m.body())
		l.mu.Unlock()
	case readyMessage:
		return RolledBack, l.unready.Add(-1) == 0 && l.deciding.Load()
	case commandCompleteMessage:
		var complete pgproto3.CommandComplete
		err := complete.Decode(m.body())
		committed := err == nil && string(complete.CommandTag) == "COMMIT"
		return Committed, committed && l.unready.Load() == 1 && l.deciding.Load()
	case errorMessage:
		var failure pgproto3.ErrorResponse
		if err := failure.Decode(m.body()); err == nil && (l.hiding.Load() || l.deciding.Load()) {
			l.sqlState = failure.Code
		}
	}
	return "", false
}
