package money

import (
	"encoding"
	"encoding/json"
	"errors"
	"strings"

	"github.com/settleonce/settleonce/internal/strictjson"
)

const (
	maxAmountWords = maxAmountText + 1 + MaxCode
	// maxAmountJSON leaves room for white space and escapes.
	maxAmountJSON = 256
)

var (
	_ json.Marshaler           = Amount{}
	_ json.Unmarshaler         = (*Amount)(nil)
	_ encoding.TextMarshaler   = Amount{}
	_ encoding.TextUnmarshaler = (*Amount)(nil)
)

// MarshalText returns what [Amount.String] does. errors.Is(err, [ErrInvalid]) is
// true where a is not set.
func (a Amount) MarshalText() ([]byte, error) {
	if !a.IsSet() {
		return nil, errNotSet()
	}
	return []byte(a.String()), nil
}

// UnmarshalText reads a number, one space and a code. The scale is ISO 4217's
// where the code is one of its; else it is the number of decimals in the text,
// at most [MaxScale], and [Registry.Check] must have its say. errors.Is(err,
// [ErrCurrency]) is true where the code is wrong, and errors.Is(err,
// [ErrInvalid]) where anything else is.
func (a *Amount) UnmarshalText(text []byte) error {
	if len(text) > maxAmountWords {
		return broken(amountField, "must have at most %d bytes, has %d", maxAmountWords, len(text))
	}
	number, code, found := strings.Cut(string(text), " ")
	if !found {
		return broken(amountField, "must be a number, a space and a currency's code; is %s", excerpt(string(text)))
	}
	decoded, err := decodeAmount(number, code)
	if err != nil {
		return err
	}
	*a = decoded
	return nil
}

// MarshalJSON returns an object of two strings, as in {"amount":"10.00",
// "currency":"EUR"}, without the space. errors.Is(err, [ErrInvalid]) is true
// where a is not set.
func (a Amount) MarshalJSON() ([]byte, error) {
	if !a.IsSet() {
		return nil, errNotSet()
	}
	// Neither part holds what JSON would escape.
	return []byte(`{"amount":"` + a.number() + `","currency":"` + a.code + `"}`), nil
}

// UnmarshalJSON reads an object that has the two members, each once, each a
// string, and no others. A JSON number is refused, since many readers take it
// for a float and lose digits on the way. The scale and the errors are those of
// [Amount.UnmarshalText]. A pointer to an Amount takes null as nil, before this
// method has a say.
func (a *Amount) UnmarshalJSON(text []byte) error {
	if len(text) > maxAmountJSON {
		return broken(amountField, "must have at most %d bytes of JSON, has %d", maxAmountJSON, len(text))
	}
	members, err := strictjson.Object(text, 2)
	if err != nil {
		return broken(amountField, "%v", err)
	}
	for _, member := range members {
		if member.Name != amountField && member.Name != currencyField {
			return broken(amountField, "must have no member %s", excerpt(member.Name))
		}
	}
	number, amountErr := textMember(members, amountField)
	code, codeErr := textMember(members, currencyField)
	if err := errors.Join(amountErr, codeErr); err != nil {
		return err
	}
	decoded, err := decodeAmount(number, code)
	if err != nil {
		return err
	}
	*a = decoded
	return nil
}

func textMember(members []strictjson.Member, name string) (string, error) {
	member := strictjson.Find(members, name)
	if member == nil {
		return "", broken(name, "is missing")
	}
	return jsonText(name, member.Value)
}

// jsonText returns the string that value is, which is one valid JSON text.
func jsonText(field string, value []byte) (string, error) {
	switch first := value[0]; {
	case first == 'n':
		return "", broken(field, "must not be null")
	case first == '-' || first >= '0' && first <= '9':
		return "", broken(field, "must be a JSON string: a JSON number loses digits in readers that take it for a float")
	case first != '"':
		return "", broken(field, "must be a JSON string")
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err
}

// decodeAmount returns the amount that was written without a registry.
func decodeAmount(text, code string) (Amount, error) {
	n, err := readNumber(amountField, text, maxAmountText)
	if err != nil {
		return Amount{}, err
	}
	currency, err := decodedCurrency(code, n.decimals())
	if err != nil {
		return Amount{}, err
	}
	return amountOfNumber(n, currency)
}

func decodedCurrency(code string, decimals int) (Currency, error) {
	if currency, found := isoCurrency(code); found {
		return currency, nil
	}
	if err := checkCode(code); err != nil {
		return Currency{}, err
	}
	if decimals > MaxScale {
		return Currency{}, broken(amountField, "must have at most %d decimals, has %d", MaxScale, decimals)
	}
	return Currency{code: code, scale: uint8(decimals)}, nil //nolint:gosec // at most MaxScale
}
