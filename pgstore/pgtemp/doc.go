// Package pgtemp starts private throwaway PostgreSQL servers from the binaries
// that are installed, for programs that want a real server without set-up:
// tests, demonstrations, fault drills.
//
// # What holds
//
//   - A server has its own directory, its own superuser "postgres" without a
//     password, and one Unix socket inside that directory, which only the
//     account that started it can enter. No TCP port is opened, so two servers
//     never compete for one.
//   - PostgreSQL refuses to run as root. Started by root, the server runs as
//     another account ([Config].User).
//   - The server ends, and its directory is removed, when [Server.Stop] is
//     called and also when the process that started it ends in any way, SIGKILL
//     included: a small shell process holds the reading end of a pipe whose
//     writing end dies with the owner.
//   - Commits are as durable as PostgreSQL makes them: fsync and
//     synchronous_commit stay on unless [Config].Parameters says otherwise, so
//     a server that was crashed with [Server.Crash] and started again shows
//     what was committed.
//
// # What is not promised
//
// The data does not outlive the owner, and so neither a crash of the machine.
// An owner that is killed may leave an empty directory, where the server runs
// as an account that can't write to [Config].Dir.
// Killing the shell process itself with SIGKILL leaves the server running.
// TLS and passwords are not set up. Linux and macOS only; PostgreSQL 13 or
// later.
package pgtemp
