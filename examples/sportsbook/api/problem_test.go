package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// problemOf returns the problem that an answer must be.
func problemOf(t *testing.T, recorder *httptest.ResponseRecorder, status int, problemType string) api.Problem {
	t.Helper()
	if got := recorder.Header().Get("Content-Type"); got != api.ProblemMediaType {
		t.Fatalf("%d %s: media type %q", recorder.Code, recorder.Body, got)
	}
	problem := decoded[api.Problem](t, recorder)
	if recorder.Code != status || problem.Status != status || problem.Type != problemType {
		t.Errorf("%d %s; want %d and type %s", recorder.Code, recorder.Body, status, problemType)
	}
	if problem.Title == "" || problem.RequestID == "" || problem.RequestID != recorder.Header().Get(api.RequestIDHeader) {
		t.Errorf("problem %+v lacks its title or the request's id", problem)
	}
	return problem
}

// Every request that is not what it should be, before anything is decided.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	with := func(q request, name string, values ...string) request {
		q.header = http.Header{name: values}
		return q
	}
	bet, longID := place("slip-1", single()), strings.Repeat("i", 257)
	for name, c := range map[string]struct {
		request request
		status  int
		kind    string
		field   string // of the only error; empty: none
	}{
		"no key":               {place("", single()), 400, api.TypeKey, "Idempotency-Key"},
		"an empty key":         {place(`""`, single()), 400, api.TypeKey, "Idempotency-Key"},
		"an open quote":        {place(`"slip-1`, single()), 400, api.TypeKey, "Idempotency-Key"},
		"a key that is long":   {place(longID, single()), 400, api.TypeKey, "Idempotency-Key"},
		"parameters of a key":  {place(`"slip-1";v=1`, single()), 400, api.TypeKey, "Idempotency-Key"},
		"a bare key of words":  {place(`slip 1`, single()), 400, api.TypeKey, "Idempotency-Key"},
		"no JSON":              {place("slip-1", `{`), 400, api.TypeMalformed, "$"},
		"no object":            {place("slip-1", `[]`), 400, api.TypeMalformed, "$"},
		"two objects":          {place("slip-1", `{}{}`), 400, api.TypeMalformed, "$"},
		"an unknown member":    {place("slip-1", single(`"type"`, `"tip":1,"type"`)), 422, api.TypeInvalid, "tip"},
		"a stake in a number":  {place("slip-1", single(`"10.00"`, `10.00`)), 422, api.TypeInvalid, "stake.amount"},
		"a stake of nothing":   {place("slip-1", single(`"10.00"`, `"0.00"`)), 422, api.TypeInvalid, "stake"},
		"an unknown currency":  {place("slip-1", single(`"EUR"`, `"EUX"`)), 422, api.TypeInvalid, "stake"},
		"funding that is none": {place("slip-1", single(`"type"`, `"funding":"bonus","type"`)), 422, api.TypeInvalid, "funding"},
		"no credentials":       {request{method: "GET", path: "/markets", as: "nobody"}, 401, api.TypeUnauthenticated, ""},
		"a wrong password":     {request{method: "GET", path: "/markets", as: "acme/alice:guess"}, 401, api.TypeUnauthenticated, ""},
		"no tenant":            {request{method: "GET", path: "/markets", as: "alice:players"}, 401, api.TypeUnauthenticated, ""},
		"no such path":         {request{method: "GET", path: "/odds"}, 404, api.TypeNotFound, ""},
		"no such bet":          {request{method: "GET", path: "/bets/slip-9"}, 404, api.TypeNotFound, ""},
		"a bet that can't be":  {request{method: "GET", path: "/bets/" + longID}, 404, api.TypeNotFound, ""},
		"no such market":       {request{method: "GET", path: "/markets/m9"}, 404, api.TypeNotFound, ""},
		"no such wallet":       {request{method: "GET", path: "/wallets/eve", as: trader}, 404, api.TypeNotFound, ""},
		"no wallet named":      {request{method: "GET", path: "/bets/slip-1", as: trader}, 422, api.TypeInvalid, "wallet"},
		"another method":       {request{method: "DELETE", path: "/bets/slip-1"}, 405, api.TypeMethod, ""},
		"GET of what is POST":  {request{method: "GET", path: "/results"}, 405, api.TypeMethod, ""},
		"a large body":         {place("slip-1", single(`"type"`, strings.Repeat(" ", 1<<20)+`"type"`)), 413, api.TypeTooLarge, "$"},
		"a form":               {with(bet, "Content-Type", "application/x-www-form-urlencoded"), 415, api.TypeMediaType, "Content-Type"},
		"no media type":        {with(bet, "Content-Type", ""), 415, api.TypeMediaType, "Content-Type"},
		"an encoded body":      {with(bet, "Content-Encoding", "gzip"), 415, api.TypeMediaType, "Content-Encoding"},
		"two media types":      {with(bet, "Content-Type", "application/json", "text/plain"), 415, api.TypeMediaType, "Content-Type"},
		"two encodings":        {with(bet, "Content-Encoding", "identity", "gzip"), 415, api.TypeMediaType, "Content-Encoding"},
		"two wallets named":    {request{method: "GET", path: "/bets/slip-1?wallet=alice&wallet=bob", as: trader}, 422, api.TypeInvalid, "wallet"},
		"half a wallet named":  {request{method: "GET", path: "/bets/slip-1?wallet=alice;x&wallet=bob", as: trader}, 422, api.TypeInvalid, "wallet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t)
			recorder := v.send(t, c.request)
			problem := problemOf(t, recorder, c.status, c.kind)
			var fields []string
			for _, wrong := range problem.Errors {
				if wrong.Rule == "" {
					t.Errorf("the field %s has no rule", wrong.Field)
				}
				fields = append(fields, wrong.Field)
			}
			if got := strings.Join(fields, " "); got != c.field {
				t.Errorf("errors about %q, want %q: %s", got, c.field, recorder.Body)
			}
			wantHeader(t, recorder.Header(), "Retry-After", "")
			wantHeader(t, recorder.Header(), "Allow", map[int]string{405: allowed(c.request.path)}[c.status])
			wantHeader(t, recorder.Header(), "Accept", map[int]string{415: "application/json"}[c.status])
			wantHeader(t, recorder.Header(), "WWW-Authenticate", map[int]string{401: `Basic realm="sportsbook", charset="UTF-8"`}[c.status])
			if receipts := v.fake.Receipts(); len(receipts) != 0 {
				t.Errorf("a refused request left %d receipts", len(receipts))
			}
		})
	}
}

