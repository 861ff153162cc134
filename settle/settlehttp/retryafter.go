package settlehttp

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that an answer can ask for; the relay's
// own bound is far below. It keeps a hostile number from overflowing.
const maxRetryAfter = 24 * time.Hour

// RetryAfter returns how long an answer asks to be left alone: its Retry-After
// in seconds, or its date as seen from now (RFC 9110, section 10.2.3). Zero:
// it asks for nothing that can be read, or the date has passed.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if wait, ok := seconds(value); ok {
		return wait
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), maxRetryAfter)
}

// seconds reads a number of digits alone: no sign, no fraction.
func seconds(value string) (wait time.Duration, ok bool) {
	if value == "" {
		return 0, false
	}
	for _, digit := range []byte(value) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		wait = min(10*wait+time.Duration(digit-'0')*time.Second, maxRetryAfter)
	}
	return wait, true
}
