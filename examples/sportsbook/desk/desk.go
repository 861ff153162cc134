// Package desk is the trader's end of the sportsbook's HTTP interface, and the
// drill's hand on the risk service.
package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// pause lies between two tries of what could not be done now.
const pause = 20 * time.Millisecond

// ErrRefused is true where the API refuses a request for good, such as one that
// contradicts what has happened before.
var ErrRefused = errors.New("desk: refused")

// Config makes a desk. Every field must be set.
type Config struct {
	// URL is the address of the API, or of a proxy before it.
	URL string
	// RiskURL is the address of the risk service.
	RiskURL string
	Client  *http.Client
	// Tenant is the house's name, Name the trader's, Password what all
	// traders have.
	Tenant, Name, Password string
}

// Desk is a trader. What cannot be done now is tried again, until the context
// ends. Safe for concurrent use.
type Desk struct {
	config Config
	// process is the number of the API process that requests go to. Empty:
	// the proxy chooses.
	process string
}

// New returns a desk.
func New(config Config) *Desk { return &Desk{config: config} }

// At returns a desk whose requests go to one API process, by its number.
func (d *Desk) At(process int) *Desk { return &Desk{d.config, strconv.Itoa(process)} }

// Market returns a market as it is now.
func (d *Desk) Market(ctx context.Context, id string) (found market.Market, err error) {
	err = d.call(ctx, http.MethodGet, "/markets/"+url.PathEscape(id), nil, &found)
	return found, err
}

// Markets returns all markets.
func (d *Desk) Markets(ctx context.Context) ([]market.Market, error) {
	var found api.Markets
	err := d.call(ctx, http.MethodGet, "/markets", nil, &found)
	return found.Markets, err
}

// Move sets new odds.
func (d *Desk) Move(ctx context.Context, id string, prices ...market.Price) error {
	body := struct {
		Prices []market.Price `json:"prices"`
	}{prices}
	return d.call(ctx, http.MethodPost, "/markets/"+url.PathEscape(id)+"/prices", body, nil)
}

// Suspend suspends a market.
func (d *Desk) Suspend(ctx context.Context, id string) error {
	return d.call(ctx, http.MethodPost, "/markets/"+url.PathEscape(id)+"/suspension", struct{}{}, nil)
}

// Resume lets a market take bets again.
func (d *Desk) Resume(ctx context.Context, id string) error {
	return d.call(ctx, http.MethodPost, "/markets/"+url.PathEscape(id)+"/resumption", struct{}{}, nil)
}

// Resolve gives the trader's word on a bet that was referred, and returns the
// decision, byte for byte.
func (d *Desk) Resolve(ctx context.Context, reference bet.Reference, ruling acceptance.TraderRuling) (body json.RawMessage, err error) {
	err = d.call(ctx, http.MethodPost, betPath(reference, "resolution"), api.ResolutionRequest{Ruling: ruling}, &body)
	return body, err
}

// Result posts a market's result.
func (d *Desk) Result(ctx context.Context, result api.ResultRequest) (closed api.ResultAnswer, err error) {
	err = d.call(ctx, http.MethodPost, "/results", result, &closed)
	return closed, err
}

// Void voids a bet. The version says by what.
func (d *Desk) Void(ctx context.Context, reference bet.Reference, version string) (closed api.ClosedBet, err error) {
	err = d.call(ctx, http.MethodPost, betPath(reference, "void"), api.VoidRequest{Version: version}, &closed)
	return closed, err
}

func betPath(reference bet.Reference, what string) string {
	return "/bets/" + url.PathEscape(reference.ID) + "/" + what + "?wallet=" + url.QueryEscape(reference.Wallet)
}

// Instruct has the risk service answer some of the next assessments otherwise
// than it would.
func (d *Desk) Instruct(ctx context.Context, instruction risk.Instruction) error {
	_, err := d.once(ctx, http.MethodPost, d.config.RiskURL+risk.FaultsPath, instruction, nil)
	return err
}

// RiskReport returns what the risk service has really done.
func (d *Desk) RiskReport(ctx context.Context) (report risk.Report, err error) {
	_, err = d.once(ctx, http.MethodGet, d.config.RiskURL+risk.FaultsPath, nil, &report)
	return report, err
}

// call sends a request to the API until it is answered for good.
func (d *Desk) call(ctx context.Context, method, path string, body, into any) error {
	for {
		passing, err := d.once(ctx, method, d.config.URL+path, body, into)
		if err == nil || !passing {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// once sends a request once. An error is passing where the same request may
// succeed later.
func (d *Desk) once(ctx context.Context, method, address string, body, into any) (passing bool, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return false, fmt.Errorf("desk: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return false, fmt.Errorf("desk: %w", err)
	}
	request.SetBasicAuth(d.config.Tenant+"/"+d.config.Name, d.config.Password)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if d.process != "" {
		request.Header.Set(faults.APIHeader, d.process)
	}
	response, err := d.config.Client.Do(request)
	if err != nil {
		return true, fmt.Errorf("desk: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return true, fmt.Errorf("desk: %w", err)
	}
	if response.StatusCode < 300 {
		if into == nil {
			return false, nil
		}
		return false, json.Unmarshal(content, into)
	}
	return refusal(method, request.URL.Path, response.StatusCode, content)
}

// refusal says what an answer means that is not what was asked for.
func refusal(method, path string, status int, content []byte) (passing bool, err error) {
	err = fmt.Errorf("desk: %s %s: %d %s", method, path, status, bytes.TrimSpace(content))
	var problem api.Problem
	_ = json.Unmarshal(content, &problem) // a zero one is of no type
	if problem.Type == api.TypeInFlight || status >= http.StatusInternalServerError {
		return true, err
	}
	return false, fmt.Errorf("%w: %w", ErrRefused, err)
}
