package settlehttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

const (
	defaultMaxBody    = 1 << 20
	defaultRetryAfter = time.Second
	defaultChallenge  = "Signature"
)

// HandlerConfig says how a [Handler] works. Its hooks may be called
// concurrently; a panic in one is logged and answered with [TypeInternal].
type HandlerConfig struct {
	// Authenticate returns the tenant that the request acts for. It gets the
	// raw body, which a signature covers, and must neither change nor keep
	// it; r.Body yields the same bytes. An error is answered with
	// [TypeUnauthenticated], one that wraps [ErrUnavailable] with
	// [TypeUnavailable]. It must be set.
	Authenticate func(r *http.Request, body []byte) (tenant string, err error)

	// Settle settles the event and returns the receipt of its key, usually
	// through settle.Do. The event is valid, and its tenant the
	// authenticated one; its data is still to be judged. It must be set.
	//
	// Settle computes the fingerprint from the event's data, under the
	// schema of the event's own fingerprint, and refuses the event with
	// settle.Refuse where the two differ. A schema that it does not know is
	// [receipt.ErrSchemaVersion]. The receipt of an earlier delivery may be
	// under another schema, if the two were compared under that; a receipt
	// with another fingerprint under the event's own schema is answered with
	// [TypeInternal], because it is no proof.
	//
	// Nil means that the receipt may be given as proof. An error beside a
	// receipt withholds it (I4). The package comment lists how the other
	// errors are answered; their texts stay in the log, except those of
	// settle.Refuse and of a conflict, which travel.
	Settle func(ctx context.Context, e event.Event) (receipt.Receipt, error)

	// MaxBody is the greatest length of a request's body in bytes. Zero is
	// 1 MiB, which holds every record of an outbox directory.
	MaxBody int64

	// RetryAfter is what a sender is asked to wait where the cause may pass,
	// in whole seconds, rounded up. Zero is one second.
	RetryAfter time.Duration

	// Challenge is the WWW-Authenticate header of an answer of status 401,
	// which HTTP demands. Empty is "Signature".
	Challenge string

	// Logger hears of every request that is not answered with a receipt. It
	// never hears an event's data. Nil is silence.
	Logger *slog.Logger
}

func (c HandlerConfig) validate() error {
	var broken []string
	if c.Authenticate == nil {
		broken = append(broken, "Authenticate must be set")
	}
	if c.Settle == nil {
		broken = append(broken, "Settle must be set")
	}
	if c.MaxBody < 0 {
		broken = append(broken, fmt.Sprintf("MaxBody must not be negative, is %d", c.MaxBody))
	}
	if c.RetryAfter < 0 {
		broken = append(broken, fmt.Sprintf("RetryAfter must not be negative, is %v", c.RetryAfter))
	}
	if strings.ContainsFunc(c.Challenge, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		broken = append(broken, fmt.Sprintf("Challenge must be printable ASCII, is %q", c.Challenge))
	}
	return configError("HandlerConfig", broken)
}

// configError returns an error that names every wrong field, or nil.
func configError(config string, broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("settlehttp: %s: %s", config, strings.Join(broken, "; "))
}

func (c HandlerConfig) withDefaults() HandlerConfig {
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = defaultRetryAfter
	}
	if c.Challenge == "" {
		c.Challenge = defaultChallenge
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Handler receives events and answers each with the receipt of its key, with a
// refusal, or with a problem. The package comment has the protocol.
//
// Safe for concurrent use.
type Handler struct {
	config HandlerConfig
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a Handler, or an error that names every wrong field of
// config.
func NewHandler(config HandlerConfig) (*Handler, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Handler{config.withDefaults()}, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reply := h.answer(w, r)
	reply.write(w)
}

// answer takes a request as far as its event, and settles that. Nothing of the
// body is read as an event before somebody vouches for the request.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) answer {
	body, failed := h.read(w, r)
	if failed != nil {
		return h.failed(r, nil, failed)
	}
	tenant, failed := h.authenticate(r, body)
	if failed != nil {
		return h.failed(r, nil, failed)
	}
	var e event.Event
	if err := e.UnmarshalJSON(body); err != nil {
		return h.failed(r, nil, malformed(err))
	}
	if e.Key.Tenant != tenant {
		return h.failed(r, nil, fail(TypeForbidden, "", fmt.Errorf("settlehttp: tenant %q sent a key of another tenant", tenant)))
	}
	return h.settle(r, &e)
}

// read returns the body of a request that claims to carry one event.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) ([]byte, *failure) {
	if r.Method != http.MethodPost {
		return nil, fail(TypeMethod, "", nil)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, fail(TypeMediaType, "the body must not be encoded: the signature covers it as it is", nil)
	}
	if mediaType(r.Header) != event.MediaType {
		return nil, fail(TypeMediaType, "the Content-Type must be "+event.MediaType, nil)
	}
	tooLarge := fmt.Sprintf("the body must have at most %d bytes", h.config.MaxBody)
	if r.ContentLength > h.config.MaxBody {
		return nil, fail(TypeTooLarge, tooLarge, nil)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.config.MaxBody))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, fail(TypeTooLarge, tooLarge, nil)
	}
	if err != nil {
		return nil, fail(TypeMalformed, "the body ended early", err)
	}
	return body, nil
}

