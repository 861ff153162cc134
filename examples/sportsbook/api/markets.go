package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Markets is the answer to GET /markets.
type Markets struct {
	Markets []market.Market `json:"markets"`
}

// markets answers GET /markets.
func (h *Handler) markets(r *http.Request, _ Principal) (answer, error) {
	found, err := h.config.Books.Markets(r.Context())
	if err != nil {
		return answer{}, err
	}
	return answerJSON(http.StatusOK, Markets{found})
}

// market answers GET /markets/{id}.
func (h *Handler) market(r *http.Request, _ Principal) (answer, error) {
	return h.changeMarket(r, func(context.Context, string) error { return nil })
}

// changeMarket answers with a market as it is after a change.
func (h *Handler) changeMarket(r *http.Request, change func(ctx context.Context, id string) error) (answer, error) {
	id, err := pathName(r)
	if err != nil {
		return answer{}, err
	}
	if err := change(r.Context(), id); err != nil {
		return answer{}, err
	}
	found, err := h.config.Books.Market(r.Context(), id)
	if err != nil {
		return answer{}, err
	}
	return answerJSON(http.StatusOK, found)
}

// PricesRequest is the body of POST /markets/{id}/prices. Selections that it
// does not name keep their odds.
type PricesRequest struct {
	Prices []PriceRequest `json:"prices"`
}

// PriceRequest is a [market.Price] as it is sent.
type PriceRequest struct {
	Selection string `json:"selection"`
	// Odds is a [money.Odds] in JSON, which is read by itself: encoding/json
	// does not say which of several was wrong.
	Odds json.RawMessage `json:"odds"`
}

// prices returns what is asked for, or an error that names every wrong field.
func (r *PricesRequest) prices() ([]market.Price, error) {
	var wrong []WrongField
	if len(r.Prices) == 0 {
		wrong = append(wrong, WrongField{"prices", "must hold one price at least"})
	}
	prices := make([]market.Price, len(r.Prices))
	first := make(map[string]int) // where each selection is named first
	for i, asked := range r.Prices {
		field := fmt.Sprintf("prices[%d]", i)
		prices[i].Selection = asked.Selection
		wrong = checkName(wrong, field+".selection", asked.Selection)
		if at, twice := first[asked.Selection]; twice {
			wrong = append(wrong, WrongField{field + ".selection", fmt.Sprintf("must not be that of prices[%d]", at)})
		} else {
			first[asked.Selection] = i
		}
		if rule := readOdds(asked.Odds, &prices[i].Odds); rule != "" {
			wrong = append(wrong, WrongField{field + ".odds", rule})
		}
	}
	if len(wrong) > 0 {
		return nil, fail(TypeInvalid, wrong...)
	}
	return prices, nil
}

// readOdds fills in odds, or returns the rule that their text breaks.
func readOdds(text json.RawMessage, into *money.Odds) (rule string) {
	if len(text) == 0 {
		return "must be set"
	}
	err := json.Unmarshal(text, into)
	if broken, ok := errors.AsType[*money.RuleError](err); ok {
		return broken.Rule
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// movePrices answers POST /markets/{id}/prices.
func (h *Handler) movePrices(r *http.Request, _ Principal) (answer, error) {
	var request PricesRequest
	if err := readBody(r, &request); err != nil {
		return answer{}, err
	}
	prices, err := request.prices()
	if err != nil {
		return answer{}, err
	}
	return h.changeMarket(r, func(ctx context.Context, id string) error {
		err := h.config.Trading.Move(ctx, id, prices...)
		if errors.Is(err, house.ErrUnknownSelection) {
			return fail(TypeInvalid, WrongField{"prices", "must name selections of the market"})
		}
		return err
	})
}

// suspend answers POST /markets/{id}/suspension.
func (h *Handler) suspend(r *http.Request, _ Principal) (answer, error) {
	return h.changeMarket(r, h.config.Trading.Suspend)
}

// resume answers POST /markets/{id}/resumption.
func (h *Handler) resume(r *http.Request, _ Principal) (answer, error) {
	return h.changeMarket(r, h.config.Trading.Resume)
}