func allowed(path string) string {
	if path == "/results" {
		return "POST"
	}
	return "GET, HEAD"
}

func TestKeyMustStandOnce(t *testing.T) {
	t.Parallel()
	v, q := open(t), place("", single())
	q.header = http.Header{"Idempotency-Key": {`"a"`, `"a"`}}
	problemOf(t, v.send(t, q), http.StatusBadRequest, api.TypeKey)
}

// What can be no name is looked for nowhere: a database may not even take it.
func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	v := open(t, func(_ *house.Config, a *api.Config) {
		a.Books, a.Trading, a.Bets = struct{ house.Books }{}, struct{ house.Trading }{}, struct{ api.Bets }{}
	})
	for _, name := range []string{"%00", "%ff", "a%0ab", strings.Repeat("n", 300)} {
		for _, q := range []request{
			{method: "GET", path: "/wallets/" + name},
			{method: "GET", path: "/markets/" + name},
			{method: "POST", path: "/markets/" + name + "/prices", body: `{"prices":[{"selection":"home","odds":"2.00"}]}`},
			{method: "POST", path: "/markets/" + name + "/suspension"},
			{method: "POST", path: "/markets/" + name + "/resumption"},
			{method: "GET", path: "/bets/" + name + "?wallet=alice"},
			{method: "GET", path: "/bets/slip-1?wallet=" + name},
			{method: "POST", path: "/bets/slip-1/void?wallet=" + name, body: `{"version":"case-1"}`},
		} {
			q.as = trader
			problemOf(t, v.send(t, q), http.StatusNotFound, api.TypeNotFound)
		}
	}
}

