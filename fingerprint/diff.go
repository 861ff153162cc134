package fingerprint

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"
)

// Diff returns the paths in which two canonical forms differ, such as
// $.legs[2].odds, in the order of the forms; none where they are equal. A path
// leads to a value of which one form has another, or that only one form has:
// such a value is named as a whole, not part by part. $ is the whole form.
//
// Diff names places and gives no values away. It writes the same paths as
// [ValueError], and cuts them in the same way.
//
// errors.Is(err, [ErrInvalidCanonical]) is true where one of the two is not a
// canonical form which this build can read.
func Diff(a, b []byte) ([]string, error) {
	first, err := readVersion(a)
	if err != nil {
		return nil, fmt.Errorf("first form: %w", err)
	}
	second, err := readVersion(b)
	if err != nil {
		return nil, fmt.Errorf("second form: %w", err)
	}
	d := difference{a: first, b: second}
	if err := d.values(); err != nil {
		return nil, err
	}
	if err := d.a.end(); err != nil {
		return nil, fmt.Errorf("first form: %w", err)
	}
	if err := d.b.end(); err != nil {
		return nil, fmt.Errorf("second form: %w", err)
	}
	return d.paths, nil
}

// difference walks through two forms at once.
type difference struct {
	a, b  canonicalReader
	steps []string
	paths []string
}

// report names the place where the walk is.
func (d *difference) report() { d.paths = append(d.paths, joinPath(d.steps)) }

// at runs walk one step further down.
func (d *difference) at(step string, walk func() error) error {
	d.steps = append(d.steps, step)
	defer func() { d.steps = d.steps[:len(d.steps)-1] }()
	return walk()
}

// values compares the next value of each form.
func (d *difference) values() error {
	a, err := d.a.next()
	if err != nil {
		return err
	}
	b, err := d.b.next()
	if err != nil {
		return err
	}
	isArray, isObject := a.tag == tagArray, a.tag == tagObject
	switch {
	case a.tag != b.tag || !isArray && !isObject:
	case len(d.steps) >= MaxDepth:
		return invalidCanonical("is too deep")
	case isArray:
		return d.elements()
	default:
		return d.members()
	}
	if compareItems(a, b) != 0 {
		d.report()
	}
	if err := d.a.skipRest(a, len(d.steps)); err != nil {
		return err
	}
	return d.b.skipRest(b, len(d.steps))
}

// elements compares the elements of two arrays place by place.
func (d *difference) elements() error {
	for index := 0; ; index++ {
		walk := d.values
		switch endA, endB := d.a.peek() == tagArrayEnd, d.b.peek() == tagArrayEnd; {
		case endA && endB:
			return d.closeBoth()
		case endA:
			walk = func() error { return d.only(&d.b) }
		case endB:
			walk = func() error { return d.only(&d.a) }
		}
		if err := d.at(indexStep(index), walk); err != nil {
			return err
		}
	}
}

// only reports a value that just one form has.
func (d *difference) only(r *canonicalReader) error {
	d.report()
	return r.skip(len(d.steps))
}

func (d *difference) closeBoth() error {
	if _, err := d.a.next(); err != nil {
		return err
	}
	_, err := d.b.next()
	return err
}

// members compares two objects key by key, in the order that both are in.
func (d *difference) members() error {
	keyA, moreA, err := d.a.nextKey(item{})
	if err != nil {
		return err
	}
	keyB, moreB, err := d.b.nextKey(item{})
	if err != nil {
		return err
	}
	for moreA || moreB {
		order := 0
		switch {
		case !moreB:
			order = -1
		case !moreA:
			order = 1
		default:
			order = compareItems(keyA, keyB)
		}
		if err := d.member(order, keyA, keyB); err != nil {
			return err
		}
		if order <= 0 {
			if keyA, moreA, err = d.a.nextKey(keyA); err != nil {
				return err
			}
		}
		if order >= 0 {
			if keyB, moreB, err = d.b.nextKey(keyB); err != nil {
				return err
			}
		}
	}
	return nil
}

// member compares the values of one key, which one form (order not 0) or both
// have.
func (d *difference) member(order int, keyA, keyB item) error {
	switch {
	case order < 0:
		return d.at(itemStep(keyA), func() error { return d.only(&d.a) })
	case order > 0:
		return d.at(itemStep(keyB), func() error { return d.only(&d.b) })
	default:
		return d.at(itemStep(keyA), d.values)
	}
}

// nextKey takes the key after before, or the object's end.
func (r *canonicalReader) nextKey(before item) (key item, more bool, err error) {
	if r.peek() == tagObjectEnd {
		_, err = r.next()
		return item{}, false, err
	}
	key, err = r.key(before)
	return key, true, err
}

// keyStep writes a canonical key as a step of a path.
func keyStep(key []byte) string {
	reader := canonicalReader{rest: key}
	item, err := reader.next()
	if err != nil {
		return "[?]"
	}
	return itemStep(item)
}

// itemStep writes a key as a step: text as a name, anything else so that it
// can't be taken for a name or an index.
func itemStep(key item) string {
	switch key.tag {
	case tagText:
		return nameStep(string(key.payload))
	case tagNumber:
		return "[number " + abbreviate(string(key.payload)) + "]"
	case tagBytes:
		return "[bytes " + abbreviate(fmt.Sprintf("%x", key.payload)) + "]"
	case tagInstant:
		return "[time " + instantOf(key.payload).Format(time.RFC3339Nano) + "]"
	default:
		return "[" + strconv.FormatBool(key.tag == tagTrue) + "]"
	}
}

// instantOf reads the payload of an instant.
func instantOf(payload []byte) time.Time {
	//nolint:gosec // The bits are what is wanted: two's complement.
	seconds := int64(binary.BigEndian.Uint64(payload))
	return time.Unix(seconds, int64(binary.BigEndian.Uint32(payload[8:]))).UTC()
}
