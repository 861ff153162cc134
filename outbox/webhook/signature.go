package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// The headers of Standard Webhooks.
const (
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

const (
	maxIDHeader        = 8 << 10
	maxSignatureHeader = 4 << 10
	// maxSignatures bounds the work that a stranger's request can cause.
	maxSignatures = 16
)

// sign adds the three headers of Standard Webhooks: who sent it under which id,
// when, and a signature by each key, so that a receiver that knows one of them
// is content while keys are changed.
func sign(header http.Header, keys []SignatureKey, id string, now time.Time, body []byte) {
	seconds := strconv.FormatInt(now.Unix(), 10)
	header.Set(IDHeader, id)
	header.Set(TimestampHeader, seconds)
	if len(keys) == 0 {
		return
	}
	content := signedContent(id, seconds, body)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = key.sign(content)
	}
	header.Set(SignatureHeader, strings.Join(signatures, " "))
}

// signedContent returns what a signature covers. Neither id nor seconds holds a
// full stop, so that no two requests have one content.
func signedContent(id, seconds string, body []byte) []byte {
	content := make([]byte, 0, len(id)+len(seconds)+len(body)+2)
	content = append(content, id...)
	content = append(content, '.')
	content = append(content, seconds...)
	content = append(content, '.')
	return append(content, body...)
}

// eventID returns the webhook-id of one event: its id, with what a header
// cannot hold, and full stops, in percent-encoding.
func eventID(e *event.Event) string {
	return percentEncode(e.ID, func(b byte) bool { return mustEncode(b) || b == '.' })
}

// batchID returns the webhook-id of a batch, which follows from the events in
// it and their order.
func batchID(items []item) string {
	sum := sha256.New()
	for _, it := range items {
		for _, part := range []string{it.event.Source, it.event.ID} {
			sum.Write(binary.AppendUvarint(nil, uint64(len(part)))) // never fails, see hash.Hash
			sum.Write([]byte(part))
		}
	}
	return "batch_" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// claimedSignature is one entry of a signature header.
type claimedSignature struct {
	version string
	bytes   []byte
}

// parseSignatures reads a webhook-signature header: one or more entries
// "version,base64" with one space between them. Entries of a version that is
// not known are left out: they are for others.
func parseSignatures(header string) ([]claimedSignature, error) {
	if len(header) > maxSignatureHeader {
		return nil, fmt.Errorf("it must have at most %d bytes, has %d", maxSignatureHeader, len(header))
	}
	entries := strings.Split(header, " ")
	if len(entries) > maxSignatures {
		return nil, fmt.Errorf("it must have at most %d signatures, has %d", maxSignatures, len(entries))
	}
	var signatures []claimedSignature
	for _, entry := range entries {
		version, encoded, found := strings.Cut(entry, ",")
		if !found || version == "" {
			return nil, errors.New("it must have entries of the form version,base64 with one space between them")
		}
		if version != symmetricVersion && version != asymmetricVersion {
			continue
		}
		decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return nil, errors.New("it has a signature that is not base64 with padding")
		}
		signatures = append(signatures, claimedSignature{version, decoded})
	}
	return signatures, nil
}
