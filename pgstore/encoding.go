package pgstore

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// checkEncoding refuses a connection that is not in UTF-8, as all texts of Go
// are. The server would take a key for another one, and in some encodings a
// backslash is part of a character, so that the guard and the server disagree
// on where a literal ends (I2).
func checkEncoding(conn *pgconn.PgConn) error {
	if encoding := conn.ParameterStatus("client_encoding"); encoding != "UTF8" {
		return fmt.Errorf("client_encoding is %s, must be UTF8", encoding)
	}
	return nil
}
