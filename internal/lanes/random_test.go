package lanes_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// TestRandomSchedules lets a relay, committing processes and an operator do what
// chance says, and looks at every record that is handed out: nothing earlier of
// its ordering key may be pending and not handed out, nothing that is handed
// out comes again, and in the end everything has come.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	schedules := 400
	if testing.Short() {
		schedules = 60
	}
	for seed := range uint64(schedules) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				newPlay(t, seed).run()
			})
		})
	}
}

// play is one schedule.
type play struct {
	*rig
	random   *rand.Rand
	source   *lanes.Source
	holdBack bool

	open []*lanestest.Transaction
	// locked are the keys of open transactions.
	locked map[*lanestest.Transaction][]string
	// hand is what is handed out, by key, in the order in which it came.
	hand map[string][]outbox.Record
	// late are requeued under GoOn: they may come after what follows them.
	late map[int64]bool
}

func newPlay(t *testing.T, seed uint64) *play {
	t.Helper()
	p := &play{
		rig:    newRig(t),
		random: rand.New(rand.NewPCG(seed, 1)),
		locked: make(map[*lanestest.Transaction][]string),
		hand:   make(map[string][]outbox.Record),
		late:   make(map[int64]bool),
	}
	p.holdBack = p.random.IntN(2) == 0
	p.source = p.rig.source(func(cfg *lanes.Config) { cfg.HoldBack = p.holdBack })
	p.source.SetNarrow(int64(1 + p.random.IntN(60)))
	return p
}

func (p *play) run() {
	acts := []struct {
		weight int
		act    func()
	}{
		{20, p.beginSome},
		{20, p.endOne},
		{30, p.ask},
		{15, p.deliver},
		{6, p.fail},
		{2, p.bury},
		{3, p.operate},
		{5, p.wait},
	}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	for range 300 {
		pick := p.random.IntN(total)
		for _, a := range acts {
			if pick -= a.weight; pick < 0 {
				a.act()
				break
			}
		}
	}
	p.finish()
}

func (p *play) key() string { return string(rune('a' + p.random.IntN(6))) }

func (p *play) beginSome() {
	held := make(map[string]bool)
	for _, keys := range p.locked {
		for _, key := range keys {
			held[key] = true
		}
	}
	var keys []string
	for range p.random.IntN(4) {
		if key := p.key(); !held[key] {
			keys = append(keys, key)
		}
	}
	tx := p.begin(keys...)
	p.open = append(p.open, tx)
	p.locked[tx] = keys
}

func (p *play) endOne() {
	if len(p.open) == 0 {
		return
	}
	at := p.random.IntN(len(p.open))
	tx := p.open[at]
	p.open = slices.Delete(p.open, at, at+1)
	delete(p.locked, tx)
	if p.random.IntN(8) == 0 {
		tx.Rollback()
	} else {
		tx.Commit()
	}
}

func (p *play) ask() {
	var except []string
	for range p.random.IntN(4) {
		except = append(except, p.key())
	}
	p.take(1+p.random.IntN(6), except...)
}

// take asks for records, and looks at those that come.
func (p *play) take(limit int, except ...string) int {
	p.Helper()
	out := make(map[int64]bool)
	for _, records := range p.hand {
		for i := range records {
			out[position(records[i])] = true
		}
	}
	records := p.next(p.source, limit, except...)
	if len(records) > limit {
		p.Fatalf("Next(%d) returned %d records", limit, len(records))
	}
	for i := range records {
		record := &records[i]
		key, at := record.Event.OrderingKey, position(*record)
		if slices.Contains(except, key) {
			p.Fatalf("%s%d came though its key was to be left out", key, at)
		}
		if out[at] {
			p.Fatalf("%s%d came again", key, at)
		}
		p.wantFirst(key, at, out)
		out[at] = true
		p.hand[key] = append(p.hand[key], *record)
	}
	return len(records)
}

