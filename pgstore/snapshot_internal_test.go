package pgstore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenTransactions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []uint64
	}{
		"nothing is open":              {"100:100::97", nil},
		"some below the bound":         {"90:100:90,95,99:97", []uint64{90, 95, 99}},
		"some from the bound on":       {"100:100::99", []uint64{100, 101}},
		"both":                         {"98:100:98:98", []uint64{98, 100}},
		"beyond 32 bits":               {"4294967390:4294967400:4294967390:103", []uint64{4294967390, 4294967400, 4294967401}},
		"where the 32 bits begin anew": {"4294967295:4294967295::1", []uint64{4294967295, 4294967296, 4294967297, 4294967298, 4294967299}},
		"an age beyond 31 bits":        {"3000000000:3000000000::-1294967298", []uint64{3000000000}},
	}
	for name, test := range tests {
		got, err := openTransactions(test.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOpenTransactionsOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1:1:", "1:1::1:1", "1:x::1", "1:-1::1", "1:1:x:1", "1:1:1,:x", "1:1::99999999999", "1:100::90"} {
		if open, err := openTransactions(text); err == nil || open != nil {
			t.Errorf("%q: %d, %v, want an error", text, open, err)
		}
	}
}

// FuzzOpenTransactions makes texts as the server would, wherever its numbers
// stand.
func FuzzOpenTransactions(f *testing.F) {
	f.Add(uint64(100), uint8(2), uint16(0))
	f.Add(uint64(1)<<32-1, uint8(9), uint16(0b101))
	f.Fuzz(func(t *testing.T, bound uint64, given uint8, named uint16) {
		const most = 16
		bound = max(bound, most) >> 1
		var want []uint64
		var names []string
		for i := range uint64(most) {
			if number := bound - most/2 + i; named&(1<<i) != 0 && number < bound {
				want = append(want, number)
				names = append(names, strconv.FormatUint(number, 10))
			}
		}
		for i := range uint64(given) {
			want = append(want, bound+i)
		}
		age := int32(uint32(bound) + uint32(given) - firstNormalNumber)
		got, err := openTransactions(fmt.Sprintf("%d:%d:%s:%d", bound-min(bound, most), bound, strings.Join(names, ","), age))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("open (-want +got):\n%s", diff)
		}
	})
}
