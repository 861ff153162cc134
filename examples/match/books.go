package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// books is what the drill can learn from the store without asking a lobby for
// its opinion.
type books interface {
	// Receipt returns the receipt of a key, if there is one.
	Receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error)
	// settled counts the matches that are settled.
	settled(ctx context.Context) (int, error)
	// tables returns the lobby's tables, events included.
	tables(ctx context.Context) (lobby.Tables, error)
}

// memoryOfLobby reads the books of the one lobby that keeps them in memory.
type memoryOfLobby struct{ drill *drill }

var _ books = memoryOfLobby{}

// read asks for the books of one room; of all where it is empty.
func (m memoryOfLobby) read(ctx context.Context, room string) (memoryBooks, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.drill.lobbies[0].URL()+"/memory?room="+url.QueryEscape(room), nil)
	if err != nil {
		return memoryBooks{}, err
	}
	response, err := m.drill.client.Do(request)
	if err != nil {
		return memoryBooks{}, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	if response.StatusCode != http.StatusOK {
		return memoryBooks{}, fmt.Errorf("GET /memory: %s", response.Status)
	}
	var read memoryBooks
	if err := json.NewDecoder(response.Body).Decode(&read); err != nil {
		return memoryBooks{}, fmt.Errorf("GET /memory: %w", err)
	}
	return read, nil
}

func (m memoryOfLobby) Receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	read, err := m.read(ctx, key.ID)
	if err != nil || len(read.Receipts) == 0 {
		return receipt.Receipt{}, false, err
	}
	return read.Receipts[0], true, nil
}

func (m memoryOfLobby) settled(ctx context.Context) (int, error) {
	read, err := m.read(ctx, "none")
	return read.Settled, err
}

func (m memoryOfLobby) tables(ctx context.Context) (lobby.Tables, error) {
	read, err := m.read(ctx, "")
	if err != nil || read.Tables == nil {
		return lobby.Tables{}, err
	}
	return *read.Tables, nil
}
