package api

import "net/http"

// wallet answers GET /wallets/{id}. A player sees nothing but its own, not even
// whether there is another.
func (h *Handler) wallet(r *http.Request, who Principal) (answer, error) {
	id, err := pathName(r)
	if err != nil {
		return answer{}, err
	}
	if !who.Trader && id != who.Name {
		return answer{}, fail(TypeForbidden)
	}
	found, err := h.config.Books.Wallet(r.Context(), id)
	if err != nil {
		return answer{}, err
	}
	return answerJSON(http.StatusOK, found)
}