// One answer names every wrong field.
func TestEveryWrongFieldIsNamed(t *testing.T) {
	t.Parallel()
	v := open(t)
	body := `{"legs":[{"event":"","market":"m1","selection":"home","quote_version":"1","odds":"0.5"}],` +
		`"type":{"kind":"lottery"},"stake":{"amount":"-1","currency":"EUR"},"stake_mode":"some"}`
	problem := problemOf(t, v.send(t, place("slip-1", body)), http.StatusUnprocessableEntity, api.TypeInvalid)
	named := make(map[string]bool)
	for _, wrong := range problem.Errors {
		named[wrong.Field] = true
	}
	want := map[string]bool{"legs[0].event": true, "legs[0].odds": true, "type.kind": true, "stake": true, "stake_mode": true}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("fields (-want +got)\n%s", diff)
	}
}

// What the store does to a decision, what the client is told of it, and what
// it gets when it sends the same again.
func TestFaultsOfTheStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    receipttest.Fault
		status   int
		kind     string // empty: a decision
		replayed string // the next time; empty: it fails again
	}{
		{receipttest.LoseAnswer, 201, "", "true"},
		{receipttest.UnknownThenFound, 201, "", "true"},
		{receipttest.UnknownThenNotFound, 201, "", "true"},
		{receipttest.RerunCallback, 201, "", "true"},
		{receipttest.RivalFirst, 201, "", "true"},
		{receipttest.FailBegin, 500, api.TypeInternal, "false"},
		{receipttest.FailBeforeCommit, 503, api.TypeUnavailable, "false"},
		{receipttest.SlowLock, 409, api.TypeInFlight, "false"},
		{receipttest.UnknownUnresolved, 503, api.TypeOutcomeUnknown, "true"},
		{receipttest.TransactionEnded, 500, api.TypeTransactionEnded, ""},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			v := open(t)
			if err := v.fake.Inject(c.fault); err != nil {
				t.Fatal(err)
			}
			first := v.send(t, place("slip-1", single()))
			if c.kind == "" {
				if first.Code != c.status {
					t.Fatalf("%d %s, want %d", first.Code, first.Body, c.status)
				}
			} else {
				problemOf(t, first, c.status, c.kind)
			}
			if fired := v.fake.Fired(c.fault); fired != 1 {
				t.Fatalf("the fault happened %d times", fired)
			}
			retryable := c.kind == api.TypeInFlight || c.status == http.StatusServiceUnavailable
			wantHeader(t, first.Header(), "Retry-After", map[bool]string{true: "2"}[retryable])
			if c.replayed == "" {
				return
			}
			v.fake.Heal()
			_, again := v.mustPlace(t, place("slip-1", single()), acceptance.Accepted)
			wantHeader(t, again.Header(), api.ReplayedHeader, c.replayed)
			if c.kind == "" && first.Body.String() != again.Body.String() {
				t.Errorf("answers\n%s%s", first.Body, again.Body)
			}
			tables, err := v.tables.Tables(t.Context())
			if err != nil || len(tables.Bets) != 1 || len(tables.Holds) != 1 {
				t.Errorf("%d bets and %d holds, error %v; want one of each", len(tables.Bets), len(tables.Holds), err)
			}
		})
	}
}

// failing is a house that fails.
type failing struct {
	api.Bets
	with func() error
}

func (f failing) Accept(context.Context, acceptance.Command) (house.Decision, error) {
	return house.Decision{}, f.with()
}

// Each error has its problem; what it says stays in the log.
func TestErrorsOfTheHouse(t *testing.T) {
	t.Parallel()
	secret := errors.New("the password of the database is swordfish")
	away := fmt.Errorf("the server is away: %w", secret)
	for name, c := range map[string]struct {
		err    error
		status int
		kind   string
	}{
		"withheld":            {receipt.ErrWithheld, 503, api.TypeWithheld},
		"schema version":      {receipt.ErrSchemaVersion, 503, api.TypeSchemaVersion},
		"unknown":             {receipt.ErrOutcomeUnknown, 503, api.TypeOutcomeUnknown},
		"not committed":       {receipt.ErrNotCommitted, 503, api.TypeUnavailable},
		"in flight":           {receipt.ErrInFlight, 409, api.TypeInFlight},
		"ended":               {receipt.ErrTransactionEnded, 500, api.TypeTransactionEnded},
		"nested":              {receipt.ErrNested, 500, api.TypeInternal},
		"callback":            {acceptance.ErrCallback, 500, api.TypeInternal},
		"value":               {acceptance.ErrValue, 500, api.TypeInternal},
		"deadline":            {context.DeadlineExceeded, 503, api.TypeUnavailable},
		"what Config knows":   {away, 503, api.TypeUnavailable},
		"what nobody knows":   {io.ErrClosedPipe, 500, api.TypeInternal},
		"unknown and ended":   {errors.Join(receipt.ErrOutcomeUnknown, receipt.ErrTransactionEnded), 500, api.TypeTransactionEnded},
		"unknown and expired": {errors.Join(context.DeadlineExceeded, receipt.ErrOutcomeUnknown), 503, api.TypeOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fails := failing{with: func() error { return fmt.Errorf("%w: %w", c.err, secret) }}
			v := open(t, func(_ *house.Config, a *api.Config) {
				a.Bets = fails
				a.Unavailable = func(err error) bool { return errors.Is(err, away) }
			})
			recorder := v.send(t, place("slip-1", single()))
			problem := problemOf(t, recorder, c.status, c.kind)
			if strings.Contains(recorder.Body.String(), "swordfish") {
				t.Errorf("the client is told %s", recorder.Body)
			}
			if log := v.log.String(); !strings.Contains(log, "swordfish") || !strings.Contains(log, problem.RequestID) {
				t.Errorf("the log does not say why: %s", log)
			}
		})
	}
}

