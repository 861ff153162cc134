package pgfault

import (
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgproto3"
)

// commitStatement matches a COMMIT alone or last in a string of statements. END
// counts only alone, since it also closes the body of a function.
var commitStatement = regexp.MustCompile(
	`(?is)(?:^\s*(?:commit|end)|;\s*commit)(?:\s+(?:work|transaction))?(?:\s+and\s+(?:no\s+)?chain)?\s*;?\s*$`)

func isCommit(sql string) bool { return commitStatement.MatchString(sql) }

// statements follows the names that a connection gives to statements and
// portals, to know which Execute runs a COMMIT.
type statements struct {
	commits map[string]bool // by name of the prepared statement
	portals map[string]bool
}

func newStatements() *statements {
	return &statements{commits: map[string]bool{}, portals: map[string]bool{}}
}

// commitAt returns the index of the first message that runs a COMMIT, or -1.
func (s *statements) commitAt(pipeline []message) (int, error) {
	at := -1
	for i, m := range pipeline {
		runs, err := s.follow(m)
		if err != nil {
			return -1, err
		}
		if runs && at < 0 {
			at = i
		}
	}
	return at, nil
}

// follow notes what a message names, and reports whether it runs a COMMIT.
func (s *statements) follow(m message) (runs bool, err error) {
	switch m.kind() {
	case queryMessage:
		var query pgproto3.Query
		err = query.Decode(m.body())
		runs = isCommit(query.String)
	case parseMessage:
		var parse pgproto3.Parse
		err = parse.Decode(m.body())
		s.commits[parse.Name] = isCommit(parse.Query)
	case bindMessage:
		var bind pgproto3.Bind
		err = bind.Decode(m.body())
		s.portals[bind.DestinationPortal] = s.commits[bind.PreparedStatement]
	case executeMessage:
		var execute pgproto3.Execute
		err = execute.Decode(m.body())
		runs = s.portals[execute.Portal]
	case closeMessage:
		var closing pgproto3.Close
		err = closing.Decode(m.body())
		if closing.ObjectType == 'S' {
			delete(s.commits, closing.Name)
		} else {
			delete(s.portals, closing.Name)
		}
	}
	if err != nil {
		return false, fmt.Errorf("pgfault: message %q: %w", m.kind(), err)
	}
	return runs, nil
}
