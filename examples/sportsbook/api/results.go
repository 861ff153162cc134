package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// ResultRequest is the body of POST /results: how a market ended.
type ResultRequest struct {
	Market string `json:"market"`
	// Version names the result in the feed that it came from.
	Version string `json:"version"`
	// Winner is the selection that won. Void says that none did, because the
	// market does not count. One of them must be set.
	Winner string `json:"winner,omitempty"`
	Void   bool   `json:"void,omitempty"`
}

func (r *ResultRequest) validate() error {
	wrong := checkName(nil, "market", r.Market)
	wrong = checkName(wrong, "version", r.Version)
	switch {
	case (r.Winner == "") != r.Void:
		wrong = append(wrong, WrongField{"winner", "must be set, unless void is true"})
	case !r.Void:
		wrong = checkName(wrong, "winner", r.Winner)
	}
	if len(wrong) > 0 {
		return fail(TypeInvalid, wrong...)
	}
	return nil
}

// ResultAnswer is the answer to POST /results. The same result sent again gets
// the same closings, with Replayed.
type ResultAnswer struct {
	Market  string `json:"market"`
	Version string `json:"version"`
	// Bets are all bets with a leg on the market.
	Bets []ClosedBet `json:"bets"`
	// Unfinished counts the bets with a problem that may pass: send the same
	// result again until it is zero.
	Unfinished int `json:"unfinished"`
}

// ClosedBet is what came of one bet.
type ClosedBet struct {
	bet.Reference
	// State is the bet's. It is open where the result of another market is not
	// known yet. A bet that a trader has voided says so also where the results
	// cannot close it any more.
	State bet.State `json:"state"`
	// Closing is the [bet.Closing], byte for byte as it was committed. Nil:
	// the request did not close the bet, nor did an equal one before it.
	Closing json.RawMessage `json:"closing,omitempty"`
	// Receipt identifies the proof of the Closing. Nil where that is.
	Receipt *Receipt `json:"receipt,omitempty"`
	// Replayed says that the closing is that of an earlier request.
	Replayed bool `json:"replayed"`
	// Problem is why the bet could not be closed now. Nil: it could, or waits
	// for another market.
	Problem *Problem `json:"problem,omitempty"`
}

// takeResult answers POST /results. The market's result is written first, and
// bars all others; then each bet is closed in a transaction of its own. What
// fails between leaves bets that the same request closes when it comes again.
func (h *Handler) takeResult(r *http.Request, _ Principal) (answer, error) {
	var request ResultRequest
	if err := readBody(r, &request); err != nil {
		return answer{}, err
	}
	if err := request.validate(); err != nil {
		return answer{}, err
	}
	if err := h.closeMarket(r.Context(), &request); err != nil {
		return answer{}, err
	}
	references, err := h.config.Books.BetsOn(r.Context(), request.Market)
	if err != nil {
		return answer{}, err
	}
	body := ResultAnswer{Market: request.Market, Version: request.Version, Bets: make([]ClosedBet, len(references))}
	for i, reference := range references {
		body.Bets[i] = h.closeBet(r, reference, &request)
		if problem := body.Bets[i].Problem; problem != nil && problem.retryable() {
			body.Unfinished++
		}
	}
	return answerJSON(http.StatusOK, body)
}

func (h *Handler) closeMarket(ctx context.Context, request *ResultRequest) error {
	result := market.Result{Version: request.Version, Winner: request.Winner, Void: request.Void}
	err := h.config.Trading.CloseMarket(ctx, request.Market, result)
	switch {
	case errors.Is(err, house.ErrMarketClosed):
		return failedBy(TypeClosedOtherwise, err)
	case errors.Is(err, house.ErrUnknownSelection):
		return fail(TypeInvalid, WrongField{"winner", "must be a selection of the market"})
	default:
		return err
	}
}

// closeBet settles one bet, or voids it where all that it was about is void.
func (h *Handler) closeBet(r *http.Request, reference bet.Reference, request *ResultRequest) ClosedBet {
	placed, state, err := h.config.Books.Bet(r.Context(), reference)
	if err != nil {
		return h.unclosed(r, reference, bet.Open, err)
	}
	var closed settle.Result[bet.Closing]
	if request.Void && len(placed.Markets()) == 1 {
		closed, err = h.config.Bets.Void(r.Context(), reference, request.Version)
	} else {
		closed, err = h.config.Bets.Settle(r.Context(), reference)
	}
	if errors.Is(err, bet.ErrUndecided) {
		return ClosedBet{Reference: reference, State: state}
	}
	if err != nil {
		return h.unclosed(r, reference, state, closedOtherwise(err))
	}
	return closedBet(&closed)
}

// closedOtherwise tells a conflict about how a bet ended from one about its
// command.
func closedOtherwise(err error) error {
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); ok {
		return failedBy(TypeClosedOtherwise, conflict)
	}
	return err
}

func closedBet(closed *settle.Result[bet.Closing]) ClosedBet {
	return ClosedBet{
		Reference: closed.Value.Reference, State: closed.Value.State, Closing: closed.Receipt.Value,
		Receipt: receiptOf(&closed.Receipt), Replayed: closed.Replayed,
	}
}

// unclosed is one bet's failure, in an answer that is none.
func (h *Handler) unclosed(r *http.Request, reference bet.Reference, state bet.State, err error) ClosedBet {
	failed := h.failureOf(err)
	id := requestID(r.Header)
	failed.problem.RequestID = id
	h.log(r, id, failed.problem.Status, failed)
	return ClosedBet{Reference: reference, State: state, Problem: &failed.problem}
}

// VoidRequest is the body of POST /bets/{id}/void.
type VoidRequest struct {
	// Version names what the bet is voided by, such as a trader's case.
	Version string `json:"version"`
}

// void answers POST /bets/{id}/void with a [ClosedBet].
func (h *Handler) void(r *http.Request, who Principal) (answer, error) {
	reference, err := betOf(r, who)
	if err != nil {
		return answer{}, err
	}
	var request VoidRequest
	if err := readBody(r, &request); err != nil {
		return answer{}, err
	}
	if wrong := checkName(nil, "version", request.Version); wrong != nil {
		return answer{}, fail(TypeInvalid, wrong...)
	}
	closed, err := h.config.Bets.Void(r.Context(), reference, request.Version)
	if err != nil {
		return answer{}, closedOtherwise(err)
	}
	return answerJSON(http.StatusOK, closedBet(&closed))
}
