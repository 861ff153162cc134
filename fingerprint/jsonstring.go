package fingerprint

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string takes a string and returns its content, which is part of the text or
// of the tree's memory.
func (p *jsonParser) string() ([]byte, error) {
	p.at++
	content := p.plain()
	if p.at < len(p.text) && p.text[p.at] == '\\' {
		return p.escaped(content)
	}
	return content, p.closeString(content)
}

// plain takes bytes up to the next quote, escape, control character or the end.
func (p *jsonParser) plain() []byte {
	start := p.at
	for p.at < len(p.text) {
		if b := p.text[p.at]; b == '"' || b == '\\' || b < ' ' {
			break
		}
		p.at++
	}
	p.w.steps += p.at - start
	return p.text[start:p.at:p.at]
}

// closeString takes the closing quote and checks the content before it.
func (p *jsonParser) closeString(content []byte) error {
	if p.at == len(p.text) || p.text[p.at] != '"' {
		return p.syntax("'\"', an escape or a character above U+001F")
	}
	if !utf8.Valid(content) {
		return broken("must be valid UTF-8")
	}
	p.at++
	return nil
}

// escaped takes the rest of a string whose beginning is content and whose next
// byte is a backslash.
func (p *jsonParser) escaped(content []byte) ([]byte, error) {
	tree := &p.w.tree
	start := len(tree.decoded)
	tree.decoded = append(tree.decoded, content...)
	for p.at < len(p.text) && p.text[p.at] == '\\' {
		r, err := p.escape()
		if err != nil {
			return nil, err
		}
		tree.decoded = utf8.AppendRune(tree.decoded, r)
		tree.decoded = append(tree.decoded, p.plain()...)
	}
	end := len(tree.decoded)
	decoded := tree.decoded[start:end:end]
	return decoded, p.closeString(decoded)
}

// escape takes one escape, or two that are a surrogate pair.
func (p *jsonParser) escape() (rune, error) {
	p.w.steps++
	if p.at+1 == len(p.text) {
		return 0, p.syntax("an escape")
	}
	switch b := p.text[p.at+1]; b {
	case '"', '\\', '/':
		p.at += 2
		return rune(b), nil
	case 'b':
		p.at += 2
		return '\b', nil
	case 'f':
		p.at += 2
		return '\f', nil
	case 'n':
		p.at += 2
		return '\n', nil
	case 'r':
		p.at += 2
		return '\r', nil
	case 't':
		p.at += 2
		return '\t', nil
	default:
		return p.unicodeEscape()
	}
}

func (p *jsonParser) unicodeEscape() (rune, error) {
	first, ok := p.codeUnit()
	if !ok {
		return 0, p.syntax("an escape")
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	second, ok := p.codeUnit()
	if r := utf16.DecodeRune(first, second); ok && r != utf8.RuneError {
		return r, nil
	}
	return 0, broken("must not hold an unpaired surrogate")
}

// codeUnit takes a \u escape, if there is one.
func (p *jsonParser) codeUnit() (rune, bool) {
	const width = len(`\uXXXX`)
	if len(p.text)-p.at < width || p.text[p.at] != '\\' || p.text[p.at+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(p.text[p.at+2:p.at+width]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += width
	return rune(unit), true
}
