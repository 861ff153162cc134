package acceptance

import (
	"fmt"
	"slices"
)

// apply returns every field of the command that breaks one of today's rules.
// Where none does it puts the stake into the house's own currency of that code.
func (r *Rules) apply(command, placed *Command) (broken []FieldError) {
	wrong := func(field, format string, arguments ...any) {
		broken = append(broken, FieldError{field, fmt.Sprintf(format, arguments...)})
	}
	if len(command.Legs) > r.MaxLegs {
		wrong("legs", "must have at most %d entries today, has %d", r.MaxLegs, len(command.Legs))
	}
	if r.Kinds != nil && !slices.Contains(r.Kinds, command.Type.Kind) {
		wrong("type.kind", "must be one of %q today, is %q", r.Kinds, command.Type.Kind)
	}
	if lines := command.Lines(); lines > r.MaxLines {
		wrong("type.sizes", "must make at most %d lines today, makes %d", r.MaxLines, lines)
	}
	stake, err := r.Currencies.Check(command.Stake)
	if err != nil {
		wrong("stake", "must be in a currency of the house: %v", err)
	}
	inHouse := *command
	inHouse.Stake = stake
	if _, totalErr := inHouse.TotalStake(); err == nil && totalErr != nil {
		wrong("stake", "must make a total in a currency of the house: %v", totalErr)
	}
	if r.Check != nil {
		broken = append(broken, r.Check(command)...)
	}
	if len(broken) == 0 {
		placed.Stake = stake
	}
	return broken
}
