package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"

	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
)

const (
	// projectionFront is where a house that is served shows what its
	// projection has of a wallet, and where an operator has it refuse one.
	projectionFront = "/projection/"
	// relayFront is where an operator looks after the relay.
	relayFront = "/relay/"
)

// deliver starts the projection and a relay to it, and returns what shows them to
// people. In memory there is no outbox to relay from, and it says so.
func (s *served) deliver(ctx context.Context) (front http.Handler, end func(context.Context) error, err error) {
	if s.database == nil {
		return http.HandlerFunc(noDelivery), func(context.Context) error { return nil }, nil
	}
	consumer, err := openConsumer(ctx, s.database)
	if err != nil {
		return nil, nil, err
	}
	var started []*process.Role
	var logs string
	end = func(ctx context.Context) error {
		var err error
		for i := range started { // the relay before what it delivers to
			err = errors.Join(err, started[len(started)-1-i].Stop(ctx))
		}
		return errors.Join(err, consumer.Close(ctx), os.RemoveAll(logs))
	}
	start := func(config process.Config) error {
		role := process.OfThisProgram(config)
		started = append(started, role)
		return role.Start(ctx)
	}
	logs, err = os.MkdirTemp("", "settleonce-sportsbook-")
	log := directory(logs).log
	if err == nil {
		err = start(consumer.projectionConfig("", log(projectionRole)))
	}
	if err == nil {
		err = start(consumer.relayConfig(s.database, relayRole, started[0].URL(), log(relayRole)))
	}
	if err != nil {
		return nil, nil, errors.Join(err, stopServed(ctx, end))
	}
	fmt.Printf("logs: %s, %s\n", log(relayRole), log(projectionRole))
	front, err = deliveryFront(started[0].URL(), started[1].URL())
	if err != nil {
		return nil, nil, errors.Join(err, stopServed(ctx, end))
	}
	return front, end, nil
}

// noDelivery is the front of a house in memory.
func noDelivery(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "there is neither relay nor projection: in memory there is no outbox to relay from", http.StatusNotImplemented)
}

// deliveryFront passes on what people ask of the projection and of the relay: a
// player for the player's own wallet, a trader for everything. Nobody else sees
// anything of it, not even whether it is there.
func deliveryFront(projectionURL, relayURL string) (http.Handler, error) {
	ofProjection, err := behind(projectionFront, projectionURL)
	if err != nil {
		return nil, err
	}
	ofRelay, err := behind(relayFront, relayURL)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+projectionFront+"wallets/{id}", seenBy(func(who api.Principal, r *http.Request) bool {
		return who.Trader || who.Name == r.PathValue("id")
	}, ofProjection))
	trader := func(who api.Principal, _ *http.Request) bool { return who.Trader }
	mux.Handle(projectionFront+"refused/{id}", seenBy(trader, ofProjection))
	mux.Handle(relayFront, seenBy(trader, ofRelay))
	return mux, nil
}

// seenBy lets those through of the house's people who may.
func seenBy(may func(who api.Principal, r *http.Request) bool, next http.Handler) http.Handler {
	authenticate := api.DemoAuthenticator(demoPlayersPassword, demoTradersPassword)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := authenticate(r)
		switch {
		case err != nil:
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "say who you are", http.StatusUnauthorized)
		case who.Tenant != tenant, !may(who, r):
			http.Error(w, "it is not yours to see", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// behind passes on to an address what comes under a prefix, without the prefix
// and without the password, which is no affair of the role's.
func behind(prefix, address string) (http.Handler, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization")
	}}
	return http.StripPrefix(strings.TrimSuffix(prefix, "/"), pass), nil
}
