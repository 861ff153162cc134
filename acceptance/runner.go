package acceptance

import (
	"fmt"

	"github.com/settleonce/settleonce/internal/once"
)

// Runner decides commands, each once.
//
// Make one with [New]. Safe for concurrent use. It holds no resource of its own
// and needs no close.
type Runner[Tx, Bet any] struct {
	config Config[Tx, Bet]
	engine *once.Runner[Tx]
	gate   *gate
}

// New returns a Runner, or an error that names every wrong field of config.
func New[Tx, Bet any](config Config[Tx, Bet]) (*Runner[Tx, Bet], error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("acceptance: Config: %w", err)
	}
	config.withDefaults()
	engine, err := once.New(config.engine())
	if err != nil {
		return nil, fmt.Errorf("acceptance: Config: %w", err)
	}
	return &Runner[Tx, Bet]{config: config, engine: engine, gate: newGate(config.WalletConcurrency)}, nil
}
