package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// The parts of a record's file name. Do not change: they are on disks.
const (
	recordSuffix = ".json"
	badSuffix    = ".bad"
	reasonSuffix = ".reason"
	// What ends in it is never read.
	discardedSuffix = ".discarded"

	// maxEncodedKey leaves room for the time and every suffix within the 255
	// bytes that file systems allow.
	maxEncodedKey = 160
	hashMark      = '~'
	hashedPrefix  = maxEncodedKey - 1 - 2*sha256.Size

	nameTimeLayout = "20060102150405.000000000"
	maxRecordName  = maxEncodedKey + 1 + len(nameTimeLayout) + len(recordSuffix)
)

// recordName is the name of a record, taken apart.
type recordName struct {
	// key is the encoded key. Two keys have one encoding only if they are
	// equal, or if SHA-256 is broken.
	key string
	// time is the record's place in the order, in nanoseconds since 1970. No
	// two records of a directory share one.
	time int64
}

func (n recordName) String() string {
	return n.key + "-" + time.Unix(0, n.time).UTC().Format(nameTimeLayout) + recordSuffix
}

// parseRecordName reads what [recordName.String] writes and no other form.
func parseRecordName(text string) (recordName, error) {
	stem, found := strings.CutSuffix(text, recordSuffix)
	dash := len(stem) - len(nameTimeLayout) - 1
	if !found || dash < 1 || stem[dash] != '-' {
		return recordName{}, fmt.Errorf("%w: the name must be of the form {key}-{time}%s", ErrMalformed, recordSuffix)
	}
	at, err := time.Parse(nameTimeLayout, stem[dash+1:])
	if err != nil {
		return recordName{}, fmt.Errorf("%w: the name's time must be UTC of the form %s", ErrMalformed, nameTimeLayout)
	}
	name := recordName{key: stem[:dash], time: at.UnixNano()}
	// UnixNano is undefined outside 1678 to 2262, and the last nanosecond
	// has no successor.
	if name.time < 0 || name.time >= maxNameTime || name.String() != text {
		return recordName{}, fmt.Errorf("%w: the name's time must lie between 1970 and 2262", ErrMalformed)
	}
	if !encodedKey(name.key) {
		return recordName{}, fmt.Errorf("%w: the name's key is not of the form that a record has", ErrMalformed)
	}
	return name, nil
}

// maxNameTime is the beginning of 2262, in nanoseconds since 1970.
const maxNameTime = 9214646400 * int64(time.Second)

// encodeKey returns the form of a key that stands in file names.
func encodeKey(key event.Key) string {
	var text strings.Builder
	for i, part := range []string{key.Tenant, key.Scope, key.Operation, key.ID} {
		if i > 0 {
			text.WriteByte('.')
		}
		encodeKeyPart(&text, part)
	}
	if text.Len() <= maxEncodedKey {
		return text.String()
	}
	binary, _ := key.AppendBinary(nil) // It never fails.
	sum := sha256.Sum256(binary)
	return text.String()[:hashedPrefix] + string(hashMark) + hex.EncodeToString(sum[:])
}

func encodeKeyPart(text *strings.Builder, part string) {
	for i := range len(part) {
		if plainKeyByte(part[i]) && (i > 0 || part[i] != '-') {
			text.WriteByte(part[i])
			continue
		}
		fmt.Fprintf(text, "%%%02x", part[i])
	}
}

func plainKeyByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// encodedKey reports whether text has the characters and the length of an
// encoded key. Whether it belongs to its record, only the content can tell.
func encodedKey(text string) bool {
	for i := range len(text) {
		if !plainKeyByte(text[i]) && text[i] != '.' && text[i] != '%' && text[i] != hashMark {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxEncodedKey && text[0] != '-' && text[0] != '.'
}

// quarantinedName returns the nth name under which a file is set aside. A
// foreign name that would leave no room for the suffixes is cut, and ends in
// its hash.
func quarantinedName(name string, n int) string { return suffixedName(name, n, badSuffix) }

// discardedName returns the nth name for a file that was set aside and is
// discarded.
func discardedName(name string, n int) string {
	return suffixedName(withoutQuarantine(name), n, discardedSuffix)
}

func suffixedName(name string, n int, suffix string) string {
	if len(name) > maxRecordName {
		sum := sha256.Sum256([]byte(name))
		name = name[:hashedPrefix] + string(hashMark) + hex.EncodeToString(sum[:])
	}
	if n == 1 {
		return name + suffix
	}
	return fmt.Sprintf("%s.%d%s", name, n, suffix)
}

// withoutQuarantine returns what a file was called before it was set aside, as
// far as its name tells.
func withoutQuarantine(name string) string {
	name = strings.TrimSuffix(name, badSuffix)
	if end := strings.LastIndex(name, recordSuffix); end >= 0 {
		return name[:end+len(recordSuffix)]
	}
	return name
}

// parseQuarantinedName returns the record's name from the name under which it
// is set aside.
func parseQuarantinedName(text string) (recordName, error) {
	if !strings.HasSuffix(text, badSuffix) {
		return recordName{}, fmt.Errorf("%w: the name must end in %s", ErrMalformed, badSuffix)
	}
	return parseRecordName(withoutQuarantine(text))
}
