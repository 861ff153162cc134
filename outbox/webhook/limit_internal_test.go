package webhook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newTestLimiter(change func(*Endpoint)) *limiter {
	endpoint := Endpoint{Timeout: 10 * time.Second}
	change(&endpoint)
	endpoint = endpoint.withDefaults()
	return newLimiter(&endpoint)
}

// TestInFlight runs calls at an endpoint that takes a second for each: two at
// once, two wait, the rest is told at once.
func TestInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight = 2 })
		begin := time.Now()
		var mu sync.Mutex
		var ended []time.Duration
		var busy, out, most int
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				_, err := l.acquire(t.Context(), 10*time.Second)
				mu.Lock()
				if err != nil {
					busy++
					if !errors.Is(err, ErrBusy) || time.Since(begin) != 0 {
						t.Errorf("%v after %v", err, time.Since(begin))
					}
					mu.Unlock()
					return
				}
				out++
				most = max(most, out)
				mu.Unlock()
				time.Sleep(time.Second) //nolint:forbidigo // The bubble's clock, which waits for nobody.
				mu.Lock()
				out--
				ended = append(ended, time.Since(begin))
				mu.Unlock()
				l.release(working, 0)
			})
			synctest.Wait() // Each takes its place before the next.
		}
		group.Wait()
		want := []time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second}
		if diff := cmp.Diff(want, ended); diff != "" || busy != 2 || most != 2 {
			t.Errorf("%d busy, %d at once, ended (-want +got):\n%s", busy, most, diff)
		}
		if l.admitted != 0 || len(l.slots) != 0 {
			t.Errorf("%d admitted and %d out at the end", l.admitted, len(l.slots))
		}
	})
}

// TestPatience has a call that waits for a place which never falls free: half
// of what its context, or the endpoint's timeout, leaves.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		deadline time.Duration
		cancel   bool
		want     time.Duration
		err      error
	}{
		{"endpoint's timeout", time.Hour, false, 5 * time.Second, ErrBusy},
		{"caller's deadline", 4 * time.Second, false, 2 * time.Second, ErrBusy},
		{"caller gave up", time.Hour, true, 0, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight = 1 })
				if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				if test.cancel {
					go cancel()
				}
				begin := time.Now()
				_, err := l.acquire(ctx, 10*time.Second)
				if waited := time.Since(begin); !errors.Is(err, test.err) || waited != test.want {
					t.Errorf("%v after %v, want %v after %v", err, waited, test.err, test.want)
				}
				if l.admitted != 1 || len(l.slots) != 1 {
					t.Errorf("%d admitted and %d out, want the first call alone", l.admitted, len(l.slots))
				}
			})
		})
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight, e.Rate = 10, 4 })
		begin := time.Now()
		started := func(deadline time.Duration) time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			retryAfter, err := l.acquire(ctx, 10*time.Second)
			if err != nil {
				if !errors.Is(err, ErrBusy) {
					t.Errorf("error %v, want ErrBusy", err)
				}
				return -retryAfter
			}
			l.release(working, 0)
			return time.Since(begin)
		}
		got := []time.Duration{started(time.Hour), started(time.Hour), started(time.Hour)}
		got = append(got, started(400*time.Millisecond)) // Its patience ends in 200 ms, before the rate allows it.
		got = append(got, started(time.Hour))
		want := []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, -250 * time.Millisecond, 750 * time.Millisecond}
		if !slices.Equal(got, want) {
			t.Errorf("started at %v, want %v", got, want)
		}
	})
}

// TestRateNeverBursts has an idle time behind it: what the rate would have
// allowed then is gone.
func TestRateNeverBursts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.Rate = 1 })
		request := func() {
			if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			l.release(working, 0)
		}
		request()
		time.Sleep(time.Hour) //nolint:forbidigo // The bubble's clock, which waits for nobody.
		begin := time.Now()
		for range 3 {
			request()
		}
		if got := time.Since(begin); got != 2*time.Second {
			t.Errorf("three requests in %v, want 2s", got)
		}
	})
}

