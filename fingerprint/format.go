package fingerprint

import (
	"encoding/binary"
	"strconv"
	"time"
)

// The canonical form, as the package comment draws it. Do not change any of
// these: digests made from them are stored.
const (
	formatVersion = 0x01

	tagNull    = 'n'
	tagFalse   = 'f'
	tagTrue    = 't'
	tagNumber  = 'd'
	tagText    = 's'
	tagBytes   = 'b'
	tagInstant = 'i'

	tagArray     = '['
	tagArrayEnd  = ']'
	tagObject    = '{'
	tagObjectEnd = '}'

	instantSize = 12
)

const (
	// MaxDepth is how many arrays and objects may stand inside one another,
	// where a Go value's pointers and interfaces count too. A cycle has no
	// end and so goes beyond it.
	MaxDepth = 256
	// MaxSize is the greatest length in bytes of a canonical form and of a
	// JSON text.
	MaxSize = 16 << 20
)

// appendScalar appends a whole scalar.
func appendScalar[T string | []byte](buf []byte, tag byte, payload T) []byte {
	buf = append(buf, tag)
	buf = binary.AppendUvarint(buf, uint64(len(payload)))
	return append(buf, payload...)
}

func appendBool(buf []byte, value bool) []byte {
	if value {
		return append(buf, tagTrue)
	}
	return append(buf, tagFalse)
}

func appendInstant(buf []byte, instant time.Time) []byte {
	buf = append(buf, tagInstant, instantSize)
	//nolint:gosec // The bits are what is wanted: two's complement.
	buf = binary.BigEndian.AppendUint64(buf, uint64(instant.Unix()))
	//nolint:gosec // Nanosecond is in [0, 999999999].
	return binary.BigEndian.AppendUint32(buf, uint32(instant.Nanosecond()))
}

func appendInt(buf []byte, value int64) []byte {
	buf = append(buf, tagNumber, 0)
	start := len(buf)
	return sealNumber(strconv.AppendInt(buf, value, 10), start, 0)
}

func appendUint(buf []byte, value uint64) []byte {
	buf = append(buf, tagNumber, 0)
	start := len(buf)
	return sealNumber(strconv.AppendUint(buf, value, 10), start, 0)
}
