package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/settleonce/settleonce/internal/strictjson"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// AnswersMediaType is the media type of an endpoint's answer to a batch, where
// it is ours. The package comment has the format.
const AnswersMediaType = "application/vnd.settleonce.answers+json"

const (
	maxAnswers       = 1 << 16
	maxAnswerMembers = 16
)

// batchDocuments is what an endpoint said of the events of a batch, in the
// order of its document.
type batchDocuments struct {
	acks     []outbox.Ack
	problems []batchProblem
}

// batchProblem is why one event of a batch has no proof.
type batchProblem struct {
	key event.Key
	err *settlehttp.AnswerError
}

// isBatchAnswer reports whether a response can hold documents for a batch. Only
// status 200 does: a status of failure beside receipts would contradict them.
func isBatchAnswer(response *http.Response) bool {
	values := response.Header.Values("Content-Type")
	if response.StatusCode != http.StatusOK || len(values) != 1 {
		return false
	}
	parsed, _, err := mime.ParseMediaType(values[0])
	return err == nil && parsed == AnswersMediaType
}

func readBatch(body io.Reader, most int64) (*batchDocuments, error) {
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("the answers were cut off: %w", err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("the answers have more than %d bytes", most)
	}
	elements, err := strictjson.Array(text, maxAnswers)
	if err != nil {
		return nil, fmt.Errorf("the answers %w", err)
	}
	documents := new(batchDocuments)
	for i, element := range elements {
		if err := documents.add(element); err != nil {
			return nil, fmt.Errorf("answer %d: %w", i, err)
		}
	}
	return documents, nil
}

// add reads one element. Whatever it cannot read is an error of the whole: who
// writes half of a document right is not to be trusted with the other half.
func (d *batchDocuments) add(element json.RawMessage) error {
	var (
		mediaType string
		document  json.RawMessage
		key       event.Key
	)
	broken := strictjson.Read(element, maxAnswerMembers, []strictjson.Field{
		{Name: "mediatype", Place: &mediaType},
		{Name: "document", Place: &document},
		{Name: "key", Place: &key, Optional: true},
	})
	if len(broken) > 0 {
		return errors.New(strings.Join(broken, "; "))
	}
	ack, err := settlehttp.ReadDocument(mediaType, document)
	if err == nil {
		d.acks = append(d.acks, ack)
		return nil
	}
	answered, ok := errors.AsType[*settlehttp.AnswerError](err)
	if !ok || mediaType != settlehttp.ProblemMediaType || answered.Cause != nil {
		return err
	}
	if key.IsZero() {
		return errors.New("a problem must name its key")
	}
	d.problems = append(d.problems, batchProblem{key, answered})
	return nil
}

// answer returns what the documents prove about e. The endpoint works, since it
// answered, so an error is about e alone.
func (d *batchDocuments) answer(e *event.Event, retryAfter time.Duration) outbox.Answer {
	unproven := func(err error) outbox.Answer {
		return outbox.Answer{Err: err, EventAlone: true, RetryAfter: retryAfter}
	}
	var found *outbox.Ack
	for i := range d.acks {
		ack := &d.acks[i]
		switch {
		case ack.Key != e.Key:
		case found == nil || !found.Fingerprint.Equal(e.Fingerprint) && ack.Fingerprint.Equal(e.Fingerprint):
			found = ack
		case ack.Fingerprint.Equal(found.Fingerprint) && ack.Kind != found.Kind:
			return unproven(fmt.Errorf("%w: a receipt and a refusal for one key and fingerprint", ErrNoProof))
		}
	}
	if found != nil {
		return outbox.Answer{Ack: *found}
	}
	for _, problem := range d.problems {
		if problem.key == e.Key {
			return unproven(problem.err)
		}
	}
	return unproven(fmt.Errorf("%w: the answer has no document for the event's key", ErrNoProof))
}
