package api

import (
	"net/http"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// placeBet answers POST /bets.
func (h *Handler) placeBet(r *http.Request, who Principal) (answer, error) {
	if who.Trader {
		return answer{}, fail(TypeForbidden)
	}
	id, failed := idempotencyKey(r.Header)
	if failed != nil {
		return answer{}, failed
	}
	command, err := readCommand(r)
	if err != nil {
		return answer{}, err
	}
	if err := own(&command, who, id); err != nil {
		return answer{}, err
	}
	decision, err := h.config.Bets.Accept(r.Context(), command)
	if err != nil {
		return answer{}, err
	}
	return answerDecision(bet.Reference{Wallet: command.Wallet, ID: command.ID}, &decision)
}

// own makes the command that of whoever sent it. It comes before anything is
// looked up, so that nobody learns of another's keys (I10).
func own(command *acceptance.Command, who Principal, id string) error {
	if (command.Tenant != "" && command.Tenant != who.Tenant) || (command.Wallet != "" && command.Wallet != who.Name) {
		return fail(TypeForbidden)
	}
	if command.ID != "" && command.ID != id {
		return fail(TypeInvalid, WrongField{"id", "must be left out, or be the " + KeyHeader})
	}
	command.Tenant, command.Wallet, command.ID = who.Tenant, who.Name, id
	return nil
}

// betOf returns which bet a request is about. What can be no key has no bet.
func betOf(r *http.Request, who Principal) (bet.Reference, error) {
	wallet, err := walletOf(r, who)
	if err != nil {
		return bet.Reference{}, err
	}
	reference := bet.Reference{Wallet: wallet, ID: r.PathValue("id")}
	key := acceptance.PlacingKey(who.Tenant, reference.Wallet, reference.ID)
	if key.Validate() != nil {
		return bet.Reference{}, fail(TypeNotFound)
	}
	return reference, nil
}

// bet answers GET /bets/{id}.
func (h *Handler) bet(r *http.Request, who Principal) (answer, error) {
	reference, err := betOf(r, who)
	if err != nil {
		return answer{}, err
	}
	decision, err := h.config.Bets.Lookup(r.Context(), reference)
	if err != nil {
		return answer{}, err
	}
	body, err := decisionOf(reference, &decision)
	if err != nil {
		return answer{}, err
	}
	return answerJSON(http.StatusOK, body)
}

// Chain is the answer to GET /bets/{id}/chain: the commands from the first
// requote to the last consent, each with its decision.
type Chain struct {
	Chain []Decision `json:"chain"`
}

// chain answers GET /bets/{id}/chain.
func (h *Handler) chain(r *http.Request, who Principal) (answer, error) {
	reference, err := betOf(r, who)
	if err != nil {
		return answer{}, err
	}
	links, err := h.config.Bets.Chain(r.Context(), reference)
	if err != nil {
		return answer{}, err
	}
	body := Chain{make([]Decision, len(links))}
	for i := range links {
		link := bet.Reference{Wallet: reference.Wallet, ID: links[i].ID}
		if body.Chain[i], err = decisionOf(link, &links[i].Decision); err != nil {
			return answer{}, err
		}
	}
	return answerJSON(http.StatusOK, body)
}

// ResolutionRequest is the body of POST /bets/{id}/resolution. Who decided is
// whoever is authenticated.
type ResolutionRequest struct {
	Ruling         acceptance.TraderRuling `json:"ruling"`
	Reason         string                  `json:"reason,omitempty"`
	GrantRequested bool                    `json:"grant_requested,omitempty"`
}

// resolve answers POST /bets/{id}/resolution.
func (h *Handler) resolve(r *http.Request, who Principal) (answer, error) {
	reference, err := betOf(r, who)
	if err != nil {
		return answer{}, err
	}
	var request ResolutionRequest
	if err := readBody(r, &request); err != nil {
		return answer{}, err
	}
	decision, err := h.config.Bets.Resolve(r.Context(), reference, acceptance.Resolution{
		Ruling: request.Ruling, By: who.Name, Reason: request.Reason, GrantRequested: request.GrantRequested,
	})
	if err != nil {
		return answer{}, err
	}
	return answerDecision(reference, &decision)
}
