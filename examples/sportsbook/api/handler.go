package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/receipt"
)

// RequestIDHeader names the header with the id of a request, under which the
// log has it. A client may send its own, of 1 to 64 letters, digits, '-', '_'
// and '.'; any other is replaced.
const RequestIDHeader = "X-Request-Id"

const maxRequestID = 64

// Handler answers the requests of players and traders. Safe for concurrent use.
type Handler struct {
	config Config
	mux    *http.ServeMux
}

var _ http.Handler = (*Handler)(nil)

// endpoint answers a request of somebody in this house's tenant.
type endpoint func(r *http.Request, who Principal) (answer, error)

// New returns a Handler, or an error that names every wrong field of config.
func New(config Config) (*Handler, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.withDefaults()
	h := &Handler{config: config, mux: http.NewServeMux()}
	methods := map[string][]string{}
	for _, route := range []struct {
		method, path string
		serve        endpoint
	}{
		{http.MethodPost, "/bets", h.placeBet},
		{http.MethodGet, "/bets/{id}", h.bet},
		{http.MethodGet, "/bets/{id}/chain", h.chain},
		{http.MethodPost, "/bets/{id}/resolution", traders(h.resolve)},
		{http.MethodPost, "/bets/{id}/void", traders(h.void)},
		{http.MethodPost, "/results", traders(h.takeResult)},
		{http.MethodGet, "/wallets/{id}", h.wallet},
		{http.MethodGet, "/markets", h.markets},
		{http.MethodGet, "/markets/{id}", h.market},
		{http.MethodPost, "/markets/{id}/prices", traders(h.movePrices)},
		{http.MethodPost, "/markets/{id}/suspension", traders(h.suspend)},
		{http.MethodPost, "/markets/{id}/resumption", traders(h.resume)},
	} {
		h.mux.Handle(route.method+" "+route.path, h.answering(route.serve))
		methods[route.path] = append(methods[route.path], route.method)
	}
	for path, known := range methods {
		h.mux.Handle(path, h.answering(otherMethod(known)))
	}
	h.mux.Handle("/", h.answering(func(*http.Request, Principal) (answer, error) { return answer{}, fail(TypeNotFound) }))
	return h, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// otherMethod answers for a path whose known methods are other ones.
func otherMethod(known []string) endpoint {
	if slices.Contains(known, http.MethodGet) {
		known = append(known, http.MethodHead) // net/http answers it like GET
	}
	return func(*http.Request, Principal) (answer, error) {
		failed := fail(TypeMethod)
		failed.header = [2]string{"Allow", strings.Join(known, ", ")}
		return answer{}, failed
	}
}

// traders keeps players out.
func traders(serve endpoint) endpoint {
	return func(r *http.Request, who Principal) (answer, error) {
		if !who.Trader {
			return answer{}, fail(TypeForbidden)
		}
		return serve(r, who)
	}
}

// answering makes a handler of an endpoint.
func (h *Handler) answering(serve endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r.Header)
		r.Header.Set(RequestIDHeader, id) // what looks for it later finds this one
		r.Body = arriving(w, http.MaxBytesReader(w, r.Body, h.config.MaxBody), h.config.BodyTimeout)
		reply, err := h.protected(serve, r)
		var failed *failure
		if err != nil {
			failed = h.failureOf(err)
			failed.problem.RequestID = id
			reply = failed.answer(h.config.RetryAfter)
		}
		h.log(r, id, reply.status, failed)
		w.Header().Set(RequestIDHeader, id)
		reply.write(w)
	}
}

// protected makes a panic an error, so that it ends no more than its request.
func (h *Handler) protected(serve endpoint, r *http.Request) (reply answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			// The panic's value may hold a payload, and its type does not.
			err = failedBy(TypeInternal, fmt.Errorf("panic with a %T\n%s", cause, debug.Stack()))
		}
	}()
	who, err := h.authenticate(r)
	if err != nil {
		return answer{}, err
	}
	return serve(r, who)
}

// authenticate lets nobody of another tenant reach an endpoint (I10).
func (h *Handler) authenticate(r *http.Request) (Principal, error) {
	who, err := h.config.Authenticate(r)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		failed := failedBy(TypeUnauthenticated, err)
		failed.header = [2]string{"WWW-Authenticate", `Basic realm="sportsbook", charset="UTF-8"`}
		return Principal{}, failed
	case err != nil:
		return Principal{}, err
	case who.Tenant != h.config.Tenant:
		return Principal{}, fail(TypeForbidden)
	}
	return who, nil
}

// failureOf also asks the Config about errors that nothing is known of.
func (h *Handler) failureOf(err error) *failure {
	failed := failureOf(err)
	if failed.problem.Type == TypeInternal && failed.cause != nil && h.config.Unavailable(failed.cause) {
		return failedBy(TypeUnavailable, failed.cause)
	}
	return failed
}

// log says how a request was answered. What is wrong with a request's body is
// its sender's to know, and not the log's.
func (h *Handler) log(r *http.Request, id string, status int, failed *failure) {
	level := slog.LevelInfo
	attributes := []slog.Attr{slog.String("request", id), slog.String("route", r.Pattern), slog.Int("status", status)}
	if failed != nil {
		attributes = append(attributes, slog.String("type", strings.TrimPrefix(failed.problem.Type, typeBase)))
		if failed.cause != nil {
			attributes = append(attributes, slog.Any("error", failed.cause))
		}
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	if status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	h.config.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "answered", attributes...)
}

func requestID(header http.Header) string {
	id := header.Get(RequestIDHeader)
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, notBare) {
		return receipt.NewID()
	}
	return id
}
