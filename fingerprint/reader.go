package fingerprint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"time"
	"unicode/utf8"
)

// canonicalReader reads a canonical form from front to back and checks it: the
// bytes may come from a store.
type canonicalReader struct {
	rest []byte
}

// item is one tag, with the payload where it is a scalar's.
type item struct {
	tag     byte
	payload []byte
}

func invalidCanonical(rule string) error {
	return fmt.Errorf("%w: %s", ErrInvalidCanonical, rule)
}

// readVersion starts reading a whole canonical form.
func readVersion(canonical []byte) (canonicalReader, error) {
	if len(canonical) == 0 {
		return canonicalReader{}, invalidCanonical("is empty")
	}
	if canonical[0] != formatVersion {
		return canonicalReader{}, fmt.Errorf("%w: version %d is not known to this build", ErrInvalidCanonical, canonical[0])
	}
	return canonicalReader{rest: canonical[1:]}, nil
}

// checkCanonical reports what is wrong with a whole canonical form.
func checkCanonical(canonical []byte) error {
	reader, err := readVersion(canonical)
	if err != nil {
		return err
	}
	if err := reader.skip(0); err != nil {
		return err
	}
	return reader.end()
}

func (r *canonicalReader) end() error {
	if len(r.rest) > 0 {
		return invalidCanonical("has bytes behind the value")
	}
	return nil
}

// peek returns the next tag, 0 at the end.
func (r *canonicalReader) peek() byte {
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

func (r *canonicalReader) next() (item, error) {
	if len(r.rest) == 0 {
		return item{}, invalidCanonical("ends within a value")
	}
	tag := r.rest[0]
	r.rest = r.rest[1:]
	switch tag {
	case tagNull, tagFalse, tagTrue, tagArray, tagArrayEnd, tagObject, tagObjectEnd:
		return item{tag: tag}, nil
	case tagNumber, tagText, tagBytes, tagInstant:
		payload, err := r.payload()
		if err != nil {
			return item{}, err
		}
		return item{tag: tag, payload: payload}, checkPayload(tag, payload)
	default:
		return item{}, fmt.Errorf("%w: has a tag %q, which is none", ErrInvalidCanonical, tag)
	}
}

func (r *canonicalReader) payload() ([]byte, error) {
	size, width := binary.Uvarint(r.rest)
	if width <= 0 || width > 1 && r.rest[width-1] == 0 {
		return nil, invalidCanonical("has a malformed length")
	}
	rest := r.rest[width:]
	if size > uint64(len(rest)) {
		return nil, invalidCanonical("ends within a scalar")
	}
	r.rest = rest[size:]
	return rest[:size:size], nil
}

func checkPayload(tag byte, payload []byte) error {
	switch tag {
	case tagText:
		if !utf8.Valid(payload) {
			return invalidCanonical("has text that is not valid UTF-8")
		}
	case tagInstant:
		if len(payload) != instantSize || binary.BigEndian.Uint32(payload[8:]) >= uint32(time.Second) {
			return invalidCanonical("has a malformed instant")
		}
	case tagNumber:
		again, err := appendNumberText(nil, payload)
		if err != nil || !bytes.Equal(again, appendScalar(nil, tag, payload)) {
			return invalidCanonical("has a malformed number")
		}
	}
	return nil
}

// key takes the next member's key, which must come after the one before.
func (r *canonicalReader) key(before item) (item, error) {
	key, err := r.next()
	switch {
	case err != nil:
		return key, err
	case !keyTag(key.tag):
		return key, invalidCanonical("has a key that is no scalar")
	case before.tag != 0 && compareItems(before, key) >= 0:
		return key, invalidCanonical("has keys that do not ascend")
	}
	return key, nil
}

func keyTag(tag byte) bool {
	switch tag {
	case tagFalse, tagTrue, tagNumber, tagText, tagBytes, tagInstant:
		return true
	default:
		return false
	}
}

func compareItems(a, b item) int {
	return cmp.Or(cmp.Compare(a.tag, b.tag), bytes.Compare(a.payload, b.payload))
}

// skip takes a whole value, which stands inside depth others.
func (r *canonicalReader) skip(depth int) error {
	item, err := r.next()
	if err != nil {
		return err
	}
	return r.skipRest(item, depth)
}

// skipRest takes what follows the first item of a value.
func (r *canonicalReader) skipRest(first item, depth int) error {
	switch first.tag {
	case tagArray, tagObject:
		if depth >= MaxDepth {
			return invalidCanonical("is too deep")
		}
	case tagArrayEnd, tagObjectEnd:
		return invalidCanonical("has an end without a beginning")
	default:
		return nil
	}
	if first.tag == tagObject {
		return r.skipMembers(depth + 1)
	}
	for r.peek() != tagArrayEnd {
		if err := r.skip(depth + 1); err != nil {
			return err
		}
	}
	_, err := r.next()
	return err
}

func (r *canonicalReader) skipMembers(depth int) error {
	var key item
	for r.peek() != tagObjectEnd {
		var err error
		if key, err = r.key(key); err != nil {
			return err
		}
		if err := r.skip(depth); err != nil {
			return err
		}
	}
	_, err := r.next()
	return err
}
