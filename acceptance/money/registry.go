package money

import (
	"errors"

	"github.com/shopspring/decimal"
)

// Registry knows the currencies of a house: those of ISO 4217 that are in use,
// each with ISO's number of decimals, and the house's own, such as BTC or
// points. It never changes. The nil Registry and the zero Registry know ISO
// 4217 alone.
type Registry struct {
	known map[string]Currency // nil: ISO 4217 alone
}

// Definition defines a currency that is not in ISO 4217.
type Definition struct {
	// Code is the code, in the form that [Currency.Code] describes. It must
	// not be one of ISO 4217.
	Code string
	// Scale is the number of decimals of its amounts, from 0 to [MaxScale]. A
	// later release may raise it. A smaller one makes amounts that need more
	// decimals unreadable, and either changes the meaning of a column of minor
	// units.
	Scale int
}

// NewRegistry returns a registry of ISO 4217 and own. Its error names every
// wrong definition; errors.Is(err, [ErrCurrency]) is true for it.
func NewRegistry(own ...Definition) (*Registry, error) {
	registry := &Registry{known: isoCurrencies()}
	var wrong []error
	for _, definition := range own {
		currency, err := definition.currency()
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if _, twice := registry.known[definition.Code]; twice {
			wrong = append(wrong, broken(currencyField, "%s is defined twice", definition.Code))
			continue
		}
		registry.known[definition.Code] = currency
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return registry, nil
}

func (d Definition) currency() (Currency, error) {
	if err := checkCode(d.Code); err != nil {
		return Currency{}, err
	}
	if _, found := isoCurrency(d.Code); found {
		return Currency{}, broken(currencyField, "%s must not be defined: it is one of ISO 4217", d.Code)
	}
	if d.Scale < 0 || d.Scale > MaxScale {
		return Currency{}, broken(currencyField, "%s must have from 0 to %d decimals, has %d", d.Code, MaxScale, d.Scale)
	}
	return Currency{code: d.Code, scale: uint8(d.Scale)}, nil
}

// Currency returns the currency that has the code; letter case counts.
// errors.Is(err, [ErrCurrency]) is true where there is none.
func (r *Registry) Currency(code string) (Currency, error) {
	if currency, found := r.find(code); found {
		return currency, nil
	}
	if err := checkCode(code); err != nil {
		return Currency{}, err
	}
	return Currency{}, broken(currencyField, "%s is not known", code)
}

func (r *Registry) find(code string) (Currency, bool) {
	switch {
	case len(code) > MaxCode: // a map would read all of it
		return Currency{}, false
	case r == nil || r.known == nil:
		return isoCurrency(code)
	default:
		currency, found := r.known[code]
		return currency, found
	}
}

// Parse reads an amount from a number in the form that the package comment
// describes, with no more decimals than the currency has. errors.Is(err,
// [ErrCurrency]) is true where the code is not known, and errors.Is(err,
// [ErrInvalid]) where the text is wrong.
func (r *Registry) Parse(text, code string) (Amount, error) {
	currency, err := r.Currency(code)
	if err != nil {
		return Amount{}, err
	}
	return parseAmount(text, currency)
}

// Check returns a in the registry's currency of its code, with all the decimals
// that this currency has. It is how an amount that came as JSON or text enters
// the house. errors.Is(err, [ErrCurrency]) is true where the code is not known.
// errors.Is(err, [ErrInvalid]) is true where a has more decimals than the
// currency, even if those are zeros, and where a is not set; errors.Is(err,
// [ErrOverflow]) where a has too many digits once it has all decimals.
func (r *Registry) Check(a Amount) (Amount, error) {
	if !a.IsSet() {
		return Amount{}, errNotSet()
	}
	currency, err := r.Currency(a.code)
	if err != nil {
		return Amount{}, err
	}
	switch decimals := a.Currency().Scale(); {
	case decimals == currency.Scale():
		return a, nil
	case decimals > currency.Scale():
		return Amount{}, tooManyDecimals(decimals, currency)
	default:
		return a.withScale(currency.Scale())
	}
}

// FromMinor returns the amount of so many minor units, such as cents, of the
// currency that has the code. errors.Is(err, [ErrCurrency]) is true where the
// code is not known; there is no other error.
func (r *Registry) FromMinor(units int64, code string) (Amount, error) {
	currency, err := r.Currency(code)
	if err != nil {
		return Amount{}, err
	}
	return Amount{code: currency.code, value: decimal.New(units, exponent(currency.Scale()))}, nil
}

// FromNumeric returns the amount of n in the currency that has the code, as it
// was read from two columns. errors.Is(err, [ErrCurrency]) is true where the
// code is not known, and errors.Is(err, [ErrInvalid]) where n is not a whole
// number of minor units, too large, or not set. Zeros behind the currency's
// last decimal do not count: PostgreSQL's arithmetic adds them.
func (r *Registry) FromNumeric(n Numeric, code string) (Amount, error) {
	currency, err := r.Currency(code)
	if err != nil {
		return Amount{}, err
	}
	return n.amount(currency)
}
