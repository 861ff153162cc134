package lobbytest

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// ended is when all matches of the suite end.
func ended() time.Time { return time.Date(2026, 5, 6, 20, 30, 0, 0, time.UTC) }

// equateOrder compares tables as sets of rows, and none with no rows.
func equateOrder() []gocmp.Option {
	return []gocmp.Option{
		sorted(func(a, b lobby.PlayerResult) int { return cmp.Compare(a.Player, b.Player) }),
		sorted(func(a, b lobby.Rating) int { return cmp.Compare(a.Player, b.Player) }),
		sorted(func(a, b lobby.Release) int { return cmp.Compare(a.Player, b.Player) }),
		gocmp.FilterValues(func(a, b any) bool { return empty(a) && empty(b) }, gocmp.Ignore()),
	}
}

func sorted[T any](compare func(a, b T) int) gocmp.Option {
	isSorted := func(rows []T) bool { return slices.IsSortedFunc(rows, compare) }
	return gocmp.FilterValues(
		func(a, b []T) bool { return !isSorted(a) || !isSorted(b) },
		gocmp.Transformer("sorted", func(rows []T) []T { return slices.SortedFunc(slices.Values(rows), compare) }),
	)
}

func empty(value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Slice && v.Len() == 0
}
