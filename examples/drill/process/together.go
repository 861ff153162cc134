package process

import "context"

// Together is for the child: it runs functions until ctx is done or one of them
// fails, and waits for all. One that returns nil has finished its part. The end
// of ctx is no error.
func Together(ctx context.Context, functions ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error, len(functions))
	for _, function := range functions {
		go func() { ends <- function(ctx) }()
	}
	var failed error
	for range functions {
		err := <-ends
		if err != nil && ctx.Err() == nil {
			failed = err
			cancel()
		}
	}
	return failed
}
