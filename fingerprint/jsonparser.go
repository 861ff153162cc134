package fingerprint

// jsonParser reads one JSON text (RFC 8259) into the tree of its writer. It is
// strict where encoding/json is not: duplicate members, unpaired surrogates
// and text that is not UTF-8 are errors.
type jsonParser struct {
	w       *writer
	text    []byte
	at      int
	compare func(a, b []byte) int // the order of members
}

// parse returns the root of text, whose nodes are valid until the next parse.
func (w *writer) parse(text []byte, compare func(a, b []byte) int) (jsonNode, error) {
	if len(text) > MaxSize {
		return jsonNode{}, broken("is a JSON text of more than %d bytes", MaxSize)
	}
	w.tree.reset()
	p := jsonParser{w: w, text: text, compare: compare}
	root, err := p.value()
	if err != nil {
		return jsonNode{}, err
	}
	if p.skipSpace(); p.at < len(text) {
		return jsonNode{}, p.syntax("the end of the text")
	}
	return root, nil
}

func (p *jsonParser) syntax(expected string) error {
	return broken("is not valid JSON: expected %s at byte %d", expected, p.at)
}

func (p *jsonParser) skipSpace() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
			p.w.steps++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (p *jsonParser) peek() byte {
	p.skipSpace()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// accept takes the next byte that is not white space if it is b.
func (p *jsonParser) accept(b byte) bool {
	if p.peek() != b {
		return false
	}
	p.at++
	return true
}

func (p *jsonParser) value() (jsonNode, error) {
	p.w.steps++
	switch b := p.peek(); b {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		text, err := p.string()
		return jsonNode{tag: tagText, text: text}, err
	case 'n':
		return p.literal("null", tagNull)
	case 't':
		return p.literal("true", tagTrue)
	case 'f':
		return p.literal("false", tagFalse)
	default:
		if b == '-' || b >= '0' && b <= '9' {
			return p.number(), nil
		}
		return jsonNode{}, p.syntax("a value")
	}
}

func (p *jsonParser) literal(name string, tag byte) (jsonNode, error) {
	end := p.at + len(name)
	if end > len(p.text) || string(p.text[p.at:end]) != name {
		return jsonNode{}, p.syntax("a value")
	}
	p.at = end
	return jsonNode{tag: tag}, nil
}

// number takes what looks like a number; whoever writes it checks the syntax.
func (p *jsonParser) number() jsonNode {
	start := p.at
	for p.at < len(p.text) && numberByte(p.text[p.at]) {
		p.at++
	}
	p.w.steps += p.at - start
	return jsonNode{tag: tagNumber, text: p.text[start:p.at]}
}

func numberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

func (p *jsonParser) array() (jsonNode, error) {
	if err := p.w.enter(); err != nil {
		return jsonNode{}, err
	}
	defer p.w.leave()
	p.at++
	tree := &p.w.tree
	base := len(tree.open)
	for index := 0; !p.accept(']'); index++ {
		if index > 0 && !p.accept(',') {
			return jsonNode{}, p.syntax("',' or ']'")
		}
		element, err := p.value()
		if err != nil {
			return jsonNode{}, withinIndex(err, index)
		}
		tree.open = append(tree.open, element)
	}
	node := jsonNode{tag: tagArray}
	node.first, node.count = tree.close(base)
	p.w.steps += node.count
	return node, nil
}

func (p *jsonParser) object() (jsonNode, error) {
	if err := p.w.enter(); err != nil {
		return jsonNode{}, err
	}
	defer p.w.leave()
	p.at++
	tree := &p.w.tree
	base := len(tree.open)
	for !p.accept('}') {
		if len(tree.open) > base && !p.accept(',') {
			return jsonNode{}, p.syntax("',' or '}'")
		}
		member, err := p.member()
		if err != nil {
			return jsonNode{}, err
		}
		tree.open = append(tree.open, member)
	}
	if err := p.orderMembers(tree.open[base:]); err != nil {
		return jsonNode{}, err
	}
	node := jsonNode{tag: tagObject}
	node.first, node.count = tree.close(base)
	p.w.steps += node.count
	return node, nil
}

func (p *jsonParser) member() (jsonNode, error) {
	if p.peek() != '"' {
		return jsonNode{}, p.syntax("a member's name")
	}
	key, err := p.string()
	if err != nil {
		return jsonNode{}, addStep(err, ".(member name)")
	}
	if !p.accept(':') {
		return jsonNode{}, p.syntax("':'")
	}
	member, err := p.value()
	if err != nil {
		return jsonNode{}, within(err, key)
	}
	member.key = key
	return member, nil
}
