package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrRowCount is true for a Commit that failed because a deferred statement
// changed another number of rows than [Defer] was told. Nothing was committed.
// A retry is safe, and succeeds where the guard holds by then.
var ErrRowCount = errors.New("pgstore: a deferred statement changed another number of rows")

// ErrNotDeferrable is true for a statement that [Defer] does not take. Nothing
// was deferred, and the same statement is refused again.
var ErrNotDeferrable = errors.New("pgstore: statement cannot be deferred")

// deferred is one statement for the last flush, wrapped in its row guard.
type deferred struct {
	sql       string
	arguments []any
}

// Defer has a statement whose result the callback does not need travel with
// the last flush, before the receipt, which saves its round trip. tx is the
// transaction that a callback was given, or a savepoint of it, with whose
// rollback the statement dies.
//
// The statement must change exactly rows rows; if it does not, for instance
// because its WHERE guards a balance, the commit fails and errors.Is(err,
// [ErrRowCount]) is true. What the callback reads afterwards does not see the
// statement's effect.
//
// It takes one INSERT, UPDATE or DELETE, with parameters $1, $2 and so on or
// [pgx.NamedArgs], without a leading WITH and without RETURNING. Everything
// else is refused with the rule that it breaks: errors.Is(err,
// [ErrNotDeferrable]). A table with row-level security applies its policies
// for SELECT to the statement as well. The arguments must not be changed
// before the session has ended.
func Defer(tx pgx.Tx, rows int64, sql string, arguments ...any) error {
	h, err := handleOf(tx)
	if err != nil {
		return err
	}
	if err := h.refusal(); err != nil {
		return err
	}
	if rows < 0 {
		return fmt.Errorf("%w: rows must not be negative, is %d", ErrNotDeferrable, rows)
	}
	sql, arguments, err = rewrite(h, sql, arguments)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotDeferrable, err)
	}
	statement, err := deferrable(sql, h.plainStrings())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotDeferrable, err)
	}
	h.scope.deferred = append(h.scope.deferred, deferred{withRowGuard(statement, rows), arguments})
	return nil
}

func handleOf(tx pgx.Tx) (*handle, error) {
	switch tx := tx.(type) {
	case *transaction:
		return &tx.handle, nil
	case *savepoint:
		return &tx.handle, nil
	default:
		return nil, fmt.Errorf("%w: a %T is no transaction of a runner", ErrNotDeferrable, tx)
	}
}

// rewrite applies a leading rewriter such as [pgx.NamedArgs] at once, since
// the row guard goes around its result. A second one is refused: left among
// the arguments, pgx would apply it around the guard.
func rewrite(h *handle, sql string, arguments []any) (string, []any, error) {
	rewriter, ok := leadingRewriter(arguments)
	if !ok {
		return sql, arguments, nil
	}
	if _, another := leadingRewriter(arguments[1:]); another {
		return "", nil, errTwoRewriters
	}
	sql, arguments, err := guardedRewriter{rewriter, h}.RewriteQuery(context.Background(), h.inner.Conn(), sql, arguments[1:])
	if _, another := leadingRewriter(arguments); another {
		return "", nil, errTwoRewriters
	}
	return sql, arguments, err
}

var errTwoRewriters = errors.New("it must have at most one rewriter")

func leadingRewriter(arguments []any) (rewriter pgx.QueryRewriter, ok bool) {
	if len(arguments) > 0 {
		rewriter, ok = arguments[0].(pgx.QueryRewriter)
	}
	return rewriter, ok
}

// deferrable returns sql without its final semicolon, or the rule that it
// breaks.
func deferrable(sql string, plainStrings bool) (string, error) {
	scan := lexer{text: sql, plainStrings: plainStrings}
	first := scan.next()
	switch first.text {
	case "insert", "update", "delete":
	default:
		return "", errors.New("it must begin with INSERT, UPDATE or DELETE")
	}
	for depth := 0; ; {
		end := scan.at
		token := scan.next()
		switch token.kind {
		case tokenEnd:
			return sql, closedParentheses(depth)
		case tokenSemicolon:
			return sql[:end], errors.Join(closedParentheses(depth), scan.nothingMore())
		case tokenBroken:
			return "", errors.New("it holds a literal or a comment without an end")
		case tokenOpen:
			depth++
		case tokenClose:
			depth--
		case tokenWord:
			if depth == 0 && token.text == "returning" {
				return "", errors.New("it must not have RETURNING")
			}
		default: // literals and operators may stand anywhere
		}
		if depth < 0 {
			return "", closedParentheses(depth)
		}
	}
}

func closedParentheses(depth int) error {
	if depth != 0 {
		return errors.New("its parentheses must match")
	}
	return nil
}

func (l *lexer) nothingMore() error {
	if l.next().kind != tokenEnd {
		return errors.New("it must be a single statement")
	}
	return nil
}

// guardText begins the message with which a row guard fails.
const guardText = "settleonce: a deferred statement must change "

// withRowGuard wraps a statement so that the wrong number of rows is an error
// of the server. The message travels as a text that is no integer: raising an
// error in any other way takes a function. The line ends keep a comment at the
// end of the statement from swallowing what follows.
func withRowGuard(statement string, rows int64) string {
	return fmt.Sprintf("WITH settleonce_deferred AS (\n%s\nRETURNING 1)\n"+
		"SELECT CASE WHEN pg_catalog.count(*) = %d THEN 0 ELSE ('%s%d rows, changed ' || pg_catalog.count(*))::int END FROM settleonce_deferred",
		statement, rows, guardText, rows)
}

// explain names the error of a row guard.
func (d deferred) explain(err error) error {
	if hasCode(err, codeInvalidText) && strings.Contains(err.Error(), guardText) {
		return fmt.Errorf("%w: %w", ErrRowCount, err)
	}
	return err
}
