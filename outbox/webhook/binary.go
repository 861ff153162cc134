package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/settleonce/settleonce/internal/strictjson"
	"github.com/settleonce/settleonce/outbox/event"
)

// attributePrefix begins the header of every attribute in binary mode.
const attributePrefix = "Ce-"

// maxAttributes is more than any event has.
const maxAttributes = 64

// defaultContentType is what an event's data are where it does not say.
const defaultContentType = "application/json"

// setBinary writes the attributes of e into header: CloudEvents 1.0.2, HTTP
// Protocol Binding, section 3.1. They are those of the JSON format, taken from
// it, so that no mode has one that another lacks.
func setBinary(header http.Header, e *event.Event) error {
	contentType, err := contentType(e)
	if err != nil {
		return err
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	members, err := attributes(e)
	if err != nil {
		return err
	}
	for _, member := range members {
		value, err := attributeText(member)
		if err != nil {
			return err
		}
		header.Set(attributePrefix+member.Name, percentEncode(value, mustEncode))
	}
	return nil
}

// contentType returns the datacontenttype, which is not encoded, or an error
// where a header would make something else of it.
func contentType(e *event.Event) (string, error) {
	text := e.DataContentType
	if text == "" && e.Data != nil {
		return defaultContentType, nil
	}
	notInHeader := func(r rune) bool { return r < ' ' || r >= 0x7f }
	switch {
	case strings.HasPrefix(strings.ToLower(text), "application/cloudevents"):
		return "", fmt.Errorf("in binary mode datacontenttype %q announces another mode", text)
	case strings.TrimSpace(text) != text || strings.ContainsFunc(text, notInHeader):
		return "", fmt.Errorf("in binary mode datacontenttype %q must be printable ASCII without space around it", text)
	default:
		return text, nil
	}
}

// attributes returns the members of e's JSON form, without its data and their
// media type.
func attributes(e *event.Event) ([]strictjson.Member, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	envelope := *e
	envelope.Data, envelope.DataContentType = nil, ""
	text, err := envelope.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return strictjson.Object(text, maxAttributes)
}

// attributeText returns the canonical text of an attribute: CloudEvents 1.0.2,
// section 3.3. The JSON of a boolean or an integer is that text.
func attributeText(member strictjson.Member) (string, error) {
	if member.Value[0] != '"' {
		return string(member.Value), nil
	}
	var text string
	if err := json.Unmarshal(member.Value, &text); err != nil {
		return "", fmt.Errorf("webhook: attribute %s: %w", member.Name, err)
	}
	return text, nil
}

// mustEncode reports the bytes that section 3.1.3.2 of the binding wants
// encoded.
func mustEncode(b byte) bool { return b <= ' ' || b >= 0x7f || b == '"' || b == '%' }

// percentEncode returns text with those of its bytes encoded that encode picks.
func percentEncode(text string, encode func(byte) bool) string {
	const digits = "0123456789ABCDEF"
	var encoded strings.Builder
	for i := range len(text) {
		b := text[i]
		if encode(b) {
			encoded.Write([]byte{'%', digits[b>>4], digits[b&0xf]})
			continue
		}
		encoded.WriteByte(b)
	}
	return encoded.String()
}
