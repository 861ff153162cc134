package pgstore

import "strings"

// tokenKind tells apart what transaction control and the row guard of [Defer]
// need to know about SQL.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenSemicolon
	tokenOpen
	tokenClose
	// tokenOther is a literal, a quoted identifier, or any other character.
	tokenOther
	// tokenBroken is a literal or comment without an end. The rest of the
	// text is in it.
	tokenBroken
)

// token is one lexical unit. Only a word has text, in lower case.
type token struct {
	kind tokenKind
	text string
}

// lexer cuts SQL into tokens by the rules of PostgreSQL's own scanner (chapter
// "Lexical Structure" of its manual), as far as they decide where a literal, a
// comment or a statement ends.
type lexer struct {
	text string
	at   int
	// plainStrings is standard_conforming_strings: a backslash in '...' is
	// only a backslash.
	plainStrings bool
}

// next returns the token at the lexer's place and moves behind it.
func (l *lexer) next() token {
	if !l.skipBlank() {
		return token{kind: tokenBroken}
	}
	if l.at >= len(l.text) {
		return token{kind: tokenEnd}
	}
	switch c := l.text[l.at]; {
	case wordStart(c):
		return l.word()
	case c == '\'':
		return l.literal(l.skipString(!l.plainStrings))
	case c == '"':
		return l.literal(l.skipQuoted('"', false))
	case c == '$':
		return l.literal(l.skipDollar())
	case c == ';':
		return l.symbol(tokenSemicolon)
	case c == '(':
		return l.symbol(tokenOpen)
	case c == ')':
		return l.symbol(tokenClose)
	default:
		return l.symbol(tokenOther)
	}
}

func (l *lexer) symbol(kind tokenKind) token {
	l.at++
	return token{kind: kind}
}

// literal makes a token of what was skipped, complete or not.
func (l *lexer) literal(complete bool) token {
	if !complete {
		l.at = len(l.text)
		return token{kind: tokenBroken}
	}
	return token{kind: tokenOther}
}

// word reads a keyword or identifier, or the string that E, B or X introduces,
// of which the first always has escapes and the others never.
func (l *lexer) word() token {
	start := l.at
	for l.at < len(l.text) && wordPart(l.text[l.at]) {
		l.at++
	}
	text := strings.ToLower(l.text[start:l.at])
	if l.peek(0) == '\'' {
		switch text {
		case "e":
			return l.literal(l.skipString(true))
		case "b", "x":
			return l.literal(l.skipString(false))
		}
	}
	return token{tokenWord, text}
}

// peek returns the byte at an offset from the lexer's place, 0 behind the end.
func (l *lexer) peek(offset int) byte {
	if l.at+offset >= len(l.text) {
		return 0
	}
	return l.text[l.at+offset]
}

// skipBlank skips white space and comments. It reports false for a comment
// without an end.
func (l *lexer) skipBlank() bool {
	for l.at < len(l.text) {
		switch {
		case blank(l.text[l.at]):
			l.at++
		case l.peek(0) == '-' && l.peek(1) == '-':
			l.skipLine()
		case l.peek(0) == '/' && l.peek(1) == '*':
			if !l.skipBlockComment() {
				l.at = len(l.text)
				return false
			}
		default:
			return true
		}
	}
	return true
}

func (l *lexer) skipLine() {
	for l.at < len(l.text) && !lineEnd(l.text[l.at]) {
		l.at++
	}
}

// skipBlockComment skips a comment with the comments nested in it.
func (l *lexer) skipBlockComment() bool {
	depth := 0
	for l.at < len(l.text) {
		switch {
		case l.peek(0) == '/' && l.peek(1) == '*':
			depth++
			l.at += 2
		case l.peek(0) == '*' && l.peek(1) == '/':
			depth--
			l.at += 2
			if depth == 0 {
				return true
			}
		default:
			l.at++
		}
	}
	return false
}

// skipString skips a '...' literal. One with escapes goes on, escapes and all,
// in a further literal that only white space with a line end keeps apart.
func (l *lexer) skipString(escapes bool) bool {
	for {
		if !l.skipQuoted('\'', escapes) {
			return false
		}
		if !escapes || !l.skipToContinuation() {
			return true
		}
	}
}

// skipQuoted skips from a quote to the matching one. A doubled quote is part
// of the content, and with escapes so is whatever follows a backslash.
func (l *lexer) skipQuoted(quote byte, escapes bool) bool {
	for l.at++; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '\\' && escapes:
			l.at++
		case c == quote && l.peek(1) == quote:
			l.at++
		case c == quote:
			l.at++
			return true
		}
	}
	return false
}

// skipToContinuation moves to the quote of a literal's continuation, or not at
// all.
func (l *lexer) skipToContinuation() bool {
	start, newLine := l.at, false
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case blank(c):
			newLine = newLine || lineEnd(c)
			l.at++
		case newLine && c == '-' && l.peek(1) == '-':
			l.skipLine()
		case newLine && c == '\'':
			return true
		default:
			l.at = start
			return false
		}
	}
	l.at = start
	return false
}

// skipDollar skips a dollar-quoted literal, a parameter such as $1, or a lone
// dollar sign.
func (l *lexer) skipDollar() bool {
	end := l.at + 1
	for end < len(l.text) && (wordStart(l.text[end]) || end > l.at+1 && digit(l.text[end])) {
		end++
	}
	if end >= len(l.text) || l.text[end] != '$' {
		l.at++
		for l.at < len(l.text) && digit(l.text[l.at]) {
			l.at++
		}
		return true
	}
	tag := l.text[l.at : end+1]
	length := strings.Index(l.text[end+1:], tag)
	if length < 0 {
		return false
	}
	l.at = end + 1 + length + len(tag)
	return true
}

func wordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func wordPart(c byte) bool { return wordStart(c) || digit(c) || c == '$' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func lineEnd(c byte) bool { return c == '\n' || c == '\r' }
