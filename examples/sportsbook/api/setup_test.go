package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

const tenant = "acme"

// venue is an interface with its house, in memory.
type venue struct {
	handler http.Handler
	fake    *receipttest.Fake[house.Unit]
	tables  *memory.Database
	log     *logBuffer
	// opinion is what the risk service thinks of the next commands.
	opinion acceptance.Opinion
}

// logBuffer holds what was logged. Safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// change changes what a venue is made of.
type change func(*house.Config, *api.Config)

// open opens the wallets of alice and bob with 100.00 euros each, and the
// markets m1 and m2, on which home is at 2.00 and away at 3.00.
func open(t *testing.T, changes ...change) *venue {
	t.Helper()
	v := &venue{tables: memory.New(memory.Config{}), log: &logBuffer{}, opinion: acceptance.RiskApprove}
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: v.tables})
	if err != nil {
		t.Fatal(err)
	}
	v.fake = fake
	if err := v.tables.OpenWallets(t.Context(), []money.Amount{euros(t, "100.00")}, "alice", "bob"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"m1", "m2"} {
		err := v.tables.OpenMarket(t.Context(), market.Opening{
			ID: id, Event: "e1", Limits: []money.Amount{euros(t, "1000.00")},
			Prices: []market.Price{{Selection: "home", Odds: odds(t, "2.00")}, {Selection: "away", Odds: odds(t, "3.00")}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	houseConfig := house.Config{
		Tenant: tenant, Store: fake, Books: v.tables, ReferralLifetime: time.Hour,
		Risk: acceptance.Risk{Assess: v.assess},
		// What the fake leaves in doubt is still so after the first look.
		ResolveTimeout: time.Millisecond, LockTimeout: time.Millisecond,
	}
	apiConfig := api.Config{
		Tenant: tenant, Books: v.tables, Trading: v.tables,
		Authenticate: api.DemoAuthenticator("players", "traders"), RetryAfter: 1500 * time.Millisecond,
		Logger: slog.New(slog.NewJSONHandler(v.log, nil)),
	}
	for _, change := range changes {
		change(&houseConfig, &apiConfig)
	}
	bookmaker, err := house.New(houseConfig)
	if err != nil {
		t.Fatal(err)
	}
	if apiConfig.Bets == nil {
		apiConfig.Bets = bookmaker
	}
	if v.handler, err = api.New(apiConfig); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *venue) assess(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
	now := time.Now()
	return acceptance.Evidence{
		ID: "opinion-1", Version: "model-1", Fingerprint: sum, Opinion: v.opinion,
		IssuedAt: now.Add(-time.Second), ExpiresAt: now.Add(time.Hour),
	}, nil
}

func euros(t *testing.T, text string) money.Amount {
	t.Helper()
	var registry *money.Registry
	amount, err := registry.Parse(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

func odds(t *testing.T, text string) money.Odds {
	t.Helper()
	parsed, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Who sends a request. The password goes with the name.
const (
	alice  = "acme/alice:players"
	bob    = "acme/bob:players"
	trader = "acme/trudy:traders"
)

// request is one request. Its zero values are what most requests have.
type request struct {
	method, path string
	as           string // empty: alice
	key          string // as it stands in the header; empty: no header
	body         string
	header       http.Header // added to the others
}

func (v *venue) send(t *testing.T, q request) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), q.method, q.path, strings.NewReader(q.body))
	if q.as == "" {
		q.as = alice
	}
	if name, password, authenticated := strings.Cut(q.as, ":"); authenticated {
		r.SetBasicAuth(name, password)
	}
	if q.key != "" {
		r.Header.Set(api.KeyHeader, q.key)
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	v.handler.ServeHTTP(recorder, r)
	return recorder
}

// single is the body of a bet on home at 2.00, of which a few members may be
// replaced: pairs of old and new.
func single(replaced ...string) string {
	return strings.NewReplacer(replaced...).Replace(`{"legs":[{"event":"e1","market":"m1","selection":"home","quote_version":"1","odds":"2.00"}],` +
		`"type":{"kind":"single"},"stake":{"amount":"10.00","currency":"EUR"}}`)
}

func place(key, body string) request {
	return request{method: "POST", path: "/bets", key: key, body: body}
}

// mustPlace places a bet whose verdict must be the wanted one.
func (v *venue) mustPlace(t *testing.T, q request, want acceptance.Verdict) (api.Decision, *httptest.ResponseRecorder) {
	t.Helper()
	recorder := v.send(t, q)
	decision := decoded[api.Decision](t, recorder)
	if decision.Verdict != want {
		t.Fatalf("%s: %d %s; want %s", q.key, recorder.Code, recorder.Body, want)
	}
	return decision, recorder
}

// decoded reads an answer, which must hold nothing that V does not.
func decoded[V any](t *testing.T, recorder *httptest.ResponseRecorder) (value V) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(recorder.Body.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	return value
}
