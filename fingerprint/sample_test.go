package fingerprint_test

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// The samples have the shapes that the package is for: a match result and a
// bet.

var sampleSchema = fingerprint.Schema{Name: "match.result", Version: 3}

type match struct {
	Room     string    `json:"room"`
	Winner   *int      `json:"winner"`
	Suspect  bool      `json:"suspect"`
	Finished time.Time `json:"finished"`
	Replay   string    `json:"replay,omitzero"`
	Players  []player  `json:"players"`
	TraceID  string    `json:"trace" fingerprint:"-"`
}

type player struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Seat   int    `json:"seat"`
	Score  int    `json:"score"`
	Kicked bool   `json:"kicked"`
}

func sampleMatch() match {
	winner := 1
	m := match{
		Room:     "01932c07-9f7c-7d0e-8a53-5cf8a1d0b7aa",
		Winner:   &winner,
		Finished: time.Date(2026, time.March, 4, 20, 15, 30, 123_000_000, time.UTC),
		Replay:   "replays/2026/03/01932c07.bin",
		TraceID:  "4bf92f3577b34da6a3ce929d0e0e4736",
	}
	for i := range 10 {
		m.Players = append(m.Players, player{
			ID: 100_000 + int64(i), Name: fmt.Sprintf("Spieler %d größer", i), Seat: i, Score: 1500 - 17*i,
		})
	}
	return m
}

type bet struct {
	Wallet   string          `json:"wallet"`
	Stake    decimal.Decimal `json:"stake"`
	Currency string          `json:"currency"`
	Policy   string          `json:"policy"`
	Bonus    *string         `json:"bonus"`
	Legs     []leg           `json:"legs"`
}

type leg struct {
	Event   string          `json:"event"`
	Market  string          `json:"market"`
	Outcome string          `json:"outcome"`
	Odds    decimal.Decimal `json:"odds"`
	Quoted  time.Time       `json:"quoted"`
}

func sampleBet() bet {
	b := bet{
		Wallet: "w-118", Stake: decimal.RequireFromString("12.50"), Currency: "EUR", Policy: "any-higher",
	}
	for i := range 5 {
		b.Legs = append(b.Legs, leg{
			Event: fmt.Sprintf("sr:match:%d", 41_000_000+i), Market: "1x2", Outcome: "home",
			Odds:   decimal.New(int64(185+i), -2),
			Quoted: time.Date(2026, time.March, 4, 20, 15, i, 0, time.UTC),
		})
	}
	return b
}

func sampleMap() map[string]any {
	return map[string]any{
		"room": "01932c07", "winner": 1, "suspect": false, "scores": []any{1500, 1483, 1466},
		"teams": map[string]any{"red": []any{"a", "b"}, "blue": []any{"c", "d"}},
	}
}