// mediaType returns the one media type of a header, without parameters, or ""
// where there is none or more than one.
func mediaType(header http.Header) string {
	values := header.Values("Content-Type")
	if len(values) != 1 {
		return ""
	}
	parsed, _, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	return parsed
}

func (h *Handler) authenticate(r *http.Request, body []byte) (tenant string, failed *failure) {
	request := r.WithContext(r.Context()) // a copy, so that r.Body stays ours
	request.Body = io.NopCloser(bytes.NewReader(body))
	err := protect("Authenticate", func() (err error) {
		tenant, err = h.config.Authenticate(request, body)
		return err
	})
	_, panicked := errors.AsType[*panicError](err)
	switch {
	case err == nil:
		return tenant, nil
	case panicked:
		return "", fail(TypeInternal, "", err)
	case errors.Is(err, ErrUnavailable):
		return "", fail(TypeUnavailable, "", err)
	default:
		return "", fail(TypeUnauthenticated, "", err)
	}
}

// malformed tells the sender, whom somebody vouched for, what is wrong with
// its own event.
func malformed(err error) *failure {
	failed := fail(TypeMalformed, err.Error(), err)
	if invalid, ok := errors.AsType[*event.InvalidError](err); ok {
		failed.problem.Detail = ""
		for _, wrong := range invalid.Fields {
			failed.problem.Errors = append(failed.problem.Errors, WrongField(wrong))
		}
	}
	return failed
}

// settle answers one event whose tenant is the authenticated one.
func (h *Handler) settle(r *http.Request, e *event.Event) answer {
	ctx, settled := r.Context(), receipt.Receipt{}
	err := protect("Settle", func() (err error) {
		settled, err = h.config.Settle(ctx, e.Clone())
		return err
	})
	if err != nil {
		refusal, failed := verdict(e, &settled, err)
		if refusal != nil {
			return h.refused(r, e, refusal, err)
		}
		return h.failed(r, e, failed)
	}
	if err := checkReceipt(e, &settled); err != nil {
		return h.failed(r, e, fail(TypeInternal, "", err))
	}
	body, err := confirmation(&settled, e.Fingerprint)
	if err != nil {
		return h.failed(r, e, fail(TypeInternal, "", err))
	}
	return answer{status: http.StatusOK, mediaType: receipt.MediaType, body: body}
}

func (h *Handler) refused(r *http.Request, e *event.Event, refusal *Refusal, cause error) answer {
	reply, err := refusal.answer()
	if err != nil {
		return h.failed(r, e, fail(TypeInternal, "", err))
	}
	level := slog.LevelWarn
	if refusal.Type == TypeTransactionEnded {
		level = slog.LevelError
	}
	h.config.Logger.Log(r.Context(), level, "refused an event",
		"code", refusal.Code, "key", e.Key, "event", e.ID, "error", cause)
	return reply
}

// failed logs a failure and answers with its problem. e is nil where the event
// is not known, or is not to be known.
func (h *Handler) failed(r *http.Request, e *event.Event, failed *failure) answer {
	attributes := []any{"type", strings.TrimPrefix(failed.problem.Type, typeBase), "status", failed.problem.Status}
	if e != nil {
		attributes = append(attributes, "key", e.Key, "event", e.ID)
	}
	if failed.cause != nil {
		attributes = append(attributes, "error", failed.cause)
	}
	if panicked, ok := errors.AsType[*panicError](failed.cause); ok {
		attributes = append(attributes, "panic", panictext.Of(panicked.cause), "stack", string(panicked.stack))
	}
	level := slog.LevelWarn
	if failed.problem.Type == TypeInternal {
		level = slog.LevelError
	}
	h.config.Logger.Log(r.Context(), level, "answered a request without a receipt", attributes...)
	reply := failed.answer(h.config.RetryAfter)
	switch failed.problem.Type {
	case TypeUnauthenticated:
		reply.header = [2]string{"WWW-Authenticate", h.config.Challenge}
	case TypeMethod:
		reply.header = [2]string{"Allow", http.MethodPost}
	case TypeMediaType:
		reply.header = [2]string{"Accept", event.MediaType}
	}
	return reply
}
