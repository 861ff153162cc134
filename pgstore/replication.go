package pgstore

import (
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// unreplicatedMark is the entry in a connection's custom data that says what
// [WatchReplication] saw.
const unreplicatedMark = "settleonce.unreplicated"

// WatchReplication has the connections of a pool that is about to be built
// report the server's warning that it stopped waiting for its synchronous
// standby. That warning comes with a successful COMMIT: the transaction is on
// the primary, and a failover may still lose it. A store whose pool was built
// from cfg then calls the outcome unknown (I5); without WatchReplication it
// takes such a COMMIT for a success. Servers without synchronous standbys
// never send it.
//
// Notices still reach the handler that cfg had.
func WatchReplication(cfg *pgxpool.Config) {
	next := cfg.ConnConfig.OnNotice
	cfg.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		// The routine's name is not translated, as the message is, and the
		// warning has no code of its own.
		if notice.Routine == "SyncRepWaitForLSN" {
			conn.CustomData()[unreplicatedMark] = true
		}
		if next != nil {
			next(conn, notice)
		}
	}
}

// watchReplication forgets what an earlier COMMIT on the connection saw.
func (s *session) watchReplication() {
	delete(s.conn.Conn().PgConn().CustomData(), unreplicatedMark)
}

func (s *session) unreplicated() bool {
	return s.conn.Conn().PgConn().CustomData()[unreplicatedMark] == true
}
