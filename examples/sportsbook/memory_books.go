package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
)

// memoryPath shows the books that no other process could see.
const memoryPath = "/memory"

// memoryBooks is what an API process in memory shows of itself.
type memoryBooks struct {
	// Receipts are those of the command that was asked for, or all.
	Receipts []receipt.Receipt `json:"receipts"`
	// Tables and Events are set where no command was asked for.
	Tables *house.Tables `json:"tables"`
	Events []event.Event `json:"events"`
	// Cuts is how many commits met a fault.
	Cuts int `json:"cuts"`
	// Now is the store's clock.
	Now time.Time `json:"now"`
}

// showMemory answers GET /memory, and GET /memory?operation=…&wallet=…&id=… more
// quickly.
func showMemory(fake *receipttest.Fake[house.Unit], database *memory.Database, cuts []receipttest.Fault) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown := memoryBooks{Now: time.Now().UTC()}
		for _, fault := range cuts {
			shown.Cuts += fake.Fired(fault)
		}
		var err error
		if asked := r.URL.Query(); asked.Has("id") {
			shown.Receipts, err = fake.History(r.Context(), receipt.Key{
				Tenant: tenant, Scope: asked.Get("wallet"), Operation: asked.Get("operation"), ID: asked.Get("id"),
			})
		} else {
			var tables house.Tables
			tables, err = database.Tables(r.Context())
			shown.Tables, shown.Receipts, shown.Events = &tables, fake.Receipts(), fake.Events()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(shown) // an error is a client that has gone
	}
}

// memoryOfAPI reads the books of the one API process that keeps them in memory.
type memoryOfAPI struct{ drill *drill }

var _ books = memoryOfAPI{}

// read asks for the books: those of one key, or all where it is the zero key.
func (m memoryOfAPI) read(ctx context.Context, key receipt.Key) (memoryBooks, error) {
	address := m.drill.apis[0].URL() + memoryPath
	if key != (receipt.Key{}) {
		address += "?" + url.Values{"wallet": {key.Scope}, "operation": {key.Operation}, "id": {key.ID}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return memoryBooks{}, err
	}
	response, err := m.drill.client.Do(request)
	if err != nil {
		return memoryBooks{}, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	if response.StatusCode != http.StatusOK {
		return memoryBooks{}, fmt.Errorf("GET %s: %s", memoryPath, response.Status)
	}
	var read memoryBooks
	if err := json.NewDecoder(response.Body).Decode(&read); err != nil {
		return memoryBooks{}, fmt.Errorf("GET %s: %w", memoryPath, err)
	}
	return read, nil
}

// anyKey is the key of nothing, for what is asked beside the receipts.
func anyKey() receipt.Key { return acceptance.PlacingKey(tenant, "nobody", "nothing") }

func (m memoryOfAPI) Receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	read, err := m.read(ctx, key)
	if err != nil || len(read.Receipts) == 0 {
		return receipt.Receipt{}, false, err
	}
	return read.Receipts[0], true, nil
}

func (m memoryOfAPI) Receipts(ctx context.Context) ([]receipt.Receipt, error) {
	read, err := m.read(ctx, receipt.Key{})
	return read.Receipts, err
}

func (m memoryOfAPI) Events(ctx context.Context) ([]event.Event, error) {
	read, err := m.read(ctx, receipt.Key{})
	return read.Events, err
}

func (m memoryOfAPI) tables(ctx context.Context) (house.Tables, error) {
	read, err := m.read(ctx, receipt.Key{})
	if err != nil || read.Tables == nil {
		return house.Tables{}, err
	}
	return *read.Tables, nil
}

func (m memoryOfAPI) now(ctx context.Context) (time.Time, error) {
	read, err := m.read(ctx, anyKey())
	return read.Now, err
}

func (m memoryOfAPI) cuts(ctx context.Context) (int, error) {
	read, err := m.read(ctx, anyKey())
	return read.Cuts, err
}
