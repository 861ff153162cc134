package pgfault

import "fmt"

// Fault names a way to break a connection at COMMIT.
type Fault string

const (
	// CommitNotForwarded means that what came before COMMIT reaches the
	// server, COMMIT does not, and both sides are cut. The transaction is
	// rolled back as soon as the server notices.
	CommitNotForwarded Fault = "commit-not-forwarded"

	// AnswerLost means that COMMIT is forwarded, the server's answer is read,
	// no byte of the answer to COMMIT's pipeline is returned, and both sides
	// are cut.
	AnswerLost Fault = "answer-lost"

	// CompletionDropped means that COMMIT is forwarded, the answer is returned
	// up to the CommandComplete of COMMIT, which is dropped, and both sides
	// are cut. Where the server does not commit, its error or ROLLBACK is
	// returned, and the ReadyForQuery after it is dropped.
	CompletionDropped Fault = "completion-dropped"

	// CommitHeld means that what came before COMMIT reaches the server, and
	// the client is cut at once. COMMIT is forwarded on [Trap.Release]: a
	// backend that commits after its client has gone.
	CommitHeld Fault = "commit-held"
)

// Faults returns every fault.
func Faults() []Fault {
	return []Fault{CommitNotForwarded, AnswerLost, CompletionDropped, CommitHeld}
}

func (f Fault) check() error {
	for _, known := range Faults() {
		if f == known {
			return nil
		}
	}
	return fmt.Errorf("pgfault: fault %q: must be one of %q", string(f), Faults())
}

// Outcome is what the server said about the transaction.
type Outcome string

const (
	// NoAnswer means that the server did not get COMMIT, or ended the connection
	// without an answer to it. A transaction that got COMMIT may have
	// committed.
	NoAnswer Outcome = "no-answer"

	// Committed means that the server answered with the CommandComplete COMMIT.
	Committed Outcome = "committed"

	// RolledBack means that the server answered with an error, or with
	// ROLLBACK, and was ready for the next statement.
	RolledBack Outcome = "rolled-back"
)

// Report says what a sprung trap did and what it saw.
type Report struct {
	Fault Fault

	// Forwarded says whether COMMIT was sent to the server.
	Forwarded bool

	// Outcome is what the server said, whatever of it the client got.
	Outcome Outcome

	// SQLState is the code of the last error in the server's answer. Empty:
	// there was none.
	SQLState string

	// Returned counts the bytes of the answer to COMMIT's pipeline that the
	// client got.
	Returned int
}
