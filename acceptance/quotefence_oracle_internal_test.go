package acceptance

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
)

// TestFenceAgreesWithTheOracle holds the fence against a slow one that was
// written from the documentation of Quote, on bets small enough that every
// branch comes up often.
func TestFenceAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 11))
	tally := make(map[string]int)
	for range 20_000 {
		bet := randomBet(t, random)
		got, err := fence(bet.legs, bet.change, bet.version, &bet.board, bet.granted)
		if err != nil {
			t.Fatal(err)
		}
		want := bet.oracle()
		if verdict(got) != want.verdict {
			t.Fatalf("verdict is %s, want %s, of %+v", verdict(got), want.verdict, bet)
		}
		for i, leg := range got.legs {
			if leg.Quote.Odds.String() != want.odds[i] {
				t.Fatalf("legs[%d] stands at %s, want %s, of %+v", i, leg.Quote.Odds, want.odds[i], bet)
			}
		}
		word := want.verdict
		if got.code != "" {
			word = string(got.code)
		}
		tally[word]++
	}
	for _, word := range []string{"take", "requote", "market_suspended", "market_closed", "cut_off_passed", "house.a", "house.b"} {
		if tally[word] < 100 {
			t.Errorf("%s came up %d times, which shows little", word, tally[word])
		}
	}
}

type oracleBet struct {
	legs    []Leg
	change  OddsChange
	version FenceVersion
	board   Board
	granted bool
}

func randomBet(t *testing.T, random *rand.Rand) *oracleBet {
	t.Helper()
	prices := []string{"1.9", "1.9000000001", "1.8999999999", "2", "2.0000000001", "2.1"}
	some := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	bet := &oracleBet{board: Board{Now: boardNow}, granted: random.IntN(4) == 0}
	bet.version = []FenceVersion{FenceTick, FenceMaterial}[random.IntN(2)]
	bet.change.Policy = OddsPolicy(some("", "exact", "better", "any"))
	if bet.change.Policy == OddsAny {
		bet.change.WithinBasisPoints = []int{1, 499, 500, 501, 10_000}[random.IntN(5)]
	}
	for range 1 + random.IntN(4) {
		bet.legs = append(bet.legs, seen(t, some("1", "1", "2"), some(prices...)))
		quote := open(t, some("1", "1", "2"), some("1", "1", "2"), some(prices...))
		quote.Status = MarketStatus(some("open", "open", "open", "open", "open", "open", "suspended", "closed"))
		quote.Refusal = Code(some("", "", "", "", "", "", "", "", "house.a", "house.b"))
		if random.IntN(4) == 0 {
			quote.CutOff = boardNow.Add(time.Duration(random.IntN(5) - 1))
		}
		bet.board.Quotes = append(bet.board.Quotes, quote)
	}
	return bet
}

type oracleAnswer struct {
	verdict string
	odds    []string
}

func (b *oracleBet) oracle() oracleAnswer {
	answer := oracleAnswer{verdict: "take"}
	for i := range b.legs {
		answer.odds = append(answer.odds, b.board.Quotes[i].Odds.String())
		if !b.legTaken(i) {
			answer.verdict = "requote"
		}
	}
	if b.granted {
		answer.verdict = "take"
	}
	// From the least reason to the highest, and from the last leg to the
	// first, so that what is written last is what counts.
	for _, reason := range []func(Quote) (bool, Code){
		func(q Quote) (bool, Code) { return q.Status == "suspended", "market_suspended" },
		func(q Quote) (bool, Code) {
			return q.CutOff != (time.Time{}) && q.CutOff.UnixNano() <= b.board.Now.UnixNano(), "cut_off_passed"
		},
		func(q Quote) (bool, Code) { return q.Status == "closed", "market_closed" },
		func(q Quote) (bool, Code) { return q.Refusal != "", q.Refusal },
	} {
		for i := len(b.legs) - 1; i >= 0; i-- {
			if rejects, code := reason(b.board.Quotes[i]); rejects {
				answer.verdict = fmt.Sprintf("%s by legs[%d]", code, i)
			}
		}
	}
	if b.granted && answer.verdict == "take" {
		for i := range b.legs {
			answer.odds[i] = b.legs[i].Odds.String()
		}
	}
	return answer
}

// legTaken computes in fractions, where the fence computes in decimals.
func (b *oracleBet) legTaken(i int) bool {
	leg, quote := b.legs[i], b.board.Quotes[i]
	current, requested := ratio(quote.Odds), ratio(leg.Odds)
	lost := new(big.Rat).Sub(requested, current)
	lost.Quo(lost, requested)
	materialKept, tickKept := quote.Material == leg.QuoteVersion, quote.Version == leg.QuoteVersion
	if b.version == FenceMaterial {
		tickKept = materialKept
	} else {
		materialKept = true
	}
	switch b.change.Policy {
	case "better":
		return materialKept && lost.Sign() <= 0
	case "any":
		return materialKept && lost.Cmp(big.NewRat(int64(b.change.WithinBasisPoints), 10_000)) <= 0
	default:
		return tickKept && lost.Sign() == 0
	}
}

func ratio(odds money.Odds) *big.Rat {
	value, _ := new(big.Rat).SetString(odds.String())
	return value
}
