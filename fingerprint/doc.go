// Package fingerprint computes the canonical, versioned digest of everything
// that changes an effect, so that a receiver can tell an honest retry from
// another request under the same key.
//
// [Of] digests a Go value, [OfJSON] a JSON text. Both write the value's
// canonical form, put the [Schema] in front and take SHA-256.
//
// # Guarantees
//
// Equal effects have equal digests. None of these counts: the order of object
// members, map entries and struct fields; white space and escapes in JSON; how
// a number is written (1.50, 1.5 and 15e-1); a time's zone and monotonic
// clock reading.
//
// Different effects have different canonical forms, and so different digests
// as far as SHA-256 has no collisions. Numbers are compared by exact value,
// however large (2^53+1 is not 2^53). Absent is not null, null is not empty,
// "a","bc" is not "ab","c", the number 1 is not the text "1", bytes are not
// text, and a decimal is not its text. Unicode text is not normalized: two
// spellings of one glyph differ.
//
// What has no such form is an error, a [*ValueError] that names the path:
// nothing is rounded, replaced or left out in silence. Of a Go value those are
// NaN and infinities, text that is not UTF-8, map keys that become equal,
// channels, functions, complex numbers and addresses, unexported fields, and
// fields that share a name; of JSON, syntax errors, duplicate members,
// unpaired surrogates, text that is not UTF-8, and anything behind the value.
// Of both: more than [MaxDepth] levels, which a cycle has too, an exponent of
// ten beyond [MaxExponent], and a canonical form longer than [MaxSize].
//
// # Go values
//
// Every field counts, even one that its json tag keeps off the wire, unless it
// is tagged `fingerprint:"-"`. Its name is the one in its fingerprint tag, else the one
// in its json tag, else its Go name: the name on the wire is a promise
// already, and renaming a Go field should not turn retries into conflicts.
//
// A field is absent where it holds a nil pointer, interface, slice or map, and
// where it is tagged omitzero (in either tag) and is zero as encoding/json
// defines it. So a release may add an optional field, and no old digest
// changes. The json option omitempty means nothing here. A nil slice element
// or map value is null, since its place counts.
//
//   - bool: a boolean. Integers and floats of every size: a number. A float
//     counts as the exact value of the double, so float64(0.1) is another
//     number than the decimal 0.1, and money must never be a float (I9).
//   - string: text. []byte and [N]byte: bytes, as long as the element type
//     has no methods of its own for JSON or text.
//   - [decimal.Decimal], json.Number: a number, of any exponent at no cost.
//     An invalid decimal.NullDecimal counts as a nil pointer would.
//   - [time.Time]: an instant, to the nanosecond. time.Duration: a number.
//   - json.RawMessage and whatever [json.Marshaler] returns: the JSON value.
//     What [encoding.TextMarshaler] returns: text. The methods are called for
//     a value in any place, addressable or not; a field that they leave out
//     does not count.
//   - Structs and maps: an object. Map keys may be of any type that comes out
//     as a scalar, and keep their type: the key 1 is not the key "1".
//   - Slices and arrays: an array. Pointers and interfaces: what they hold.
//
// The fields of an embedded struct count as the outer struct's own, unless
// the embedded field has a name in a tag. Two fields of one name are an error,
// where encoding/json hides one of them. A struct that embeds a type with a
// method for JSON or text is read field by field, because that method may have
// been promoted and would then hide the other fields.
//
// The names of types do not count, so that a type can be renamed or moved. Two
// types behind one interface are told apart by their fields alone: where that
// is not enough, give them a field that names the kind.
//
// # Go values and JSON are two views
//
// Of(v) need not equal OfJSON of v's JSON: JSON cannot tell a decimal, a time
// or bytes from text, and writes a double in its shortest form. One schema
// uses one of the two. A receiver that has a Go type decodes first and uses
// [Of].
//
// # Canonical form
//
// The bytes are durable: digests made from them are stored in receipts.
//
//	canonical = version value
//	version   = 0x01
//	value     = null | false | true | scalar | array | object
//	null      = 'n'
//	false     = 'f'
//	true      = 't'
//	scalar    = ( 'd' | 's' | 'b' | 'i' ) length payload
//	array     = '[' value* ']'
//	object    = '{' ( key value )* '}'
//	key       = scalar | false | true
//	length    = the payload's bytes as an unsigned varint (encoding/binary)
//
//	'd' number:  [ "-" ] digits [ "e" exponent ], where digits has no leading
//	             and no trailing zero ("0" alone for zero), and the exponent of
//	             ten, itself a plain integer, is left out at zero
//	's' text:    UTF-8
//	'b' bytes:   as they are
//	'i' instant: seconds since 1970 UTC (8 bytes, two's complement) and
//	             nanoseconds within the second (4 bytes), big endian
//
// Keys ascend strictly by tag, then by payload, as bytes. Every part tells its
// own end, so no two values share a form.
//
//	digest = SHA-256( length schema canonical )
//
// where schema is [Schema.String] and length its bytes as an unsigned varint.
//
// [JCS] gives the form of RFC 8785 instead, for peers that speak it. It
// carries doubles, so it refuses numbers that a double would change; no digest
// of this package is made from it.
//
// # Concurrency and cost
//
// All functions may be called from any goroutine, while nobody changes the
// value. What a type looks like is worked out once and remembered for the life
// of the process. The work grows as n log n with the size of the canonical
// form and of the JSON texts in the value. A value's own methods run inside the
// call; their panics are the caller's.
package fingerprint
