// Package course takes a drill through its stages, within a limit and under the
// eyes of a watcher.
package course

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrLimit is the cause of the end of a run that gets nowhere.
var ErrLimit = errors.New("the run took too long and was cut short")

// Stage is a part of the run. It ends early once ctx is done.
type Stage func(ctx context.Context) error

// Config bounds a run. Every field must be set.
type Config struct {
	// Limit is how long all stages may take together.
	Limit time.Duration
	// Watch runs beside the stages until ctx is done. An error that it returns
	// before ends them.
	Watch Stage
}

// Run goes through the stages, one after the other, to the first that fails.
// errors.Is(err, ErrLimit) is true when the limit ended the run. What ended it
// from outside, the watcher's error above all, is in the error whatever the
// stage made of it. The watcher has ended when Run returns.
func Run(ctx context.Context, config Config, stages ...Stage) error {
	ctx, stop := context.WithTimeoutCause(ctx, config.Limit, ErrLimit)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		end(config.Watch(ctx)) // it ends with a failure, or with ctx
	})
	defer watching.Wait()
	defer end(nil)
	for _, stage := range stages {
		if err := stage(ctx); err != nil {
			return withCause(ctx, err)
		}
	}
	return nil
}

// withCause adds to a stage's error what ended ctx, unless it tells of it.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return errors.Join(cause, err)
}
