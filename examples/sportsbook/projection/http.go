package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Handler returns the projection's interface, apart from the events, which come
// to settlehttp.Handler:
//
//	GET    /wallets/{id}   what the events of a wallet come to
//	PUT    /refused/{id}   refuse the events of a wallet from now on
//	DELETE /refused/{id}   take them again
//
// It authenticates nobody: it is for what lies before it, and for operators.
func (p *Projection) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /wallets/{id}", p.wallet)
	mux.HandleFunc("PUT /refused/{id}", change(p.Refuse))
	mux.HandleFunc("DELETE /refused/{id}", change(p.TakeAgain))
	return mux
}

func (p *Projection) wallet(w http.ResponseWriter, r *http.Request) {
	found, err := p.Wallet(r.Context(), r.PathValue("id"))
	switch {
	case errors.Is(err, ErrUnknownWallet):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, "the projection's database does not answer", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found) // an error is a client that has gone
	}
}

func change(do func(ctx context.Context, wallet string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r.Context(), r.PathValue("id")); err != nil {
			http.Error(w, "the projection's database does not answer", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// Refuse has the events of a wallet refused from now on, as a consumer does that
// finds something wrong with them and wants a person to look. They become dead
// letters of whoever relays them. Those that were taken stay.
func (p *Projection) Refuse(ctx context.Context, wallet string) error {
	if _, err := p.pool.Exec(ctx, `INSERT INTO refused (wallet) VALUES ($1) ON CONFLICT DO NOTHING`, wallet); err != nil {
		return fmt.Errorf("projection: refuse wallet %s: %w", wallet, err)
	}
	return nil
}

// TakeAgain undoes [Projection.Refuse].
func (p *Projection) TakeAgain(ctx context.Context, wallet string) error {
	if _, err := p.pool.Exec(ctx, `DELETE FROM refused WHERE wallet = $1`, wallet); err != nil {
		return fmt.Errorf("projection: take wallet %s again: %w", wallet, err)
	}
	return nil
}
