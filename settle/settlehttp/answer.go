package settlehttp

import (
	"net/http"
	"strconv"
	"time"
)

// answer is one HTTP answer.
type answer struct {
	status     int
	mediaType  string
	body       []byte
	retryAfter time.Duration // zero: the header is left out
	header     [2]string     // a further header, "" for none
}

// write sends the answer. An answer that gets lost is no harm: the sender
// sends again.
func (a *answer) write(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", a.mediaType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if a.retryAfter > 0 {
		seconds := (a.retryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if a.header[0] != "" {
		header.Set(a.header[0], a.header[1])
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) //nolint:gosec // It is JSON, said to be so, and not to be sniffed.
}
