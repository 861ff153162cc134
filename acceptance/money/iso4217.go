package money

// This module generates its scales from the list that ISO 4217's maintenance
// agency publishes, and is kept up to date. Those of golang.org/x/text/currency
// are CLDR's, which serve display and differ in more than twenty currencies (no
// decimals for IQD and PKR); govalues/money lacks codes such as CLF and SLE, and
// gives ISK two decimals.
import iso "github.com/bojanz/currency"

// isoCurrency returns the currency of ISO 4217 that has the code.
func isoCurrency(code string) (Currency, bool) {
	scale, found := iso.GetDigits(code)
	if !found || scale > MaxScale {
		return Currency{}, false
	}
	return Currency{code: code, scale: scale}, true
}

// isoCurrencies returns all currencies of ISO 4217 by their codes.
func isoCurrencies() map[string]Currency {
	codes := iso.GetCurrencyCodes()
	currencies := make(map[string]Currency, len(codes))
	for _, code := range codes {
		if currency, found := isoCurrency(code); found {
			currencies[code] = currency
		}
	}
	return currencies
}
