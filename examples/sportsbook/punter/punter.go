// Package punter has the sportsbook's clients. A client that was told nothing
// knows nothing: it sends the same again, until it is told what came of it. It
// notes down what it sends before it does so, and what it is told before it
// believes it, so that the audit can hold it against what is kept.
package punter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/jsonlines"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

const (
	// firstPause and longestPause bound the time between two tries.
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Config makes clients. Every field must be set.
type Config struct {
	// URL is the address of the proxy.
	URL    string
	Client *http.Client
	// Tenant is the house's name, Password what all players have.
	Tenant, Password string
	// Journal is what all clients write into.
	Journal *jsonlines.File
}

// Clients sends the commands of all players. Safe for concurrent use.
type Clients struct{ config Config }

// New returns clients.
func New(config Config) *Clients { return &Clients{config} }

// AnyAPI leaves it to the proxy which API process gets a request.
const AnyAPI = -1

// Delivery is one request.
type Delivery struct {
	Command acceptance.Command
	// API is the number of the process that is to get it, or [AnyAPI].
	API int
	// Fault is what the proxy is to make of it. Empty: nothing.
	Fault fault.Name
}

// Deliver sends a command once. No answer is no error, but [Told] says so.
func (c *Clients) Deliver(ctx context.Context, d Delivery) (Told, error) {
	reference := bet.Reference{Wallet: d.Command.Wallet, ID: d.Command.ID}
	body, err := bodyOf(d.Command)
	if err != nil {
		return Told{}, err
	}
	if err := c.config.Journal.Append(Note{Reference: reference, Sent: body}); err != nil {
		return Told{}, err
	}
	told, err := c.exchange(ctx, d, body)
	if err != nil {
		return Told{}, err
	}
	return told, c.config.Journal.Append(Note{Reference: reference, Sent: body, Told: &told})
}

// bodyOf leaves out what the API takes from header and authentication.
func bodyOf(command acceptance.Command) ([]byte, error) {
	text, err := json.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("punter: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("punter: %w", err)
	}
	for _, name := range []string{"tenant", "wallet", "id"} {
		delete(members, name)
	}
	return json.Marshal(members)
}

func (c *Clients) exchange(ctx context.Context, d Delivery, body []byte) (Told, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL+"/bets", bytes.NewReader(body))
	if err != nil {
		return Told{}, fmt.Errorf("punter: %w", err)
	}
	// Without it net/http would send a request with an Idempotency-Key again by
	// itself, and nobody would take note.
	request.GetBody = nil
	request.SetBasicAuth(c.config.Tenant+"/"+d.Command.Wallet, c.config.Password)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(api.KeyHeader, d.Command.ID)
	request.Header.Set(faults.WalletHeader, d.Command.Wallet)
	if d.API != AnyAPI {
		request.Header.Set(faults.APIHeader, strconv.Itoa(d.API))
	}
	if d.Fault != "" {
		request.Header.Set(faults.FaultHeader, string(d.Fault))
	}
	response, err := c.config.Client.Do(request)
	if err != nil {
		return Told{Failure: err.Error()}, nil
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return Told{Failure: err.Error()}, nil // half an answer is none
	}
	return Told{
		Status: response.StatusCode, Body: content,
		Replayed: response.Header.Get(api.ReplayedHeader) == "true",
	}, nil
}

// Ask sends a command again and again, until it is told what will not change by
// asking: a decision, final or pending, or that the command is refused. The
// first deliveries meet the faults, one each.
func (c *Clients) Ask(ctx context.Context, d Delivery, meets ...fault.Name) (Told, error) {
	for try := 0; ; try++ {
		d.Fault = ""
		if try < len(meets) {
			d.Fault = meets[try]
		}
		told, err := c.Deliver(ctx, d)
		if err != nil || !told.Passing() {
			return told, err
		}
		select {
		case <-time.After(min(firstPause<<min(try, 8), longestPause)):
		case <-ctx.Done():
			return told, context.Cause(ctx)
		}
	}
}
