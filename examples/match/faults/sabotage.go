package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/drill/sabotage"
)

// The names of the sabotages that are the match's own.
const (
	DeleteOnBareOK      = "delete-on-200"
	ReleaseBeforeCommit = "release-before-commit"
)

// Sabotages returns all of them.
func Sabotages() []sabotage.Sabotage {
	return []sabotage.Sabotage{
		{Name: sabotage.SkipReceipt, What: "the lobby settles without writing the match's receipt", Figure: "lost"},
		{Name: DeleteOnBareOK, What: "the battle node takes a bare 200 for a receipt", Figure: "lost"},
		{Name: ReleaseBeforeCommit, What: "the lobby frees the players before the settlement commits", Figure: "released_early"},
	}
}

// ReleasingEarly returns a store that calls release with the key's id just
// before each commit.
func ReleasingEarly[Tx any](store receipt.Store[Tx], release func(ctx context.Context, id string) error) receipt.Store[Tx] {
	return hasty[Tx]{store, release}
}

type hasty[Tx any] struct {
	receipt.Store[Tx]
	release func(ctx context.Context, id string) error
}

func (s hasty[Tx]) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[Tx], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &hastySession[Tx]{session, s.release}, nil
}

type hastySession[Tx any] struct {
	receipt.Session[Tx]
	release func(ctx context.Context, id string) error
}

func (s *hastySession[Tx]) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	if err := s.release(ctx, r.Key.ID); err != nil {
		return receipt.Receipt{}, err
	}
	return s.Session.Commit(ctx, r, events...)
}

// Credulous is a transport that turns every bare 200 into the receipt that the
// sender hopes for.
type Credulous struct{ Transport http.RoundTripper }

// RoundTrip sends the request and forges the answer.
func (c Credulous) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent bytes.Buffer
	if r.Body != nil {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &sent), r.Body}
	}
	response, err := c.Transport.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	forged, err := forge(response.Header.Get("Content-Type"), sent.Bytes())
	if err != nil || forged == nil {
		return response, err
	}
	_ = response.Body.Close() // nothing of it is wanted
	response.Body = io.NopCloser(bytes.NewReader(forged))
	response.ContentLength = int64(len(forged))
	response.Header.Set("Content-Type", receipt.MediaType)
	response.Header.Del("Content-Length")
	return response, nil
}

// forge makes a receipt for the event that was sent; nil where the answer holds
// one, or what was sent is no event.
func forge(answerType string, sent []byte) ([]byte, error) {
	mediaType, _, _ := mime.ParseMediaType(answerType) // what cannot be parsed is no receipt
	e, isEvent := readEvent(sent)
	if mediaType == receipt.MediaType || !isEvent {
		return nil, nil
	}
	return json.Marshal(receipt.Receipt{
		Key: e.Key, Requested: settle.Settled, Outcome: settle.Settled, Fingerprint: e.Fingerprint,
		Value: []byte("{}"), Attempt: receipt.NewID(), RecordedAt: time.Now(),
	})
}

func readEvent(text []byte) (e event.Event, isEvent bool) {
	isEvent = json.Unmarshal(text, &e) == nil
	return e, isEvent
}
