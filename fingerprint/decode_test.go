package fingerprint_test

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"time"
)

// decode turns a valid canonical form back into a Go value. It is a second
// reading of the format, written from the package comment.
func decode(canonical []byte) any {
	value, _ := decodeValue(canonical[1:])
	return value
}

func decodeValue(form []byte) (value any, rest []byte) {
	switch form[0] {
	case 'n':
		return nil, form[1:]
	case 'f', 't':
		return form[0] == 't', form[1:]
	case '[':
		return decodeArray(form[1:])
	case '{':
		return decodeObject(form[1:])
	}
	size, width := binary.Uvarint(form[1:])
	start := 1 + width
	end := start + int(size)
	payload, rest := form[start:end], form[end:]
	switch form[0] {
	case 'd':
		return json.Number(payload), rest
	case 's':
		return string(payload), rest
	case 'b':
		return payload, rest
	case 'i':
		seconds := int64(binary.BigEndian.Uint64(payload))
		return time.Unix(seconds, int64(binary.BigEndian.Uint32(payload[8:]))), rest
	default:
		panic("not a canonical form")
	}
}

func decodeArray(form []byte) (any, []byte) {
	array := []any{}
	for form[0] != ']' {
		var element any
		element, form = decodeValue(form)
		array = append(array, element)
	}
	return array, form[1:]
}

func decodeObject(form []byte) (any, []byte) {
	object := map[any]any{}
	for form[0] != '}' {
		var key, value any
		key, form = decodeValue(form)
		value, form = decodeValue(form)
		object[mapKey(key)] = value
	}
	return object, form[1:]
}

// mapKey turns bytes, which can't be a key in Go, into an array of them.
func mapKey(key any) any {
	payload, ok := key.([]byte)
	if !ok {
		return key
	}
	array := reflect.New(reflect.ArrayOf(len(payload), reflect.TypeFor[byte]())).Elem()
	reflect.Copy(array, reflect.ValueOf(payload))
	return array.Interface()
}
