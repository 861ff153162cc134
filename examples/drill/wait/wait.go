// Package wait waits for conditions, by asking again and again.
package wait

import (
	"context"
	"errors"
	"time"
)

// tick lies between two questions.
const tick = 20 * time.Millisecond

// Until asks until the answer is yes. The error is that of done, or the cause
// of the end of ctx, or both.
func Until(ctx context.Context, done func() (bool, error)) error {
	for {
		yes, err := done()
		if err != nil || ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if yes {
			return nil
		}
		select {
		case <-time.After(tick):
		case <-ctx.Done():
		}
	}
}
