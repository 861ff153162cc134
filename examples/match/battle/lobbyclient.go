package battle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// errTryAgain is true where the lobby may answer otherwise soon: it is away, or
// too few players are idle.
var errTryAgain = errors.New("battle: the lobby cannot answer now")

// LobbyClient asks the lobby for rooms. Results do not go through it: they are
// owed, and leave through the outbox.
type LobbyClient struct {
	// URL is the lobby's, without a slash at the end.
	URL string
	// Client is required.
	Client *http.Client
}

// open asks until the room is open. Its id is the node's choice, so asking
// again after a lost answer gets the same room.
func (c LobbyClient) open(ctx context.Context, request lobby.OpenRequest) (lobby.OpenAnswer, error) {
	const pause = 20 * time.Millisecond
	for {
		var answer lobby.OpenAnswer
		err := c.post(ctx, "/rooms", request, &answer)
		if err == nil || !errors.Is(err, errTryAgain) {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return lobby.OpenAnswer{}, fmt.Errorf("battle: room %s was not opened: %w", request.RoomID, context.Cause(ctx))
		}
	}
}

// ended tells the lobby that the battle has ended, so that the room shows its
// settlement as pending. Nothing hangs on it: the settlement comes anyway.
func (c LobbyClient) ended(ctx context.Context, roomID string) error {
	return c.post(ctx, "/rooms/"+roomID+"/ended", struct{}{}, nil)
}

func (c LobbyClient) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("battle: POST %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("battle: POST %s: %w", path, err)
	}
	response, err := c.Client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errTryAgain, err)
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errTryAgain, err)
	case response.StatusCode == http.StatusConflict, response.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("%w: POST %s: %s", errTryAgain, path, response.Status)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("battle: POST %s: %s: %s", path, response.Status, content)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("battle: POST %s: answer: %w", path, err)
	}
	return nil
}
