package program_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/program"
)

// echo is a program that does what its arguments say.
func echo() program.Config[string] {
	failed := errors.New("failed")
	return program.Config[string]{
		Name: "echo",
		Roles: map[string]program.Role{
			"child": func(_ context.Context, args []string) error {
				if !slices.Equal(args, []string{"well"}) {
					return fmt.Errorf("%w with %q", failed, args)
				}
				return nil
			},
		},
		Parse: func(args []string) (string, error) {
			switch args[0] {
			case "-help":
				return "", flag.ErrHelp
			case "-nonsense":
				return "", failed
			}
			return args[0], nil
		},
		Drill: func(_ context.Context, how string) (inOrder bool, err error) {
			if how == "broken" {
				return true, failed
			}
			return how == "in order", nil
		},
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"in order"}, 0},
		{[]string{"out of order"}, program.ExitBooks},
		{[]string{"broken"}, program.ExitError},
		{[]string{"-help"}, 0},
		{[]string{"-nonsense"}, program.ExitUsage},
		{[]string{"child", "well"}, 0},
		{[]string{"child", "badly"}, program.ExitError},
	} {
		if got := program.Run(t.Context(), echo(), test.args); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.args, got, test.want)
		}
	}
}
