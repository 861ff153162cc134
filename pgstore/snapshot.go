package pgstore

import (
	"fmt"
	"strconv"
	"strings"
)

// firstNormalNumber is the first number that the server gives a transaction,
// also each time that the 32 bits which it counts in have run out.
const firstNormalNumber = 3

// openTransactions returns the numbers, ascending, of all transactions that a
// snapshot can't see and that may still end: those that it names, and all that
// had been given from its upper bound on. A snapshot names none of the latter,
// though their transactions are as open as the others: its bound is only the
// highest number of one that has ended. Some of them may have ended since.
//
// The text is the snapshot's own, "lowest:bound:number,number,…", and the age of
// the first number when the snapshot had been taken. The server's numbers have
// 64 bits in a snapshot and never repeat; an age is of the lower 32.
func openTransactions(text string) ([]uint64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return nil, fmt.Errorf("the server calls its snapshot %q", text)
	}
	var open []uint64
	for named := range strings.SplitSeq(parts[2], ",") {
		if named == "" {
			continue
		}
		number, err := strconv.ParseUint(named, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the server calls its snapshot %q: %w", text, err)
		}
		open = append(open, number)
	}
	bound, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the server calls its snapshot %q: %w", text, err)
	}
	age, err := strconv.ParseInt(parts[3], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the server calls its snapshot %q: %w", text, err)
	}
	given := int32(uint32(age) + firstNormalNumber - uint32(bound)) //nolint:gosec // all of them modulo 32 bits
	if given < 0 {
		return nil, fmt.Errorf("the server calls its snapshot %q, which is of later than it was taken", text)
	}
	for range given {
		open = append(open, bound)
		bound++
	}
	return open, nil
}
