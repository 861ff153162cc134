// Package money has exact amounts of money and betting odds that are checked at
// the door: [Amount], a decimal number with a [Currency], and [Odds], decimal
// odds within bounds. It keeps I9: nothing is a float, nothing is rounded unless
// the caller names the rule, and nothing is computed with before its size is
// known.
//
// # Guarantees
//
//   - An Amount is a whole number of its currency's minor units, of at most
//     [MaxDigits] digits. No call rounds, cuts or wraps around: what does not
//     fit is an error. [Amount.Return] and the conversions of odds do round,
//     once, from the exact value, by the [Rounding] they are given.
//   - A text is refused by its length before it is read, and by its form before
//     anything is computed, so that no input costs more than a fixed amount of
//     work, however long it is and whatever it stands for.
//   - Two currencies are never added or compared.
//   - Equality is by value. The types do not compile with ==, which would
//     compare addresses.
//   - Every form that is written (text, JSON, SQL) is read back as an equal
//     value, and a value is always written the same way. decimal's package
//     variables change none of them.
//
// All types are immutable values; they and a [Registry] may be used from any
// goroutine. Methods with pointer receivers fill a value in, and leave it as it
// was where they fail.
//
// # Form of a number
//
//	number   = [ "-" ] whole [ "." fraction ]
//	whole    = "0" | "1".."9" digit*
//	fraction = digit digit*
//
// with ASCII digits, and no minus sign before zero. That leaves out exponents
// (1e3), a plus sign, white space, separators of any kind, leading zeros, a
// point without a digit on both sides, NaN and infinities. Amounts may be
// written with fewer decimals than their currency has, but not with more, even
// where those are zeros: 10.000 EUR may come from somebody who means ten
// thousand.
//
// # Currencies
//
// A [Registry] says which codes there are and how many decimals each has: those
// of ISO 4217, and the caller's own. There is no global registry, so what is
// decoded from JSON or text has not been held against one: a code of ISO 4217
// gets ISO's scale, and any other code the number of decimals that are written.
// [Registry.Check] holds such an amount against the caller's registry, with the
// same rules as [Registry.Parse].
//
// ISO 4217 changes, and so do its codes here when the module that has them is
// updated. A code that was withdrawn can still be decoded, and goes on as the
// caller's own; one that ISO takes up while the caller has it makes
// [NewRegistry] fail, and the two must then be told apart by a new code.
//
// # Fingerprints
//
// An Amount fingerprinted as it stands counts with the decimals that its JSON
// has, so that 1.5 PTS and 1.50 PTS differ until both went through
// [Registry.Check]. Fingerprint [Amount.Canonical] instead, which has one form
// for equal amounts. Odds have one form already.
//
// # PostgreSQL
//
// An amount takes two columns, a number and its currency's code, and comes back
// through the registry. The number is a NUMERIC without precision and scale,
//
//	stake    numeric NOT NULL CHECK (stake = round(stake, 2) AND abs(stake) < 1e36),
//	currency text    NOT NULL,
//	odds     numeric NOT NULL CHECK (odds > 1 AND odds <= 1000000)
//
// or a bigint of minor units. A numeric(10,2) rounds 10.999 to 11.00 and says
// nothing; the CHECK refuses it. The upper bounds keep out infinities and NaN,
// which in PostgreSQL equals itself and is above all numbers. Where one column
// holds several currencies, the 2 becomes CASE currency WHEN 'JPY' THEN 0 WHEN
// 'KWD' THEN 3 ELSE 2 END.
//
//	_, err = tx.Exec(ctx, `INSERT INTO bets VALUES ($1, $2)`, stake.Numeric(), stake.Currency().Code())
//
//	var number money.Numeric
//	var code string
//	err = tx.QueryRow(ctx, `SELECT stake, currency FROM bets`).Scan(&number, &code)
//	stake, err = registry.FromNumeric(number, code)
//
// [Minor] is the same for minor units, and [Odds] are a column of their own.
// NULL is an error; a column that may be NULL is read into sql.Null[Numeric].
// Amount itself is no column type. The types need no registration with a
// driver: they work with pgx in each of its query modes and with database/sql.
package money
