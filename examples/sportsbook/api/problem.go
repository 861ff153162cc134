package api

import "net/http"

// ProblemMediaType is the media type of a [Problem]: RFC 9457. No other answer
// has it.
const ProblemMediaType = "application/problem+json"

// typeBase makes every type a URI that leads to its documentation. Types
// travel: do not change them.
const typeBase = "https://pkg.go.dev/github.com/settleonce/settleonce/examples/sportsbook/api#"

// The types of problems whose cause is the request. Nothing was changed, and the
// same request fails again.
const (
	// TypeKey: the Idempotency-Key is missing or malformed. 400.
	TypeKey = typeBase + "TypeKey"
	// TypeMalformed: the body is no JSON, or ended early. 400.
	TypeMalformed = typeBase + "TypeMalformed"
	// TypeInvalid: fields break rules. Errors names each. 422.
	TypeInvalid = typeBase + "TypeInvalid"
	// TypeUnauthenticated: nobody vouches for the request. 401.
	TypeUnauthenticated = typeBase + "TypeUnauthenticated"
	// TypeForbidden: the request is about another tenant's or player's things,
	// or about what only traders do. Nothing was looked up, so it tells
	// nothing of what there is (I10). 403.
	TypeForbidden = typeBase + "TypeForbidden"
	// TypeNotFound: there is no such resource. 404.
	TypeNotFound = typeBase + "TypeNotFound"
	// TypeMethod: the resource does not know the method. 405.
	TypeMethod = typeBase + "TypeMethod"
	// TypeTooLarge: the body is longer than is taken. 413.
	TypeTooLarge = typeBase + "TypeTooLarge"
	// TypeMediaType: the body is not said to be plain JSON. 415.
	TypeMediaType = typeBase + "TypeMediaType"
	// TypeKeyReused: the key has a decision on another command. Paths names
	// what differs. 422.
	TypeKeyReused = typeBase + "TypeKeyReused"
	// TypeConsentUsed: another command has used the consent. Successor names
	// it. 409.
	TypeConsentUsed = typeBase + "TypeConsentUsed"
	// TypeNotReferred: the command has neither a referral nor a decision, so
	// there is nothing for a trader to decide. One that is decided already,
	// referred or not, answers a trader with its decision. 409.
	TypeNotReferred = typeBase + "TypeNotReferred"
	// TypeClosedOtherwise: the bet or the market has been closed with another
	// result. 409.
	TypeClosedOtherwise = typeBase + "TypeClosedOtherwise"
	// TypeMarketClosed: the market is closed and does not change any more.
	// 409.
	TypeMarketClosed = typeBase + "TypeMarketClosed"
)

// The types of problems that may pass. The same request with the same key may
// be sent again, and Retry-After says when.
const (
	// TypeInFlight: the same key is being decided. Nothing was changed by
	// this request. 409.
	TypeInFlight = typeBase + "TypeInFlight"
	// TypeOutcomeUnknown: nobody knows yet whether the decision was
	// committed. It may have been: only the same key sent again, and no
	// other key, is safe. 503.
	TypeOutcomeUnknown = typeBase + "TypeOutcomeUnknown"
	// TypeWithheld: the decision is committed, and may not be told yet. 503.
	TypeWithheld = typeBase + "TypeWithheld"
	// TypeSchemaVersion: this build cannot compare the command with the
	// stored one. 503.
	TypeSchemaVersion = typeBase + "TypeSchemaVersion"
	// TypeUnavailable: nothing was decided, for a cause that may pass, such
	// as a database that is away. 503.
	TypeUnavailable = typeBase + "TypeUnavailable"
)

// The types of problems that somebody must look into.
const (
	// TypeTransactionEnded: effects may have been committed without a
	// receipt. The request must not be sent again before somebody has looked.
	// 500.
	TypeTransactionEnded = typeBase + "TypeTransactionEnded"
	// TypeInternal: the server failed. Nothing was decided, unless the key
	// has a decision already. 500.
	TypeInternal = typeBase + "TypeInternal"
)