// wantFirst checks that what is handed out is the first of its key.
func (p *play) wantFirst(key string, at int64, out map[int64]bool) {
	p.Helper()
	for _, row := range p.memory.Pending() {
		if row.Event.OrderingKey == key && row.Position < at && !out[row.Position] && !p.late[row.Position] {
			p.Fatalf("%s%d came before %s%d", key, at, key, row.Position)
		}
	}
	letters, _ := p.memory.DeadLetters(p.Context(), "", 1000)
	for i := range letters {
		if letters[i].Event.OrderingKey == key && letters[i].HoldsBack {
			p.Fatalf("%s%d came though dead letter %s holds it back", key, at, letters[i].ID)
		}
	}
}

func position(record outbox.Record) int64 {
	at, _ := strconv.ParseInt(record.ID, 10, 64)
	return at
}

// pick returns a key of which something is handed out. Empty: there is none.
func (p *play) pick() string {
	keys := slices.Sorted(maps.Keys(p.hand))
	if len(keys) == 0 {
		return ""
	}
	return keys[p.random.IntN(len(keys))]
}

func (p *play) keep(key string, records []outbox.Record) {
	if len(records) == 0 {
		delete(p.hand, key)
	} else {
		p.hand[key] = records
	}
}

func (p *play) deliver() {
	key := p.pick()
	if key == "" {
		return
	}
	n := 1 + p.random.IntN(len(p.hand[key]))
	leased, _, done := p.source.Lease(p.hand[key][:n])
	defer done()
	if len(leased) != n {
		p.Fatalf("leased %q of %q", text(leased), text(p.hand[key][:n]))
	}
	p.remove(p.source, leased...)
	p.keep(key, p.hand[key][n:])
}

// fail releases what is handed out of a key, from somewhere on.
func (p *play) fail() {
	key := p.pick()
	if key == "" {
		return
	}
	from := p.random.IntN(len(p.hand[key]))
	p.source.Release(p.hand[key][from:])
	p.keep(key, p.hand[key][:from])
}

func (p *play) bury() {
	key := p.pick()
	if key == "" {
		return
	}
	err := p.source.SetAside(p.Context(), p.hand[key][0], outbox.Refusal{Reason: "no", Attempts: 1})
	if err != nil {
		p.Fatalf("SetAside = %v", err)
	}
	p.source.Release(p.hand[key][1:])
	delete(p.hand, key)
}

// operate requeues or discards a dead letter, in this process or another.
func (p *play) operate() {
	letters, err := p.memory.DeadLetters(p.Context(), "", 1000)
	if err != nil || len(letters) == 0 {
		return
	}
	letter := letters[p.random.IntN(len(letters))]
	if p.random.IntN(3) == 0 {
		err = p.memory.Discard(p.Context(), letter.ID, "gone")
	} else {
		at, _ := strconv.ParseInt(letter.ID, 10, 64)
		p.late[at] = !letter.HoldsBack
		err = p.memory.Requeue(p.Context(), letter.ID)
	}
	if err != nil {
		p.Fatal(err)
	}
	if p.random.IntN(2) == 0 {
		p.source.Reopened(letter.Event.Ordering())
	}
}

func (p *play) wait() {
	p.pass(time.Duration(p.random.IntN(int(20 * time.Second))))
}

// finish ends what is open and delivers all there is.
func (p *play) finish() {
	for len(p.open) > 0 {
		p.endOne()
	}
	letters, _ := p.memory.DeadLetters(p.Context(), "", 1000)
	for i := range letters {
		at, _ := strconv.ParseInt(letters[i].ID, 10, 64)
		p.late[at] = !letters[i].HoldsBack
		if err := p.memory.Requeue(p.Context(), letters[i].ID); err != nil {
			p.Fatal(err)
		}
	}
	for range 100 {
		for p.take(5) > 0 {
			for key := p.pick(); key != ""; key = p.pick() {
				p.deliver()
			}
		}
		for key := p.pick(); key != ""; key = p.pick() {
			p.deliver()
		}
		p.wait()
	}
	if left := p.memory.Pending(); len(left) > 0 {
		p.Fatalf("%d events never came; the first is %s%d", len(left), left[0].Event.OrderingKey, left[0].Position)
	}
}
