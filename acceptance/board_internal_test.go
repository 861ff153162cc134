package acceptance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
)

func TestFenceRefusesABoardThatBreaksTheContract(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("v", MaxText+1)
	for _, test := range []struct {
		name    string
		version FenceVersion
		change  func(*Board)
		want    string // what the error says behind "Quote: "
	}{
		{"no clock", FenceTick, func(b *Board) { b.Now = time.Time{} }, "Now must be set"},
		{"no quotes", FenceTick, func(b *Board) { b.Quotes = nil }, "Quotes must have one quote a leg, has 0 for 2 legs"},
		{"a quote too few", FenceTick, func(b *Board) { b.Quotes = b.Quotes[:1] }, "Quotes must have one quote a leg, has 1 for 2 legs"},
		{"a quote too many", FenceTick, func(b *Board) { b.Quotes = append(b.Quotes, b.Quotes[0]) }, "Quotes must have one quote a leg, has 3 for 2 legs"},
		{"no status", FenceTick, func(b *Board) { b.Quotes[1].Status = "" }, `Quotes[1].Status must be open, suspended or closed, is ""`},
		{"another status", FenceTick, func(b *Board) { b.Quotes[0].Status = "Open" }, `Quotes[0].Status must be open, suspended or closed, is "Open"`},
		{"no odds", FenceTick, func(b *Board) { b.Quotes[1].Odds = money.Odds{} }, "Quotes[1].Odds must be set"},
		{"no version", FenceTick, func(b *Board) { b.Quotes[1].Version = "" }, "Quotes[1].Version must be set"},
		{"no version beside a material one", FenceMaterial, func(b *Board) { b.Quotes[1].Version = "" }, "Quotes[1].Version must be set"},
		{"a version that nobody can consent to", FenceTick, func(b *Board) { b.Quotes[1].Version = long }, "Quotes[1].Version must have at most 128 bytes, has 129"},
		{"a version that is no text", FenceTick, func(b *Board) { b.Quotes[1].Version = "\xff" }, "Quotes[1].Version must be valid UTF-8"},
		{"a version with a line feed", FenceTick, func(b *Board) { b.Quotes[1].Version = "t1\n" }, "Quotes[1].Version must not hold control characters"},
		{"no material version", FenceMaterial, func(b *Board) { b.Quotes[1].Material = "" }, "Quotes[1].Material must be set"},
		{"a long material version", FenceMaterial, func(b *Board) { b.Quotes[1].Material = long }, "Quotes[1].Material must have at most 128 bytes, has 129"},
		{"a long material version that nobody compares", FenceTick, func(b *Board) { b.Quotes[1].Material = long }, "Quotes[1].Material must have at most 128 bytes, has 129"},
		{
			"a refusal without the form of a code", FenceTick,
			func(b *Board) { b.Quotes[0] = Quote{Refusal: "No!"} },
			`Quotes[0].Refusal must have 1 to 64 bytes of a-z, 0-9, '.', '-' and '_', beginning with a letter, is "No!"`,
		},
		{
			"a refusal with what is no text", FenceTick,
			func(b *Board) {
				b.Quotes[0] = Quote{Refusal: CodeSelectionUnknown, Version: "\xff", Material: long, Status: "\xff"}
			},
			`Quotes[0].Version must be valid UTF-8; Quotes[0].Material must have at most 128 bytes, has 129; ` +
				`Quotes[0].Status must be open, suspended or closed, is "\xff"`,
		},
		{
			"everything at once", FenceMaterial,
			func(b *Board) { *b = Board{Quotes: []Quote{{}, {}}} },
			`Now must be set; ` +
				`Quotes[0].Version must be set; Quotes[0].Material must be set; Quotes[0].Odds must be set; ` +
				`Quotes[0].Status must be open, suspended or closed, is ""; ` +
				`Quotes[1].Version must be set; Quotes[1].Material must be set; Quotes[1].Odds must be set; ` +
				`Quotes[1].Status must be open, suspended or closed, is ""`,
		},
	} {
		for _, granted := range []bool{false, true} { // a grant excuses no callback
			legs := []Leg{seen(t, "t1", "2"), seen(t, "t1", "2")}
			board := &Board{Now: boardNow, Quotes: []Quote{open(t, "t1", "m1", "2"), open(t, "t1", "m1", "2")}}
			test.change(board)
			got, err := fence(legs, OddsChange{}, test.version, board, granted)
			if !errors.Is(err, ErrCallback) {
				t.Errorf("%s: verdict is %s with error %v, want ErrCallback", test.name, verdict(got), err)
				continue
			}
			if want := ErrCallback.Error() + ": Quote: " + test.want; err.Error() != want {
				t.Errorf("%s: error is\n%v, want\n%s", test.name, err, want)
			}
		}
	}
}

func TestFenceAllowsWhatABoardMayLeaveOut(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("v", MaxText)
	for name, test := range map[string]struct {
		version FenceVersion
		quote   Quote
	}{
		"no material version under the tick": {FenceTick, open(t, "t1", "", "2")},
		"the longest versions":               {FenceMaterial, open(t, longest, longest, "2")},
		"a refusal alone":                    {FenceMaterial, Quote{Refusal: CodeSelectionUnknown}},
		"a refusal with what is known":       {FenceTick, Quote{Refusal: CodeSelectionUnknown, Version: "t1", Status: MarketClosed}},
	} {
		board := &Board{Now: boardNow, Quotes: []Quote{test.quote}}
		if _, err := fence([]Leg{seen(t, "t1", "2")}, OddsChange{}, test.version, board, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
