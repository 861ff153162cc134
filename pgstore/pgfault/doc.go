// Package pgfault is a proxy in front of a PostgreSQL server that breaks a
// connection at COMMIT in ways that have names, for tests and demonstrations of
// what a client does when it cannot know whether its transaction committed.
//
// A mock would only show what its author believes. Here the server is real, and
// the proxy reads the protocol's messages, so that it breaks a connection
// between exactly two of them, and can say afterwards what the server had
// answered when the client got nothing.
//
// # What counts as a COMMIT
//
// A statement that is COMMIT, or END, with or without WORK, TRANSACTION or AND
// [NO] CHAIN:
//
//   - sent alone by the simple protocol, or last in a string of statements;
//   - sent by the extended protocol, also from a prepared statement and in the
//     middle of a pipeline, where the messages before its Execute are forwarded
//     and those from there on are the fault's. A pipeline is read as a whole
//     before any of it is forwarded.
//
// Not recognised are COMMIT PREPARED, COMMIT inside a procedure, COMMIT behind a
// comment, and SQL's own EXECUTE.
//
// # Limits
//
// TLS is not supported: a request for it is declined, so that sslmode=disable,
// allow and prefer work. A CancelRequest for a connection that the proxy has cut
// is dropped, as the network would that lost the connection itself. Whoever can
// reach the proxy reaches the server as itself: it listens on the loopback
// interface, or on a Unix socket.
package pgfault
