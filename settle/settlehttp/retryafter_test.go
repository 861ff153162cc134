package settlehttp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/settleonce/settleonce/settle/settlehttp"
)

// FuzzRetryAfter checks that no header makes a sender wait for ever, or
// backwards.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("9223372036854775807")
	f.Add("Sun, 01 Mar 2026 12:01:30 GMT")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		wait := settlehttp.RetryAfter(http.Header{"Retry-After": {value}}, now)
		if wait < 0 || wait > 24*time.Hour {
			t.Errorf("%q asks for %v", value, wait)
		}
	})
}
