package outbox

import "time"

// backoff is how long to wait after failures in a row.
type backoff struct {
	min, max time.Duration
	// retryAfterMax caps what a destination may ask for.
	retryAfterMax time.Duration
}

// delay doubles from min to max and then takes off up to half by random, from
// [0, 1), so that many senders don't come back together. A destination that
// asks for longer gets it, up to the cap.
func (b backoff) delay(failures int, retryAfter time.Duration, random float64) time.Duration {
	delay := b.min
	for range failures - 1 {
		if delay >= b.max/2 {
			delay = b.max
			break
		}
		delay *= 2
	}
	delay -= time.Duration(random * float64(delay) / 2)
	return max(delay, min(retryAfter, b.retryAfterMax))
}
