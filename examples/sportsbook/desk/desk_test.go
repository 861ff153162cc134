package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/desk"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// wire is an API and a risk service that answer with what they are told, one
// answer a request, the last one again, and remember what they were asked.
type wire struct {
	mu       sync.Mutex
	statuses []int
	body     string
	asked    []string
	user     string
	process  string
}

func (s *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	s.user, _, _ = r.BasicAuth()
	s.process = r.Header.Get(faults.APIHeader)
	status := s.statuses[0]
	if len(s.statuses) > 1 {
		s.statuses = s.statuses[1:]
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s.body)
}

func deskOf(t *testing.T, body string, statuses ...int) (*desk.Desk, *wire) {
	t.Helper()
	s := &wire{statuses: statuses, body: body}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return desk.New(desk.Config{
		URL: server.URL, RiskURL: server.URL + "/risk", Client: server.Client(), Tenant: "house", Name: "tom", Password: "secret",
	}), s
}

func TestDeskAsksTheAPI(t *testing.T) {
	t.Parallel()
	reference := bet.Reference{Wallet: "ann", ID: "bet 1"}
	for want, call := range map[string]func(context.Context, *desk.Desk) error{
		"GET /markets/final": func(ctx context.Context, d *desk.Desk) error { _, err := d.Market(ctx, "final"); return err },
		"GET /markets":       func(ctx context.Context, d *desk.Desk) error { _, err := d.Markets(ctx); return err },
		`POST /markets/final/prices {"prices":null}`: func(ctx context.Context, d *desk.Desk) error {
			return d.Move(ctx, "final")
		},
		"POST /markets/final/suspension {}": func(ctx context.Context, d *desk.Desk) error { return d.Suspend(ctx, "final") },
		"POST /markets/final/resumption {}": func(ctx context.Context, d *desk.Desk) error { return d.Resume(ctx, "final") },
		`POST /bets/bet%201/resolution?wallet=ann {"ruling":"approve"}`: func(ctx context.Context, d *desk.Desk) error {
			_, err := d.Resolve(ctx, reference, acceptance.Approve)
			return err
		},
		`POST /bets/bet%201/void?wallet=ann {"version":"case"}`: func(ctx context.Context, d *desk.Desk) error {
			_, err := d.Void(ctx, reference, "case")
			return err
		},
		`POST /results {"market":"final","version":"1","winner":"home"}`: func(ctx context.Context, d *desk.Desk) error {
			_, err := d.Result(ctx, api.ResultRequest{Market: "final", Version: "1", Winner: "home"})
			return err
		},
		`POST /risk/faults {"mode":"slow","command_id":"bet","times":1}`: func(ctx context.Context, d *desk.Desk) error {
			return d.Instruct(ctx, risk.Instruction{Mode: risk.Slow, CommandID: "bet", Times: 1})
		},
		"GET /risk/faults": func(ctx context.Context, d *desk.Desk) error { _, err := d.RiskReport(ctx); return err },
	} {
		d, s := deskOf(t, "{}", http.StatusOK)
		if err := call(t.Context(), d); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if diff := cmp.Diff([]string{want}, s.asked); diff != "" || s.user != "house/tom" {
			t.Errorf("user %q, asked (-want +got):\n%s", s.user, diff)
		}
	}
}

func TestDeskTriesAgainWhatMaySucceedLater(t *testing.T) {
	t.Parallel()
	inFlight, err := json.Marshal(api.Problem{Type: api.TypeInFlight})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		body    string
		status  int
		refused bool
	}{
		{"", http.StatusServiceUnavailable, false},
		{"", http.StatusBadGateway, false},
		{string(inFlight), http.StatusConflict, false},
		{"", http.StatusConflict, true},
		{"", http.StatusNotFound, true},
	} {
		d, s := deskOf(t, test.body, test.status, http.StatusOK)
		err := d.Suspend(t.Context(), "final")
		if errors.Is(err, desk.ErrRefused) != test.refused || (err != nil) != test.refused {
			t.Errorf("status %d: error %v, want refused %v", test.status, err, test.refused)
		}
		if want := map[bool]int{true: 1, false: 2}[test.refused]; len(s.asked) != want {
			t.Errorf("status %d: asked %d times, want %d", test.status, len(s.asked), want)
		}
	}
}

func TestDeskNamesTheProcessThatItMeans(t *testing.T) {
	t.Parallel()
	d, s := deskOf(t, "{}", http.StatusOK)
	if err := d.At(1).Suspend(t.Context(), "final"); err != nil || s.process != "1" {
		t.Errorf("process %q, error %v", s.process, err)
	}
	if err := d.Suspend(t.Context(), "final"); err != nil || s.process != "" {
		t.Errorf("process %q, error %v; want none named", s.process, err)
	}
}

func TestDeskGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	d, _ := deskOf(t, "", http.StatusServiceUnavailable)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := d.Suspend(ctx, "final"); !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
}
