package acceptance

import (
	"context"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Config says how a [Runner] decides. Tx is the store's transaction, Bet what
// Place returns: a type that encoding/json writes and reads back.
//
// The callbacks are called from many goroutines. They read what they are given
// and change nothing in it: a command has its fingerprint already, and a leg
// changed afterwards would be placed under the fingerprint of the one that was
// sent. A callback that returns an error decides nothing: the command may be
// sent again.
//
// What is stored is answered as it is read back. What encoding/json loses of a
// Bet, such as unexported fields, bytes of a string that are no UTF-8 and the
// last digits of a large integer in an any, is in no answer; only Events sees
// the Bet as Place returned it. The JSON of a Bet is durable: a release that
// renames a field of it reads the old one as empty.
type Config[Tx, Bet any] struct {
	// Store keeps the receipts, in the database of the bets. It must be set.
	Store receipt.Store[Tx]

	// Rules are today's rules for commands. They are applied after the look
	// for a stored decision, so that a tightened one never breaks a replay.
	// Zero: the package's own limits alone.
	Rules Rules

	// UnorderedLegs makes the order of the legs irrelevant to the fingerprint
	// of accumulators and systems, and to their consents. Receipts made before
	// a change of it still answer their commands. False: another order is
	// another command.
	UnorderedLegs bool

	// OmitCanonical leaves the command's canonical form out of its receipt.
	// Then a conflict cannot name the fields that differ. False: it is stored.
	OmitCanonical bool

	// Authorize says whether the player may bet at all. It runs outside of
	// any transaction. Nil: everybody may.
	Authorize func(ctx context.Context, c *Command) (Ruling, error)

	// Risk says how evidence is obtained. Zero: none is.
	Risk Risk

	// LockWallet locks the wallet and reads what it has available. It runs
	// first in the transaction, with the command's key locked. What it locks
	// stays so until the transaction ends. It must be set.
	LockWallet func(ctx context.Context, tx Tx, c *Command) (Wallet, error)

	// Quote reads the market state of every leg under a guard that keeps a
	// suspension from committing before the bet does, and the database's
	// clock. The wallet is locked. It must be set.
	Quote func(ctx context.Context, tx Tx, c *Command) (Board, error)

	// Fence says which version a leg's QuoteVersion is. Zero: [FenceTick].
	Fence FenceVersion

	// Limits applies the limits of player and house. Wallet and markets are
	// locked, the quotes hold. It runs before funds are compared. Nil: there
	// are none.
	Limits func(ctx context.Context, tx Tx, p *Proposal) (Ruling, error)

	// Exposure applies the limits of what the house may lose. Funds suffice.
	// Nil: there are none.
	Exposure func(ctx context.Context, tx Tx, p *Proposal) (Ruling, error)

	// Place writes the bet and its hold. All steps have passed. It must be
	// set.
	Place func(ctx context.Context, tx Tx, p *Proposal) (Bet, error)

	// Events returns what a decision tells the world, to be committed with
	// it. The receipt in it is not written yet and zero. Nil: nothing.
	Events func(c *Command, d *Decision[Bet]) ([]event.Event, error)

	// Referral says what becomes of commands that a trader must decide. Zero:
	// nothing is referred, and such commands are rejected.
	Referral Referral[Tx]

	// Unreceipted are codes of rejections that are answered and not stored:
	// nothing is committed, and the same command is decided anew each time.
	// That spares a row for each attempt of a player without funds, and
	// risks this: a client that saw the rejection and gave up may find the
	// bet accepted by a late retry of its own. What ends a referral is stored
	// whatever its code, or it would stay pending. Nil: every rejection is
	// stored.
	Unreceipted []Code

	// WalletConcurrency bounds the decisions on one wallet that this process
	// runs at once. Those that wait hold no connection. Zero is 1.
	WalletConcurrency int

	// Isolation is the isolation level: READ COMMITTED or SERIALIZABLE, the
	// same in all processes. SERIALIZABLE guards against what is done at
	// SERIALIZABLE alone: whoever else spends from a wallet must run at it too,
	// or change the row that LockWallet locks, which does for both levels. So
	// a change of level needs a moment without bets.
	// REPEATABLE READ is refused: with it two bets of 70 were both taken from
	// a wallet of 100, because a locked but unchanged wallet row hides the
	// hold that the other inserted. Zero: READ COMMITTED.
	Isolation receipt.Isolation

	// MaxAttempts bounds the runs of the transaction. Zero is 5, and 20 at
	// SERIALIZABLE, where bets on different wallets fail each other now and
	// then.
	MaxAttempts int

	// LockTimeout, CommitTimeout, ResolveTimeout, NoWait and OnReceipt are as
	// in package settle. LockTimeout, where it is set, also bounds the wait
	// for the wallet's turn; where it is zero, that ends with the context.
	// OnReceipt hears of a referral too, whose receipt has the outcome
	// [Pending] and the key [ReferralKey].
	LockTimeout    time.Duration
	CommitTimeout  time.Duration
	ResolveTimeout time.Duration
	NoWait         bool
	OnReceipt      func(ctx context.Context, r receipt.Receipt, replayed bool) error

	// Observer hears of every answer. Nil: nobody does.
	Observer Observer

	// Logger hears what an operator needs, and never a payload, unless the text
	// of an error that a callback returns has one. Nil: silence.
	Logger *slog.Logger

	// Now is the process's clock, for the durations that Observer hears and
	// what Risk.TotalTimeout leaves for a second call. Nothing else is judged
	// by it. Nil: time.Now.
	Now func() time.Time
}

// Rules are today's rules for commands.
type Rules struct {
	// Currencies knows the house's currencies and their scales. Nil: ISO 4217.
	Currencies *money.Registry
	// MaxLegs and MaxLines bound a bet. Zero: the package's own limits.
	MaxLegs  int
	MaxLines int64
	// Kinds are the bet types that are taken. Nil: all.
	Kinds []BetKind
	// Check returns every further field that is wrong, with the rule. Nil:
	// nothing is.
	Check func(c *Command) []FieldError
}

// Risk says how risk evidence is obtained.
type Risk struct {
	// Assess asks for evidence on the command with this fingerprint. It runs
	// outside of any transaction, before the wait for the wallet's turn, so
	// evidence should outlast the queue of a hot wallet: it is asked for
	// afresh but once. An error, and evidence that is not whole, count as no
	// evidence. Nil: no evidence is needed.
	Assess func(ctx context.Context, c *Command, sum fingerprint.Digest) (Evidence, error)
	// CallTimeout bounds one call, TotalTimeout all calls for one command, by
	// ending the context of Assess, which must heed it: the runner waits until
	// Assess returns. Zero: 1 second, and twice the CallTimeout.
	CallTimeout  time.Duration
	TotalTimeout time.Duration
	// Admissible reports whether evidence of a version counts. Nil: all does.
	Admissible func(version string) bool
	// Skew is how far in the future evidence may be issued, by the database's
	// clock. Zero: 2 seconds.
	Skew time.Duration
	// Unavailable says what becomes of a command for which no valid evidence
	// came, twice. Zero: it is rejected.
	Unavailable Fallback
}

// Fallback is what stands in for evidence that did not come.
type Fallback int

const (
	// FallbackReject rejects the command.
	FallbackReject Fallback = iota
	// FallbackRefer refers it to a trader.
	FallbackRefer
)

// Referral says what becomes of commands that a trader must decide.
type Referral[Tx any] struct {
	// Lifetime is how long a trader has, by the database's clock. Zero:
	// nothing is referred.
	Lifetime time.Duration
	// Record writes what the trader's desk needs into the transaction that
	// commits the referral. Nothing but the command's key is locked. Nil:
	// the referral's receipt is all there is.
	Record func(ctx context.Context, tx Tx, p *PendingBet) error
}

// PendingBet is a command that was referred.
type PendingBet struct {
	// Command is what was asked for, without Meta.
	Command *Command
	// Evidence asked for the trader. Nil where none came.
	Evidence *EvidenceReference
	// ExpiresAt is when the referral becomes a rejection.
	ExpiresAt time.Time
}
