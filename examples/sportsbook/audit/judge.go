package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Report is the audit's judgement.
type Report struct {
	Figures
	// Late counts the bets that were accepted while their market was
	// suspended.
	Late int
	// Open counts the bets that are neither settled nor voided.
	Open int
	// Sums says for each currency what the accounts of each kind come to.
	Sums Sums
	// Problems says in words what is not as it should be. Empty: the books
	// are in order.
	Problems []string
}

// InOrder reports whether nothing is lost, doubled or unbalanced, and nothing
// else is wrong either.
func (r *Report) InOrder() bool {
	return r.Lost == 0 && r.Doubled == 0 && r.Unbalanced == 0 && len(r.Problems) == 0
}

// Judge compares the facts. It fills everything in [Figures] but Store, Faults
// and Seconds, which are not the audit's to know.
func Judge(facts Facts) Report {
	b := file(facts)
	report := Report{}
	report.Requests = len(facts.Sent)
	for _, command := range b.commands() {
		report.judgeAnswers(b, command)
		report.judgeSent(b, command)
		report.judgeBet(b, command)
		report.judgeClosing(b, command)
	}
	for _, command := range facts.Tables.StrayLegs {
		report.doubled("command %v has a leg, and no bet", command)
	}
	report.judgeOneReceipt("of the house", facts.Receipts)
	report.judgeConsents(b)
	report.judgeSuspensions(b, facts.Suspensions)
	report.judgeJournal(facts.Tables)
	report.judgeStripes(b, facts.Tables)
	report.judgeEvents(b)
	report.judgeProjection(b, &facts)
	report.countReceipts(facts.Receipts)
	return report
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Report) lost(format string, args ...any) {
	r.Lost++
	r.problem("lost: "+format, args...)
}

func (r *Report) doubled(format string, args ...any) {
	r.Doubled++
	r.problem("doubled: "+format, args...)
}

func (r *Report) unbalanced(format string, args ...any) {
	r.Unbalanced++
	r.problem("unbalanced: "+format, args...)
}

// books are the facts by command.
type books struct {
	tenant    string
	sent      map[bet.Reference]bool
	answers   map[bet.Reference][]Answer
	receipts  map[receipt.Key]receipt.Receipt
	decisions map[bet.Reference]decision // of the final receipts that can be read
	bets      map[bet.Reference][]bet.Bet
	holds     map[bet.Reference][]bet.Hold
	holdEnds  map[bet.Reference][]bet.HoldEnd
	closings  map[bet.Reference][]bet.Closing
	movements map[bet.Reference][]wallet.Transaction
	referrals map[bet.Reference][]bet.Referral
	wanted    map[telling]receipt.Receipt // what the world is to be told, and why
	told      map[telling]map[string]bool // the events that tell it, by ID
	results   map[string]market.Result    // by market
}

func file(facts Facts) books {
	tables := facts.Tables
	b := books{
		tenant:    facts.Tenant,
		sent:      make(map[bet.Reference]bool),
		receipts:  make(map[receipt.Key]receipt.Receipt),
		decisions: make(map[bet.Reference]decision),
		results:   make(map[string]market.Result),
		answers:   by(facts.Answers, func(a Answer) bet.Reference { return a.Reference }),
		bets:      by(tables.Bets, func(b bet.Bet) bet.Reference { return b.Reference }),
		holds:     by(tables.Holds, func(h bet.Hold) bet.Reference { return h.Reference }),
		holdEnds:  by(tables.HoldEnds, func(h bet.HoldEnd) bet.Reference { return h.Reference }),
		closings:  by(tables.Closings, func(c bet.Closing) bet.Reference { return c.Reference }),
		referrals: by(tables.Referrals, func(r bet.Referral) bet.Reference { return r.Reference }),
		wanted:    make(map[telling]receipt.Receipt),
		told:      tellings(&facts),
		movements: by(tables.Journal, func(t wallet.Transaction) bet.Reference {
			return bet.Reference{Wallet: t.Wallet, ID: t.Bet}
		}),
	}
	for _, m := range tables.Markets {
		if m.Result != nil {
			b.results[m.ID] = *m.Result
		}
	}
	for _, command := range facts.Sent {
		b.sent[command] = true
	}
	for _, stored := range facts.Receipts {
		b.receipts[stored.Key] = stored
		if of, announced := tellingOf(facts.Tenant, &stored); announced {
			b.wanted[of] = stored
		}
	}
	for _, command := range b.commands() {
		if stored, found := b.placing(command); found {
			if read, err := readDecision(stored.Value); err == nil {
				b.decisions[command] = read
			}
		}
	}
	return b
}

func by[K comparable, T any](rows []T, key func(T) K) map[K][]T {
	grouped := make(map[K][]T)
	for _, row := range rows {
		grouped[key(row)] = append(grouped[key(row)], row)
	}
	return grouped
}

// commands returns every command that anything names, in a fixed order.
func (b *books) commands() []bet.Reference {
	named := maps.Clone(b.sent)
	for key := range b.receipts {
		if key.Tenant == b.tenant {
			named[bet.Reference{Wallet: key.Scope, ID: key.ID}] = true
		}
	}
	for _, references := range [][]bet.Reference{
		slices.Collect(maps.Keys(b.answers)), slices.Collect(maps.Keys(b.bets)), slices.Collect(maps.Keys(b.holds)),
		slices.Collect(maps.Keys(b.holdEnds)), slices.Collect(maps.Keys(b.closings)), slices.Collect(maps.Keys(b.movements)),
	} {
		for _, reference := range references {
			named[reference] = true
		}
	}
	return slices.SortedFunc(func(yield func(bet.Reference) bool) {
		for reference := range named {
			if reference.ID != "" && !yield(reference) { // a deposit is for no bet
				return
			}
		}
	}, func(a, b bet.Reference) int { return cmp.Or(cmp.Compare(a.Wallet, b.Wallet), cmp.Compare(a.ID, b.ID)) })
}

// placing returns the receipt of a command's final decision.
func (b *books) placing(c bet.Reference) (receipt.Receipt, bool) {
	stored, found := b.receipts[acceptance.PlacingKey(b.tenant, c.Wallet, c.ID)]
	return stored, found
}

// referral returns the receipt of the fact that a command was referred.
func (b *books) referral(c bet.Reference) (receipt.Receipt, bool) {
	stored, found := b.receipts[acceptance.ReferralKey(b.tenant, c.Wallet, c.ID)]
	return stored, found
}

// closing returns the receipt of how a bet was closed.
func (b *books) closing(c bet.Reference) (receipt.Receipt, bool) {
	stored, found := b.receipts[acceptance.ClosingKey(b.tenant, c.Wallet, c.ID)]
	return stored, found
}

// judgeOneReceipt checks that no key has a second receipt. Nothing here corrects
// one.
func (r *Report) judgeOneReceipt(whose string, receipts []receipt.Receipt) {
	seen := make(map[receipt.Key]bool)
	for _, stored := range receipts {
		if seen[stored.Key] {
			r.doubled("there is more than one receipt %s under %s", whose, stored.Key)
		}
		seen[stored.Key] = true
	}
}

func (r *Report) countReceipts(receipts []receipt.Receipt) {
	for _, stored := range receipts {
		switch stored.Outcome {
		case acceptance.Accepted:
			r.Accepted++
		case acceptance.Rejected:
			r.Rejected++
		case acceptance.Requoted:
			r.Requoted++
		case acceptance.Pending:
			r.Pending++
		case settle.Settled:
			r.Settled++
		case settle.Voided:
			r.Voided++
		}
	}
}
