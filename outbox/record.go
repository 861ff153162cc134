package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/internal/vfs"
)

// MaxRecord is the greatest size of a record in bytes: the event's JSON form
// and a line feed.
const MaxRecord = 1 << 20

// encodeRecord returns the content of an event's file. What it returns can be
// read back: a record that nobody could read would be lost in all but name.
// Past an event's own rules, that takes only data that is not nested more
// deeply than encoding/json reads within an object.
func encodeRecord(e event.Event) ([]byte, error) {
	content, err := e.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	content = append(content, '\n')
	if len(content) > MaxRecord {
		return nil, fmt.Errorf("%w: must have at most %d bytes, has %d", ErrTooLarge, MaxRecord, len(content))
	}
	if !json.Valid(content) {
		return nil, fmt.Errorf("%w: the data is nested too deeply", ErrUnreadable)
	}
	return content, nil
}

// decodeRecord reads the content of a file. errors.Is(err, [ErrMalformed]) is
// true for every error.
func decodeRecord(content []byte) (event.Event, error) {
	switch {
	case len(content) == 0:
		return event.Event{}, fmt.Errorf("%w: the file is empty", ErrMalformed)
	case len(content) > MaxRecord:
		return event.Event{}, fmt.Errorf("%w: the file has more than %d bytes", ErrMalformed, MaxRecord)
	case len(bytes.Trim(content, "\x00")) == 0:
		return event.Event{}, fmt.Errorf("%w: the file holds nothing but NUL bytes", ErrMalformed)
	}
	var e event.Event
	if err := json.Unmarshal(content, &e); err != nil {
		return event.Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return e, nil
}

// readRecord reads the record that should stand under name. errors.Is(err,
// [ErrMalformed]) is true where the file is no record or not that one; other
// errors say that it could not be read.
func readRecord(dir vfs.Dir, file string, name recordName) (event.Event, error) {
	content, err := readFile(dir, file)
	if err != nil {
		return event.Event{}, err
	}
	e, err := decodeRecord(content)
	if err != nil {
		return event.Event{}, err
	}
	if encoded := encodeKey(e.Key); encoded != name.key {
		return event.Event{}, fmt.Errorf("%w: the name is for key %s, the content for key %s", ErrMalformed, name.key, encoded)
	}
	return e, nil
}

// readFile reads at most one byte more than a record may have.
func readFile(dir vfs.Dir, name string) ([]byte, error) {
	file, err := dir.Open(name)
	if errors.Is(err, vfs.ErrNotRegular) {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(file, MaxRecord+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return content, nil
}

// gone reports whether a file was not there.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
