package settlehttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/receipt"
)

// ErrNoProof is true for an [*AnswerError].
var ErrNoProof = errors.New("settlehttp: no proof")

// AnswerError describes an answer that is neither a receipt nor a refusal. The
// sender keeps its record. errors.Is(err, [ErrNoProof]) is true for it.
type AnswerError struct {
	// Status is the answer's HTTP status, or 0 for a document that came
	// among others.
	Status int
	// Reason says what is missing or wrong.
	Reason string
	// Problem is the problem document that the answer carries; its Type is
	// empty where there is none.
	Problem Problem
	// Cause is the error of reading the answer, or nil.
	Cause error
}

// maxQuoted bounds what an error quotes from the other side.
const maxQuoted = 300

// Error describes the answer in one line, whatever it holds.
func (e *AnswerError) Error() string {
	var text strings.Builder
	text.WriteString(ErrNoProof.Error())
	if e.Status != 0 {
		fmt.Fprintf(&text, ": status %d", e.Status)
	}
	fmt.Fprintf(&text, ": %s", e.Reason)
	if e.Problem.Type != "" {
		fmt.Fprintf(&text, ": %s (%s)", quote(e.Problem.Title), quote(e.Problem.Type))
	}
	if e.Problem.Detail != "" {
		fmt.Fprintf(&text, ": %s", quote(e.Problem.Detail))
	}
	for _, wrong := range e.Problem.Errors {
		fmt.Fprintf(&text, "; %s %s", quote(wrong.Field), quote(wrong.Rule))
		if text.Len() > 10*maxQuoted {
			break
		}
	}
	if e.Cause != nil {
		fmt.Fprintf(&text, ": %s", shorten(e.Cause.Error()))
	}
	return text.String()
}

// Unwrap returns [ErrNoProof] and the cause.
func (e *AnswerError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNoProof}
	}
	return []error{ErrNoProof, e.Cause}
}

// quote keeps what the other side wrote from forging or filling a log.
func quote(text string) string { return fmt.Sprintf("%q", shorten(text)) }

func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return text[:maxQuoted] + "…"
}

// ReadProof returns what an answer proves, or an [*AnswerError]. Only two things
// are proof: a receipt with status 200, and a refusal with a status of the
// 400s, each whole, under its own media type, naming a key and a fingerprint.
// It reads at most maxBody bytes of the body, does not close it, and compares
// nothing with what was sent: that is the relay's part (I6).
func ReadProof(response *http.Response, maxBody int64) (outbox.Ack, error) {
	media, status := mediaType(response.Header), response.StatusCode
	noProof := func(reason string, cause error) (outbox.Ack, error) {
		return outbox.Ack{}, &AnswerError{Status: status, Reason: reason, Cause: cause}
	}
	switch {
	case status >= 300 && status < 400:
		return noProof("a redirect, which is not followed", nil)
	case media == receipt.MediaType && status != http.StatusOK:
		return noProof("a receipt must come with status 200", nil)
	case media == RefusalMediaType && (status < 400 || status >= 500):
		return noProof("a refusal must come with a status of the 400s", nil)
	case media != receipt.MediaType && media != RefusalMediaType && media != ProblemMediaType:
		return noProof(fmt.Sprintf("media type %s, which is neither a receipt's nor a refusal's", quote(media)), nil)
	}
	body, err := readAtMost(response.Body, maxBody)
	if err != nil {
		return noProof("the answer could not be read", err)
	}
	ack, err := ReadDocument(media, body)
	if answered, ok := errors.AsType[*AnswerError](err); ok {
		answered.Status = status
	}
	return ack, err
}

// ReadDocument returns what one whole document proves: a receipt or a refusal,
// as its media type says, without parameters. A problem, and whatever cannot be
// read, is an [*AnswerError] without a status.
func ReadDocument(mediaType string, document []byte) (outbox.Ack, error) {
	noProof := func(reason string, cause error) (outbox.Ack, error) {
		return outbox.Ack{}, &AnswerError{Reason: reason, Cause: cause}
	}
	switch mediaType {
	case receipt.MediaType:
		read, confirmed, err := readConfirmation(document)
		if err != nil {
			return noProof("the receipt could not be read", err)
		}
		return outbox.Ack{Kind: outbox.AckReceipt, Key: read.Key, Fingerprint: confirmed}, nil
	case RefusalMediaType:
		var read Refusal
		if err := read.UnmarshalJSON(document); err != nil {
			return noProof("the refusal could not be read", err)
		}
		return outbox.Ack{Kind: outbox.AckRefusal, Key: read.Key, Fingerprint: read.Fingerprint, Reason: read.reason()}, nil
	case ProblemMediaType:
		var problem Problem
		if err := json.Unmarshal(document, &problem); err != nil {
			return noProof("the problem document could not be read", err)
		}
		return outbox.Ack{}, &AnswerError{Reason: "a problem", Problem: problem}
	default:
		return noProof(fmt.Sprintf("media type %s, which is neither a receipt's nor a refusal's", quote(mediaType)), nil)
	}
}

// EventAlone reports whether the answer is about one event alone, so that it is
// no sign of a receiver that is down.
func (e *AnswerError) EventAlone() bool {
	switch e.Problem.Type {
	case TypeInFlight, TypeSchemaVersion, TypeMalformed, TypeForbidden, TypeTooLarge:
		return true
	default:
		return false
	}
}

// eventAlone is [AnswerError.EventAlone] of any error.
func eventAlone(err error) bool {
	answered, ok := errors.AsType[*AnswerError](err)
	return ok && answered.EventAlone()
}

// reason is what the outbox writes beside a record that it sets aside.
func (r *Refusal) reason() string {
	if r.Detail == "" {
		return r.Code
	}
	return r.Code + ": " + r.Detail
}

func readAtMost(body io.Reader, most int64) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("it was cut off: %w", err)
	}
	if int64(len(read)) > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return read, nil
}

// discard reads a short rest of the body, so that the connection can carry the
// next request, and gives a long one up.
func discard(body io.ReadCloser) {
	const short = 64 << 10
	_, _ = io.CopyN(io.Discard, body, short)
	_ = body.Close()
}
