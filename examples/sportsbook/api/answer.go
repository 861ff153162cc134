package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const jsonMediaType = "application/json"

// answer is one HTTP answer.
type answer struct {
	status int
	header http.Header // nil: no further ones
	body   []byte
}

// answerJSON returns an answer with a body. What json.RawMessage holds stays as
// it is, byte for byte.
func answerJSON(status int, body any) (answer, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return answer{}, failedBy(TypeInternal, err)
	}
	header := http.Header{"Content-Type": {jsonMediaType}}
	return answer{status, header, text.Bytes()}, nil
}

// answer returns the problem's.
func (f *failure) answer(retryAfter time.Duration) answer {
	header := http.Header{"Content-Type": {ProblemMediaType}}
	if f.problem.retryable() {
		seconds := (retryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if f.header[0] != "" {
		header.Set(f.header[0], f.header[1])
	}
	body, _ := json.Marshal(f.problem) // strings and numbers alone
	return answer{f.problem.Status, header, append(body, '\n')}
}

// write sends the answer. One that gets lost is no harm: the client asks again.
func (a *answer) write(w http.ResponseWriter) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) //nolint:gosec // It is JSON, said to be so, and not to be sniffed.
}
