package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/settleonce/settleonce/pgstore/pgfault"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// While the database is away, clients are told to come again, whatever they ask
// for.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	opened, err := openDatabase(t.Context(), testProgram.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close(t.Context())
	way, err := pgfault.Listen(pgfault.Config{Target: opened.DSN})
	if err != nil {
		t.Fatal(err)
	}
	flags := apiFlags{
		dsn: way.DSN(), decisionsDSN: way.DSN(), schema: opened.Schema, receipts: opened.ReceiptSchema,
		playersPassword: "demo", risk: riskForTest(t),
	}
	backing, err := openBacking(t.Context(), flags)
	if err != nil {
		t.Fatal(err)
	}
	defer backing.close()
	tables, err := postgres.New(postgres.Config{Pool: opened.Pool, Schema: opened.Schema, Tenant: tenant})
	if err != nil {
		t.Fatal(err)
	}
	world := demoWorld()
	if err := world.open(t.Context(), tables, tables); err != nil {
		t.Fatal(err)
	}
	handler, err := newAPI(flags, backing, servedPace(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.SetBasicAuth(tenant+"/alice", "demo")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(api.KeyHeader, "slip-1")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		return recorder
	}
	bet := `{"legs":[{"event":"event-derby","market":"derby","selection":"home","quote_version":"1","odds":"2.10"}],` +
		`"type":{"kind":"single"},"stake":{"amount":"10.00","currency":"EUR"}}`
	if here := send("POST", "/bets", bet); here.Code != http.StatusCreated {
		t.Fatalf("with the database: %d %s", here.Code, here.Body)
	}
	if err := way.Close(); err != nil {
		t.Fatal(err)
	}
	for method, path := range map[string]string{"POST": "/bets", "GET": "/wallets/alice"} {
		// The connections that were open fail in another way than new ones.
		for range 3 {
			away := send(method, path, bet)
			var problem api.Problem
			if err := json.Unmarshal(away.Body.Bytes(), &problem); err != nil || problem.Type != api.TypeUnavailable {
				t.Errorf("%s %s: %d %s, want %s", method, path, away.Code, away.Body, api.TypeUnavailable)
			}
			if away.Header().Get("Retry-After") == "" {
				t.Errorf("%s %s does not say when to come again", method, path)
			}
		}
	}
}

func riskForTest(t *testing.T) (url string) {
	t.Helper()
	service, err := risk.NewService(risk.ServiceConfig{Version: riskVersion})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return server.URL
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"57P01": true, "57P02": true, "57P03": true, "08006": true, // shut down, crashed, starting, cut
		"23505": false, "42P01": false, "22003": false, "57014": false, // duplicate, no table, out of range, cancelled
	} {
		if got := unavailable(errors.Join(errors.New("house"), &pgconn.PgError{Code: code})); got != want {
			t.Errorf("code %s: unavailable %v, want %v", code, got, want)
		}
	}
	if unavailable(errors.New("a mistake")) {
		t.Error("any error passes for a database that is away")
	}
}
