package pgstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/receipt"
)

// refuseTransactionControl reports the first statement of sql that begins,
// ends or nests a transaction or sets its modes. plainStrings is the
// connection's standard_conforming_strings.
//
// It goes by the first words of each statement. So it also refuses the END of
// a function body in the form BEGIN ATOMIC ... END, which has no place in a
// settlement, and knows nothing of what functions do: inside a transaction
// PostgreSQL lets none of them end it.
//
// A literal or comment without an end is refused too: in the simple protocol a
// batch travels as one text, and what one statement leaves open ends in another.
func refuseTransactionControl(sql string, plainStrings bool) error {
	scan := lexer{text: sql, plainStrings: plainStrings}
	for {
		words, end := scan.statementStart()
		if controlsTransaction(words) {
			return fmt.Errorf("pgstore: %s: %w", strings.ToUpper(strings.Join(words[:controlWords(words)], " ")), receipt.ErrTransactionControl)
		}
		switch end {
		case tokenBroken:
			return fmt.Errorf("pgstore: a literal or comment without an end may hide it: %w", receipt.ErrTransactionControl)
		case tokenEnd:
			return nil
		default: // another statement follows
		}
	}
}

// statementStart reads one statement and returns its first three tokens, words
// as they are and anything else as "", and the kind of the token that ended it.
func (l *lexer) statementStart() (words [3]string, end tokenKind) {
	for count := 0; ; count++ {
		token := l.next()
		switch {
		case token.kind == tokenSemicolon || token.kind == tokenEnd || token.kind == tokenBroken:
			return words, token.kind
		case count < len(words):
			words[count] = token.text
		}
	}
}

func controlsTransaction(words [3]string) bool {
	switch words[0] {
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		return true
	case "prepare":
		return words[1] == "transaction"
	case "set":
		modes := slices.Contains([]string{"local", "session"}, words[1]) && words[2] == "transaction"
		return words[1] == "transaction" || modes || words[1] == "session" && words[2] == "characteristics"
	default:
		return false
	}
}

// controlWords returns how many of the words name the command.
func controlWords(words [3]string) int {
	switch words[0] {
	case "set":
		return 3
	case "prepare":
		return 2
	default:
		return 1
	}
}
