package simulation_test

import (
	"hash/fnv"
	"sync"
	"time"
)

// dice decides what chance decides while a world runs. The nth roll of a name
// depends on the seed, the name and n alone, so that goroutines which race with
// each other don't change each other's luck.
type dice struct {
	seed uint64

	mu    sync.Mutex
	rolls map[string]uint64
}

func newDice(seed uint64) *dice { return &dice{seed: seed, rolls: make(map[string]uint64)} }

// roll returns a number from [0, 1).
func (d *dice) roll(name string) float64 {
	d.mu.Lock()
	n := d.rolls[name]
	d.rolls[name]++
	d.mu.Unlock()
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return float64(mix(mix(d.seed^hash.Sum64())+n)>>11) / (1 << 53)
}

// look returns a number from [0, 1) that stays the same for a name.
func (d *dice) look(name string) float64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return float64(mix(mix(d.seed^hash.Sum64()))>>11) / (1 << 53)
}

func (d *dice) chance(name string, probability float64) bool {
	return probability > 0 && d.roll(name) < probability
}

// between returns a duration, to the nanosecond: hardly two are the same, so
// what takes them hardly ever ends at the same instant.
func (d *dice) between(name string, least, most time.Duration) time.Duration {
	return least + time.Duration(d.roll(name)*float64(most-least))
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