// An authentication that cannot be made is no wrong password.
func TestAuthenticationThatIsAway(t *testing.T) {
	t.Parallel()
	v := open(t, func(_ *house.Config, a *api.Config) {
		a.Authenticate = func(*http.Request) (api.Principal, error) { return api.Principal{}, context.DeadlineExceeded }
	})
	problemOf(t, v.send(t, request{method: "GET", path: "/markets"}), http.StatusServiceUnavailable, api.TypeUnavailable)
}

// A panic ends its request alone, and what it panics with goes nowhere.
func TestPanic(t *testing.T) {
	t.Parallel()
	v := open(t, func(_ *house.Config, a *api.Config) {
		a.Bets = failing{with: func() error { panic("swordfish") }}
	})
	recorder := v.send(t, place("slip-1", single()))
	problemOf(t, recorder, http.StatusInternalServerError, api.TypeInternal)
	if log := v.log.String(); strings.Contains(recorder.Body.String()+log, "swordfish") || !strings.Contains(log, "problem_test.go") {
		t.Errorf("the client is told %s, the log %s", recorder.Body, log)
	}
}

// A log names requests, and holds nothing of their bodies.
func TestLogHoldsNoPayload(t *testing.T) {
	t.Parallel()
	v := open(t)
	requests := []request{
		place("slip-1", single("10.00", "12.34", `"type"`, `"meta":{"session":"swordfish"},"type"`)),
		place("slip-1", single("10.00", "12.35", `"type"`, `"meta":{"session":"swordfish"},"type"`)),
		place("slip-2", single("10.00", "12.3456")),
		place("slip-3", `{"swordfish`),
	}
	for i, q := range requests {
		q.header = http.Header{"X-Request-Id": {fmt.Sprintf("request-%d", i)}}
		wantHeader(t, v.send(t, q).Header(), api.RequestIDHeader, fmt.Sprintf("request-%d", i))
	}
	log := v.log.String()
	for _, payload := range []string{"swordfish", "12.34", "12.35", "players"} {
		if strings.Contains(log, payload) {
			t.Errorf("the log holds %q: %s", payload, log)
		}
	}
	for i := range requests {
		if !strings.Contains(log, fmt.Sprintf(`"request":"request-%d"`, i)) {
			t.Errorf("the log lacks request %d: %s", i, log)
		}
	}
}

func TestRequestIDThatIsNoneIsReplaced(t *testing.T) {
	t.Parallel()
	v := open(t)
	for _, id := range []string{"", "a b", strings.Repeat("a", 65), "a\nlevel=ERROR"} {
		q := request{method: "GET", path: "/markets", header: http.Header{"X-Request-Id": {id}}}
		if got := v.send(t, q).Header().Get(api.RequestIDHeader); got == "" || got == id {
			t.Errorf("id %q became %q", id, got)
		}
	}
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := api.New(api.Config{MaxBody: -1, BodyTimeout: -1, RetryAfter: -1})
	for _, field := range []string{"Tenant", "Bets", "Books", "Trading", "Authenticate", "MaxBody", "BodyTimeout", "RetryAfter"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
