package risk

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/strictjson"
)

const (
	// inadmissibleVersion is a version that no house admits.
	inadmissibleVersion = "untested"
	// retryAfter is what an overloaded service asks for, in seconds.
	retryAfter = "1"
)

// ServiceConfig says how a [Service] works.
type ServiceConfig struct {
	// Version is that of the model. It must be set.
	Version string
	// Judge is the model. It gets assessments that name a command, a stake
	// and a selection. Nil: every command is approved.
	Judge func(*Assessment) acceptance.Opinion
	// Lifetime is how long an opinion holds. Zero: ten seconds.
	Lifetime time.Duration
	// Now is the service's clock. Nil: time.Now.
	Now func() time.Time
	// Logger hears of assessments that were refused. Nil: silence.
	Logger *slog.Logger
}

// Service is the risk service. Safe for concurrent use.
type Service struct {
	config ServiceConfig
	script *script
	mux    *http.ServeMux
}

var _ http.Handler = (*Service)(nil)

// NewService returns a Service, or an error that names every wrong field.
func NewService(config ServiceConfig) (*Service, error) {
	var broken []error
	if config.Version == "" || config.Version == inadmissibleVersion {
		broken = append(broken, fmt.Errorf("risk: ServiceConfig: Version must be set, and not be %q", inadmissibleVersion))
	}
	if config.Lifetime < 0 {
		broken = append(broken, fmt.Errorf("risk: ServiceConfig: Lifetime must not be negative, is %v", config.Lifetime))
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	if config.Judge == nil {
		config.Judge = func(*Assessment) acceptance.Opinion { return acceptance.RiskApprove }
	}
	if config.Lifetime == 0 {
		config.Lifetime = 10 * time.Second
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{config: config, script: newScript(), mux: http.NewServeMux()}
	s.mux.HandleFunc("POST "+OpinionsPath, s.assess)
	s.mux.HandleFunc("POST "+FaultsPath, s.instruct)
	s.mux.HandleFunc("DELETE "+FaultsPath, s.clear)
	s.mux.HandleFunc("GET "+FaultsPath, s.report)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// assess answers POST /opinions as the script wants it.
func (s *Service) assess(w http.ResponseWriter, r *http.Request) {
	var assessment Assessment
	if !s.read(w, r, &assessment) {
		return
	}
	if err := assessment.validate(); err != nil {
		s.refuse(w, r, http.StatusUnprocessableEntity, err)
		return
	}
	mode := s.script.next(assessment.CommandID)
	switch mode {
	case Slow:
		<-r.Context().Done()
		s.script.done(mode, assessment.CommandID)
	case Down:
		s.script.done(mode, assessment.CommandID)
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	case Overloaded:
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(http.StatusServiceUnavailable)
		s.script.done(mode, assessment.CommandID)
	case Nonsense:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>It works!</body></html>"))
		s.script.done(mode, assessment.CommandID)
	default:
		opinion, err := s.opinion(mode, &assessment)
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		write(w, opinion)
		s.script.done(mode, assessment.CommandID)
	}
}

// opinion returns a new opinion, spoilt as the mode says.
func (s *Service) opinion(mode Mode, assessment *Assessment) (Opinion, error) {
	now := s.config.Now().UTC()
	opinion := Opinion{
		ID: receipt.NewID(), Version: s.config.Version, Fingerprint: assessment.Fingerprint,
		IssuedAt: now, ExpiresAt: now.Add(s.config.Lifetime), Opinion: s.config.Judge(assessment),
	}
	var err error
	switch mode {
	case Refuse:
		opinion.Opinion = acceptance.RiskRefuse
	case Refer:
		opinion.Opinion = acceptance.RiskRefer
	case Expired:
		opinion.IssuedAt, opinion.ExpiresAt = now.Add(-time.Hour), now.Add(-time.Minute)
	case Future:
		opinion.IssuedAt, opinion.ExpiresAt = now.Add(time.Hour), now.Add(2*time.Hour)
	case Inadmissible:
		opinion.Version = inadmissibleVersion
	case Foreign:
		opinion.Fingerprint, err = fingerprint.Of(assessment.Fingerprint.Schema(), "another command")
	default: // honest
	}
	return opinion, err
}

// instruct answers POST /faults.
func (s *Service) instruct(w http.ResponseWriter, r *http.Request) {
	var instruction Instruction
	if !s.read(w, r, &instruction) {
		return
	}
	if err := instruction.validate(); err != nil {
		s.refuse(w, r, http.StatusUnprocessableEntity, err)
		return
	}
	s.script.add(instruction)
	write(w, s.script.report())
}

func (s *Service) clear(w http.ResponseWriter, _ *http.Request) {
	s.script.clear()
	write(w, s.script.report())
}

func (s *Service) report(w http.ResponseWriter, _ *http.Request) { write(w, s.script.report()) }

// read fills in the request's body, or refuses the request.
func (s *Service) read(w http.ResponseWriter, r *http.Request, body any) bool {
	text, err := strictjson.Read(r.Body, maxBody)
	if errors.Is(err, strictjson.ErrTooLong) {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, err)
		return false
	}
	if err == nil {
		err = strictjson.Decode(text, body)
	}
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, err)
		return false
	}
	return true
}

// refuse answers with a text for people: the service's callers are ours.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, status int, cause error) {
	s.config.Logger.WarnContext(r.Context(), "risk: refused a request", "path", r.URL.Path, "status", status, "error", cause)
	http.Error(w, cause.Error(), status)
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(body) // an error is a client that has gone
}
