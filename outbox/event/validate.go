package event

import (
	"errors"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/settleonce/settleonce/internal/strictjson"
)

// Validate reports every field that breaks a rule, all at once. errors.Is(err,
// [ErrInvalid]) is true for what it returns, and errors.As finds an
// [*InvalidError].
func (e *Event) Validate() error {
	var found violations
	e.check(&found)
	return found.err()
}

// ValidateOrderingKey reports the rules that an ordering key breaks. The empty
// one is valid: the key itself orders.
func ValidateOrderingKey(orderingKey string) error {
	var found violations
	checkText(&found, "orderingkey", orderingKey, MaxOrderingKey)
	return found.err()
}

func (e *Event) check(found *violations) {
	checkRequired(found, "id", e.ID, MaxText)
	checkRequired(found, "source", e.Source, MaxText)
	checkURI(found, "source", e.Source, false)
	checkRequired(found, "type", e.Type, MaxText)
	checkText(found, "subject", e.Subject, MaxText)
	checkText(found, "dataschema", e.DataSchema, MaxText)
	checkURI(found, "dataschema", e.DataSchema, true)
	e.checkTime(found)
	e.checkData(found)
	e.Key.check(found, "key.")
	checkText(found, "orderingkey", e.OrderingKey, MaxOrderingKey)
	if e.Fingerprint.IsZero() {
		found.add("fingerprint", "must be set")
	}
	if e.Position < 0 {
		found.add("position", "must not be negative, is %d", e.Position)
	}
	e.checkExtensions(found)
}

func checkURI(found *violations, field, text string, absolute bool) {
	if text == "" {
		return
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsFunc(text, notInURI):
		found.add(field, "must be a URI reference (RFC 3986)")
	case absolute && !parsed.IsAbs():
		found.add(field, "must be an absolute URI (RFC 3986)")
	}
}

// notInURI reports the characters that url.Parse takes and RFC 3986 does not:
// they must be percent-encoded.
func notInURI(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

func (e *Event) checkTime(found *violations) {
	if e.Time.IsZero() {
		return
	}
	if _, offset := e.Time.Zone(); offset%60 != 0 {
		found.add("time", "must have a zone offset of whole minutes (RFC 3339)")
	}
	if _, err := e.Time.MarshalText(); err != nil {
		found.add("time", "must have a form in RFC 3339 (year 0 to 9999, zone offset under 24 hours)")
	}
}

func (e *Event) checkData(found *violations) {
	checkText(found, "datacontenttype", e.DataContentType, MaxText)
	isJSON, err := jsonMediaType(e.DataContentType)
	if err != nil {
		found.add("datacontenttype", "must be a media type (RFC 2046)")
	}
	if !isJSON || e.Data == nil || found.has("datacontenttype") {
		return
	}
	if err := strictjson.Check(e.Data); err != nil {
		found.add("data", "of a JSON media type %v", err)
	}
}

// jsonMediaType reports whether data of contentType stands in the JSON format
// as a JSON value: CloudEvents 1.0, JSON Event Format, section 3.1.1.
func jsonMediaType(contentType string) (bool, error) {
	if contentType == "" {
		return true, nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false, err
	}
	_, subtype, found := strings.Cut(mediaType, "/")
	if !found {
		return false, errors.New("no subtype")
	}
	return subtype == "json" || strings.HasSuffix(subtype, "+json"), nil
}

func (e *Event) checkExtensions(found *violations) {
	if len(e.Extensions) > MaxExtensions {
		found.add("extensions", "must be at most %d, are %d", MaxExtensions, len(e.Extensions))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
		checkExtension(found, name, e.Extensions[name])
	}
}

func checkExtension(found *violations, name string, value any) {
	field := extensionField(name)
	if !extensionName(name) {
		found.add(field, "must have a name of 1 to %d characters of a-z and 0-9", MaxExtensionName)
	}
	if reserved(name) {
		found.add(field, "is a name that the envelope itself uses")
	}
	switch value := value.(type) {
	case string:
		checkText(found, field, value, MaxText)
	case bool, int32:
	default:
		found.add(field, "must be a string, a bool or an int32, is %T", value)
	}
}

// extensionField names an extension in an error. A name that is none is quoted
// and cut, so that it can't fill or forge a line of a log.
func extensionField(name string) string {
	if extensionName(name) {
		return "extensions." + name
	}
	if len(name) > MaxExtensionName {
		return "extensions." + strconv.Quote(name[:MaxExtensionName]) + "…"
	}
	return "extensions." + strconv.Quote(name)
}

func extensionName(name string) bool {
	if name == "" || len(name) > MaxExtensionName {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// reserved lists the attributes that the type maps itself, so that an
// extension can't take their names.
func reserved(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "dataschema",
		"datacontenttype", "data", "data_base64",
		AttributeTenant, AttributeScope, AttributeOperation, AttributeKeyID,
		AttributeOrderingKey, AttributeFingerprint, AttributePosition:
		return true
	default:
		return false
	}
}
