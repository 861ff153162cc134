package fingerprint_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

// maxFactor is the c in c·n·log n. The hostile inputs below need less than a
// quarter of it; a quadratic step would need thousands.
const maxFactor = 4

func checkSteps(t *testing.T, what string, steps, size int) {
	t.Helper()
	if most := maxFactor * float64(size) * math.Log2(float64(size)+2); float64(steps) > most {
		t.Errorf("%s: %d steps for %d bytes, want at most %.0f", what, steps, size, most)
	}
}

func TestStepsOfJSON(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(n int) string{
		"white space":      func(n int) string { return strings.Repeat(" ", n) + "1" + strings.Repeat("\n", n) },
		"long text":        func(n int) string { return `"` + strings.Repeat("x", n) + `"` },
		"escapes":          func(n int) string { return `"` + strings.Repeat(`\u0041\n`, n/8) + `"` },
		"surrogates":       func(n int) string { return `"` + strings.Repeat(`\ud83d\ude00`, n/12) + `"` },
		"digits":           func(n int) string { return "1" + strings.Repeat("0", n) + "." + strings.Repeat("0", n) + "1" },
		"flat array":       func(n int) string { return "[" + strings.Repeat("1,", n/2) + "1]" },
		"empty objects":    func(n int) string { return "[" + strings.Repeat("{},", n/3) + "{}]" },
		"ascending keys":   func(n int) string { return object(n/12, func(i int) int { return i }) },
		"descending keys":  func(n int) string { return object(n/12, func(i int) int { return -i }) },
		"alternating keys": func(n int) string { return object(n/12, func(i int) int { return i * (1 - 2*(i%2)) }) },
		"scattered keys":   func(n int) string { return object(n/12, func(i int) int { return i * 7919 % 10007 * 10007 * i }) },
		"long common keys": longKeys,
		"nested unordered": nested,
		"deepest and wide": func(n int) string {
			return strings.Repeat("[", 256) + strings.Repeat("1,", n/2) + "1" + strings.Repeat("]", 256)
		},
		"objects in objects": func(n int) string {
			inner := object(30, func(i int) int { return -i })
			return `{"z":[` + strings.Repeat(inner+",", n/len(inner)) + `0],"a":` + inner + `}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1 << 8; n <= 1<<17; n <<= 3 {
				input := text(n)
				steps, _, err := fingerprint.StepsJSON([]byte(input))
				if err != nil {
					t.Fatal(err)
				}
				checkSteps(t, fmt.Sprintf("n=%d", n), steps, len(input))
				if steps < len(input)/2 {
					t.Errorf("n=%d: %d steps for %d bytes: the count misses work", n, steps, len(input))
				}
			}
		})
	}
}

func object(count int, key func(i int) int) string {
	var text strings.Builder
	text.WriteByte('{')
	for i := range count {
		fmt.Fprintf(&text, `"%d-%d":%d,`, key(i), i, i)
	}
	text.WriteString(`"":0}`)
	return text.String()
}

// longKeys has keys that differ at their ends alone, as many as they are long.
func longKeys(n int) string {
	width := int(math.Sqrt(float64(n)))
	common := strings.Repeat("k", width)
	var text strings.Builder
	text.WriteByte('{')
	for i := range width {
		fmt.Fprintf(&text, `"%s%d":0,`, common, (i*7919)%width+width*i)
	}
	text.WriteString(`"":0}`)
	return text.String()
}

// nested has its weight at the bottom of objects that all have to be ordered.
func nested(n int) string {
	const depth = 250
	return strings.Repeat(`{"z":`, depth) + `"` + strings.Repeat("x", n) + `"` + strings.Repeat(`,"a":1}`, depth)
}

func TestStepsOfGoValues(t *testing.T) {
	t.Parallel()
	type row struct {
		A, B string
		C    *int
		D    float64
	}
	for name, value := range map[string]func(n int) any{
		"text":  func(n int) any { return strings.Repeat("x", n) },
		"bytes": func(n int) any { return make([]byte, n) },
		"list":  func(n int) any { return make([]int, n) },
		"rows":  func(n int) any { return make([]row, n) },
		"map": func(n int) any {
			m := map[string]int{}
			for i := range n {
				m[fmt.Sprint("key", i)] = i
			}
			return m
		},
		"numbered map": func(n int) any {
			m := map[int]any{}
			for i := range n {
				m[i] = map[int]int{i: i, -i: i}
			}
			return m
		},
		"nested maps": func(n int) any {
			value := any(strings.Repeat("x", n))
			for range 100 {
				value = map[string]any{"a": 1, "m": value, "z": 2}
			}
			return value
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1 << 6; n <= 1<<12; n <<= 3 {
				steps, size, err := fingerprint.Steps(value(n))
				if err != nil {
					t.Fatal(err)
				}
				checkSteps(t, fmt.Sprintf("n=%d", n), steps, size)
			}
		})
	}
}