// TestPauses walks through an endpoint's failures.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxPause = time.Minute })
		take := func() {
			t.Helper()
			if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		fail := func(retryAfter time.Duration) time.Duration {
			t.Helper()
			take()
			l.release(troubled, retryAfter)
			left, err := l.acquire(t.Context(), 10*time.Second)
			if !errors.Is(err, ErrPaused) {
				t.Fatalf("error %v, want ErrPaused", err)
			}
			time.Sleep(left) //nolint:forbidigo // The bubble's clock, which waits for nobody.
			return left
		}
		var got []time.Duration
		for range 11 {
			got = append(got, fail(0))
		}
		got = append(got, fail(2*time.Hour), fail(45*time.Second), fail(time.Second))
		ms, s := time.Millisecond, time.Second
		want := []time.Duration{
			100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30 * s, 30 * s,
			60 * s, 45 * s, 30 * s,
		}
		if !slices.Equal(got, want) {
			t.Errorf("pauses %v, want %v", got, want)
		}

		take() // One that tries, while others are told to wait.
		if _, err := l.acquire(t.Context(), 10*time.Second); !errors.Is(err, ErrPaused) {
			t.Errorf("error %v of a second one, want ErrPaused", err)
		}
		l.release(unknown, 0) // It gave up, and nothing is known.
		take()
		if _, err := l.acquire(t.Context(), 10*time.Second); !errors.Is(err, ErrPaused) {
			t.Errorf("error %v of a second one, want ErrPaused", err)
		}
		l.release(working, 0)
		take()
		take()
		l.release(working, 0)
		l.release(working, 0)
		if got := fail(0); got != 100*ms {
			t.Errorf("first pause after a success %v, want 100ms", got)
		}
	})
}

// TestFailuresTogether has three requests that fail together, and one that
// waited for a place: one failure, and the fourth is not sent.
func TestFailuresTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight = 3 })
		for range 3 {
			if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		waited := make(chan error, 1)
		go func() {
			_, err := l.acquire(t.Context(), 10*time.Second)
			waited <- err
		}()
		synctest.Wait()
		for range 3 {
			l.release(troubled, 0)
		}
		if err := <-waited; !errors.Is(err, ErrPaused) {
			t.Errorf("error %v of the one that waited, want ErrPaused", err)
		}
		if state := l.state("x"); state.Failures != 1 || state.Out != 0 || state.Waiting != 0 {
			t.Errorf("state %+v", state)
		}
	})
}

// TestFailureWhileOthersWaitForTheRate has two calls whose turn by the rate
// comes a second and two after an endpoint failed: they were let in before, and
// the pause is for them too, as is one request at a time after it.
func TestFailureWhileOthersWaitForTheRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pause time.Duration
		left  time.Duration // what the first that waited is told
	}{
		{100 * time.Millisecond, 0},
		{1500 * time.Millisecond, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight, e.Rate = 3, 1 })
			if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			type result struct {
				left time.Duration
				err  error
			}
			waited := make(chan result, 2)
			for range 2 {
				go func() {
					left, err := l.acquire(t.Context(), 10*time.Second)
					waited <- result{left, err}
				}()
				synctest.Wait() // Each takes its turn before the next.
			}
			l.release(troubled, test.pause)
			if got := <-waited; !errors.Is(got.err, ErrPaused) || got.left != test.left {
				t.Errorf("pause of %v: the first is told %+v, want ErrPaused and %v", test.pause, got, test.left)
			}
			if got := <-waited; got.err != nil {
				t.Errorf("pause of %v: the second, alone after the pause, is told %v", test.pause, got.err)
			}
			if state := l.state("x"); state.Out != 1 || state.Waiting != 0 {
				t.Errorf("pause of %v: state %+v, want one request out", test.pause, state)
			}
		})
	}
}

// TestOneAtATimeAnswersOthersAtOnce has a request try an endpoint that failed,
// and another come meanwhile, which finds no place free: it need not wait for
// one to know.
func TestOneAtATimeAnswersOthersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight = 1 })
		for _, fails := range []bool{true, false} {
			if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			if fails {
				l.release(troubled, 0)
				<-time.After(time.Minute)
			}
		}
		begin := time.Now()
		if _, err := l.acquire(t.Context(), 10*time.Second); !errors.Is(err, ErrPaused) || time.Since(begin) != 0 {
			t.Errorf("error %v after %v, want ErrPaused at once", err, time.Since(begin))
		}
	})
}

// TestCallerGivesUpWaitingForTheRate cancels a call whose turn is to come.
func TestCallerGivesUpWaitingForTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTestLimiter(func(e *Endpoint) { e.MaxInFlight, e.Rate = 3, 1 })
		if _, err := l.acquire(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() {
			_, err := l.acquire(ctx, 10*time.Second)
			waited <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) || errors.Is(err, ErrBusy) {
			t.Errorf("error %v, want the caller's", err)
		}
		if state := l.state("x"); state.Out != 1 || state.Waiting != 0 {
			t.Errorf("state %+v, want the first call alone", state)
		}
	})
}
