package settlehttp

import (
	"encoding/json"
	"net/http"
	"time"
)

// ProblemMediaType is the media type of a [Problem]: RFC 9457.
const ProblemMediaType = "application/problem+json"

// typeBase makes every type a URI that leads to its documentation. Types
// travel: do not change them.
const typeBase = "https://pkg.go.dev/github.com/settleonce/settleonce/settle/settlehttp#"

// The types of the answers that carry no receipt. After each of these the
// sender keeps its record and may send it again.
const (
	// TypeInFlight: another attempt holds the key. Nothing was changed by
	// this one.
	TypeInFlight = typeBase + "TypeInFlight"
	// TypeOutcomeUnknown: the effects may be committed. The next delivery
	// tells.
	TypeOutcomeUnknown = typeBase + "TypeOutcomeUnknown"
	// TypeWithheld: the effects are committed, but the receiver has not
	// finished what must come before its answer. The next delivery runs that
	// again.
	TypeWithheld = typeBase + "TypeWithheld"
	// TypeSchemaVersion: the receiver's build cannot compare the fingerprint
	// with the stored one, whose schema has another version. Nothing was
	// changed.
	TypeSchemaVersion = typeBase + "TypeSchemaVersion"
	// TypeUnavailable: the event could not be settled now, for a cause that
	// may pass, such as a database that is away.
	TypeUnavailable = typeBase + "TypeUnavailable"
	// TypeInternal: the receiver failed. Its log says why.
	TypeInternal = typeBase + "TypeInternal"
	// TypeMalformed: the body is no valid event, or ended early. Errors lists
	// the wrong fields where it could be read that far.
	TypeMalformed = typeBase + "TypeMalformed"
	// TypeUnauthenticated: the authentication hook refused the request.
	TypeUnauthenticated = typeBase + "TypeUnauthenticated"
	// TypeForbidden: the tenant of the event's key is not the authenticated
	// one. Nothing was looked up, so the answer tells nothing about the key.
	TypeForbidden = typeBase + "TypeForbidden"
	// TypeMethod: the method is not POST.
	TypeMethod = typeBase + "TypeMethod"
	// TypeTooLarge: the body is longer than the receiver takes.
	TypeTooLarge = typeBase + "TypeTooLarge"
	// TypeMediaType: the body is not said to be one event in CloudEvents'
	// JSON format.
	TypeMediaType = typeBase + "TypeMediaType"
)

// Problem is a problem document (RFC 9457). It proves nothing about an event:
// the sender keeps its record.
type Problem struct {
	// Type says what happened. It alone is for programs.
	Type string `json:"type"`
	// Title is the type in words.
	Title string `json:"title"`
	// Status is the HTTP status that the receiver gave.
	Status int `json:"status"`
	// Detail says more about this occurrence. It may be empty.
	Detail string `json:"detail,omitempty"`
	// Errors has the wrong fields of an event, for [TypeMalformed].
	Errors []WrongField `json:"errors,omitempty"`
}

// WrongField is a field of an event and the rule that it breaks.
type WrongField struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// newProblem returns the document of a type, without its detail.
func newProblem(problemType string) Problem {
	problem := func(status int, title string) Problem {
		return Problem{Type: problemType, Title: title, Status: status}
	}
	switch problemType {
	case TypeInFlight:
		return problem(http.StatusConflict, "The key is in flight")
	case TypeOutcomeUnknown:
		return problem(http.StatusServiceUnavailable, "The outcome is not known yet")
	case TypeWithheld:
		return problem(http.StatusServiceUnavailable, "Committed, but the receipt is withheld")
	case TypeSchemaVersion:
		return problem(http.StatusServiceUnavailable, "The fingerprint's schema version is not known here")
	case TypeUnavailable:
		return problem(http.StatusServiceUnavailable, "Not settled now, for a cause that may pass")
	case TypeMalformed:
		return problem(http.StatusBadRequest, "The body is no valid event")
	case TypeUnauthenticated:
		return problem(http.StatusUnauthorized, "The request is not authenticated")
	case TypeForbidden:
		return problem(http.StatusForbidden, "The key is not the authenticated tenant's")
	case TypeMethod:
		return problem(http.StatusMethodNotAllowed, "The method must be POST")
	case TypeTooLarge:
		return problem(http.StatusRequestEntityTooLarge, "The body is too large")
	case TypeMediaType:
		return problem(http.StatusUnsupportedMediaType, "The media type is not the one of an event")
	default:
		problemType = TypeInternal
		return problem(http.StatusInternalServerError, "The receiver failed")
	}
}

// failure is a problem on its way to the answer.
type failure struct {
	problem Problem
	// cause is for the log and never travels: it can hold what the sender
	// must not see.
	cause error
}

func fail(problemType, detail string, cause error) *failure {
	problem := newProblem(problemType)
	problem.Detail = detail
	return &failure{problem, cause}
}

// retryable reports whether the cause may pass by itself, soon.
func (f *failure) retryable() bool {
	switch f.problem.Type {
	case TypeInFlight, TypeOutcomeUnknown, TypeWithheld, TypeSchemaVersion, TypeUnavailable:
		return true
	default:
		return false
	}
}

// answer returns the problem as an answer.
func (f *failure) answer(retryAfter time.Duration) answer {
	body, err := json.Marshal(f.problem)
	if err != nil {
		// A struct of texts and a number can always be written.
		return answer{status: http.StatusInternalServerError}
	}
	reply := answer{status: f.problem.Status, mediaType: ProblemMediaType, body: body}
	if f.retryable() {
		reply.retryAfter = retryAfter
	}
	return reply
}
