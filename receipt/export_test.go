package receipt

// FormatID lets the tests give NewID's form a clock and bits of their own.
var FormatID = formatID
