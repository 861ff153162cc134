package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// ErrUnauthenticated is what Authenticate returns where nobody vouches for a
// request.
var ErrUnauthenticated = errors.New("api: the request is not authenticated")

// Principal is who a request acts for.
type Principal struct {
	// Tenant is the house that it belongs to.
	Tenant string
	// Name is a player's wallet, or a trader's name.
	Name string
	// Trader tells a trader from a player.
	Trader bool
}

// DemoAuthenticator returns an Authenticate that is good for a demonstration
// and for nothing else: HTTP Basic, with "tenant/name" for a user and one
// password for all players and another for all traders. Whoever knows the
// players' password is any player.
func DemoAuthenticator(playersPassword, tradersPassword string) func(*http.Request) (Principal, error) {
	return func(r *http.Request) (Principal, error) {
		user, password, _ := r.BasicAuth()
		tenant, name, _ := strings.Cut(user, "/")
		if tenant == "" || name == "" {
			return Principal{}, ErrUnauthenticated
		}
		switch {
		case same(password, playersPassword):
			return Principal{Tenant: tenant, Name: name}, nil
		case same(password, tradersPassword):
			return Principal{Tenant: tenant, Name: name, Trader: true}, nil
		default:
			return Principal{}, ErrUnauthenticated
		}
	}
}

// same compares two secrets in a time that tells nothing of them.
func same(a, b string) bool {
	sumA, sumB := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(sumA[:], sumB[:]) == 1
}

// walletOf returns the wallet that a request about a bet is about: a player's
// own, or the one that a trader names.
func walletOf(r *http.Request, who Principal) (string, error) {
	// What cannot be read is left out of the parameters, and with it may be the
	// wallet that was meant.
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(parameters["wallet"]) > 1 {
		return "", fail(TypeInvalid, WrongField{"wallet", "must stand once at most, among parameters that can be read"})
	}
	named := parameters.Get("wallet")
	switch {
	case who.Trader && named == "":
		return "", fail(TypeInvalid, WrongField{"wallet", "must be set by a trader, as a parameter"})
	case who.Trader:
		return named, nil
	case named != "" && named != who.Name:
		return "", fail(TypeForbidden)
	default:
		return who.Name, nil
	}
}