// Problem is a problem document (RFC 9457): the answer to every request that is
// not answered with what it asked for.
type Problem struct {
	// Type says what happened. It alone is for programs.
	Type string `json:"type"`
	// Title is the type in words.
	Title string `json:"title"`
	// Status is the HTTP status that was given.
	Status int `json:"status"`
	// RequestID is for whoever reads the server's log. It is also in the
	// header [RequestIDHeader].
	RequestID string `json:"request_id"`
	// Errors has the wrong fields. Empty where the type names none.
	Errors []WrongField `json:"errors,omitempty"`
	// Paths names what differs from the command that the key has a decision
	// on, for [TypeKeyReused]: each path begins with "$". Empty where it is
	// not known.
	Paths []string `json:"paths,omitempty"`
	// Successor is the ID of the command that used the consent, for
	// [TypeConsentUsed].
	Successor string `json:"successor,omitempty"`
}

// WrongField is a field of a request and the rule that it breaks.
type WrongField struct {
	// Field is its path, such as "legs[1].odds", "$" for the body as a whole, or
	// the name of a header or of a parameter.
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// newProblem returns the document of a type.
func newProblem(problemType string) Problem {
	problem := func(status int, title string) Problem {
		return Problem{Type: problemType, Title: title, Status: status}
	}
	switch problemType {
	case TypeKey:
		return problem(http.StatusBadRequest, "The Idempotency-Key is missing or malformed")
	case TypeMalformed:
		return problem(http.StatusBadRequest, "The body is no JSON object")
	case TypeInvalid:
		return problem(http.StatusUnprocessableEntity, "Fields break rules")
	case TypeUnauthenticated:
		return problem(http.StatusUnauthorized, "The request is not authenticated")
	case TypeForbidden:
		return problem(http.StatusForbidden, "The request is about what its sender may not touch")
	case TypeNotFound:
		return problem(http.StatusNotFound, "There is no such resource")
	case TypeMethod:
		return problem(http.StatusMethodNotAllowed, "The resource does not know the method")
	case TypeTooLarge:
		return problem(http.StatusRequestEntityTooLarge, "The body is too large")
	case TypeMediaType:
		return problem(http.StatusUnsupportedMediaType, "The body must be application/json, without an encoding")
	case TypeKeyReused:
		return problem(http.StatusUnprocessableEntity, "The key has a decision on another command")
	case TypeConsentUsed:
		return problem(http.StatusConflict, "Another command has used the consent")
	case TypeNotReferred:
		return problem(http.StatusConflict, "The command does not wait for a trader")
	case TypeClosedOtherwise:
		return problem(http.StatusConflict, "Closed already, with another result")
	case TypeMarketClosed:
		return problem(http.StatusConflict, "The market is closed")
	case TypeInFlight:
		return problem(http.StatusConflict, "The key is in flight")
	case TypeOutcomeUnknown:
		return problem(http.StatusServiceUnavailable, "The outcome is not known yet: send the same again")
	case TypeWithheld:
		return problem(http.StatusServiceUnavailable, "Decided, and not to be told yet: send the same again")
	case TypeSchemaVersion:
		return problem(http.StatusServiceUnavailable, "The stored command cannot be compared here: send the same again")
	case TypeUnavailable:
		return problem(http.StatusServiceUnavailable, "Not decided now, for a cause that may pass: send the same again")
	case TypeTransactionEnded:
		return problem(http.StatusInternalServerError, "Effects may be left without a receipt: do not send again before somebody has looked")
	default:
		problemType = TypeInternal
		return problem(http.StatusInternalServerError, "The server failed")
	}
}

// retryable reports whether the cause may pass by itself, soon.
func (p *Problem) retryable() bool {
	return p.Type == TypeInFlight || p.Status == http.StatusServiceUnavailable
}
