package fingerprint

import (
	"bytes"
	"slices"
)

// jsonNode is one JSON value.
type jsonNode struct {
	tag  byte   // as in the canonical form
	key  []byte // the member's name, where the value is an object's member
	text []byte // a text's content, or a number as it was written
	// The elements or members are nodes[first : first+count] of the tree.
	first, count int
}

// jsonTree is the memory of a parsed JSON text: each object's members are in
// order, so that the form can be written from front to back.
type jsonTree struct {
	nodes   []jsonNode // children of closed arrays and objects
	open    []jsonNode // children of those still open, outermost first
	decoded []byte     // texts that had escapes
}

func (t *jsonTree) size() int {
	const node = 72
	return node*(cap(t.nodes)+cap(t.open)) + cap(t.decoded)
}

// reset forgets the text, which is the caller's, but keeps the memory.
func (t *jsonTree) reset() {
	clear(t.nodes)
	clear(t.open)
	t.nodes, t.open, t.decoded = t.nodes[:0], t.open[:0], t.decoded[:0]
}

// close moves the children above base from the open to the closed ones, and
// returns where they are.
func (t *jsonTree) close(base int) (first, count int) {
	first, count = len(t.nodes), len(t.open)-base
	t.nodes = append(t.nodes, t.open[base:]...)
	clear(t.open[base:])
	t.open = t.open[:base]
	return first, count
}

func (t *jsonTree) children(node *jsonNode) []jsonNode {
	return t.nodes[node.first : node.first+node.count]
}

// json writes the canonical form of a JSON text.
func (w *writer) json(text []byte) error {
	root, err := w.parse(text, bytes.Compare)
	if err != nil {
		return err
	}
	return w.node(&root)
}

// node writes the canonical form of a parsed value.
func (w *writer) node(node *jsonNode) (err error) {
	w.steps += 1 + len(node.text)
	switch node.tag {
	case tagNumber:
		w.buf, err = appendNumberText(w.buf, node.text)
		return err
	case tagText:
		w.buf = appendScalar(w.buf, tagText, node.text)
	case tagArray:
		w.buf = append(w.buf, tagArray)
		elements := w.tree.children(node)
		for i := range elements {
			if err := w.node(&elements[i]); err != nil {
				return withinIndex(err, i)
			}
		}
		w.buf = append(w.buf, tagArrayEnd)
		return w.checkSize()
	case tagObject:
		w.buf = append(w.buf, tagObject)
		members := w.tree.children(node)
		for i := range members {
			w.buf = appendScalar(w.buf, tagText, members[i].key)
			if err := w.node(&members[i]); err != nil {
				return within(err, members[i].key)
			}
		}
		w.buf = append(w.buf, tagObjectEnd)
		return w.checkSize()
	default: // a literal
		w.buf = append(w.buf, node.tag)
	}
	return nil
}

// orderMembers sorts the members of an object, and refuses duplicates.
func (p *jsonParser) orderMembers(members []jsonNode) error {
	compare := func(a, b jsonNode) int {
		p.w.steps += 1 + min(len(a.key), len(b.key))
		return p.compare(a.key, b.key)
	}
	if !slices.IsSortedFunc(members, compare) {
		slices.SortFunc(members, compare)
	}
	for i := 1; i < len(members); i++ {
		if compare(members[i-1], members[i]) == 0 {
			return within(broken("is a duplicate member"), members[i].key)
		}
	}
	return nil
}
