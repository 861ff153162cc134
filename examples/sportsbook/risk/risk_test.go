package risk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"

	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// noon is what the service's clock says.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// start serves a risk service and returns its address.
func start(t *testing.T, judge func(*risk.Assessment) acceptance.Opinion) (url string) {
	t.Helper()
	service, err := risk.NewService(risk.ServiceConfig{
		Version: "model-7", Lifetime: time.Minute, Judge: judge, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(service)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func newClient(t *testing.T, url string) *risk.Client {
	t.Helper()
	client, err := risk.NewClient(risk.ClientConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func commandOf(id string) *acceptance.Command {
	return &acceptance.Command{
		Tenant: "acme", Wallet: "alice", ID: id, Stake: euros("10.00"),
		Legs: []acceptance.Leg{{Event: "e", Market: "m", Selection: "home"}},
		Meta: map[string]string{"session": "do-not-tell"},
	}
}

func euros(number string) (stake money.Amount) {
	if err := stake.UnmarshalJSON([]byte(`{"amount":"` + number + `","currency":"EUR"}`)); err != nil {
		panic(err)
	}
	return stake
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sumOf(t *testing.T, id string) fingerprint.Digest {
	t.Helper()
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "test", Version: 1}, id)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// call makes a request of the control endpoint and returns the report.
func call(t *testing.T, method, url, body string) (report risk.Report) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url+risk.FaultsPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s, error %v", method, body, response.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	return report
}

func TestEvidenceInEveryMode(t *testing.T) {
	t.Parallel()
	sum := sumOf(t, "bet-1")
	honest := acceptance.Evidence{
		Version: "model-7", Fingerprint: sum, IssuedAt: noon, ExpiresAt: noon.Add(time.Minute), Opinion: acceptance.RiskApprove,
	}
	spoilt := func(spoil func(*acceptance.Evidence)) acceptance.Evidence {
		evidence := honest
		spoil(&evidence)
		return evidence
	}
	foreign, err := fingerprint.Of(sum.Schema(), "another command")
	if err != nil {
		t.Fatal(err)
	}
	evidence := map[risk.Mode]acceptance.Evidence{
		risk.Honest:       honest,
		risk.Refuse:       spoilt(func(e *acceptance.Evidence) { e.Opinion = acceptance.RiskRefuse }),
		risk.Refer:        spoilt(func(e *acceptance.Evidence) { e.Opinion = acceptance.RiskRefer }),
		risk.Foreign:      spoilt(func(e *acceptance.Evidence) { e.Fingerprint = foreign }),
		risk.Inadmissible: spoilt(func(e *acceptance.Evidence) { e.Version = "untested" }),
		risk.Expired: spoilt(func(e *acceptance.Evidence) {
			e.IssuedAt, e.ExpiresAt = noon.Add(-time.Hour), noon.Add(-time.Minute)
		}),
		risk.Future: spoilt(func(e *acceptance.Evidence) {
			e.IssuedAt, e.ExpiresAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
		}),
	}
	failures := map[risk.Mode]error{
		risk.Down: risk.ErrUnavailable, risk.Overloaded: risk.ErrUnavailable, risk.Nonsense: risk.ErrMalformed,
	}
	for _, mode := range risk.Modes() {
		if mode == risk.Slow {
			continue // it has a test of its own
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			url := start(t, nil)
			call(t, "POST", url, jsonOf(t, risk.Instruction{Mode: mode, Times: 1}))
			client := newClient(t, url)
			got, err := client.Assess(t.Context(), commandOf("bet-1"), sum)
			if !errors.Is(err, failures[mode]) || (err != nil) != (failures[mode] != nil) {
				t.Fatalf("error %v, want %v", err, failures[mode])
			}
			if diff := cmp.Diff(evidence[mode], got, cmpopts.IgnoreFields(acceptance.Evidence{}, "ID")); diff != "" {
				t.Errorf("evidence (-want +got)\n%s", diff)
			}
			if (got.ID == "") != (err != nil) {
				t.Errorf("the opinion's id is %q", got.ID)
			}
			// Its only time is over.
			again, err := client.Assess(t.Context(), commandOf("bet-1"), sum)
			if diff := cmp.Diff(honest, again, cmpopts.IgnoreFields(acceptance.Evidence{}, "ID")); err != nil || diff != "" {
				t.Errorf("the next evidence, error %v (-want +got)\n%s", err, diff)
			}
			if again.ID == got.ID {
				t.Errorf("two opinions share the id %q", got.ID)
			}
			want := map[risk.Mode]int{risk.Honest: 1}
			want[mode]++
			if diff := cmp.Diff(risk.Report{Answered: want, Pending: []risk.Instruction{}}, call(t, "GET", url, "")); diff != "" {
				t.Errorf("report (-want +got)\n%s", diff)
			}
		})
	}
}

// A slow service answers when nobody listens any more, and counts it then.
func TestSlow(t *testing.T) {
	t.Parallel()
	arrived, given := make(chan struct{}), make(chan struct{})
	service, err := risk.NewService(risk.ServiceConfig{Version: "model-7"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == risk.OpinionsPath {
			r = whenWaiting(r, func() { close(arrived) })
			defer close(given)
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	call(t, "POST", server.URL, `{"mode":"slow","times":1}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err = newClient(t, server.URL).Assess(ctx, commandOf("bet-1"), sumOf(t, "bet-1"))
	if !errors.Is(err, risk.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want ErrUnavailable, and whose cancellation it was", err)
	}
	<-given
	if got := call(t, "GET", server.URL, "").Answered[risk.Slow]; got != 1 {
		t.Errorf("%d slow answers counted, want 1", got)
	}
}

// whenWaiting has then called once the service waits for the client to give up.
func whenWaiting(r *http.Request, then func()) *http.Request {
	return r.WithContext(watched{r.Context(), sync.OnceFunc(then)})
}

type watched struct {
	context.Context //nolint:containedctx // it is one
	waiting         func()
}

func (w watched) Done() <-chan struct{} {
	w.waiting()
	return w.Context.Done()
}

func TestScript(t *testing.T) {
	t.Parallel()
	url := start(t, func(a *risk.Assessment) acceptance.Opinion {
		if a.CommandID == "big" {
			return acceptance.RiskRefer
		}
		return acceptance.RiskApprove
	})
	client := newClient(t, url)
	opinion := func(id string) acceptance.Opinion {
		t.Helper()
		evidence, err := client.Assess(t.Context(), commandOf(id), sumOf(t, id))
		if err != nil {
			t.Fatal(err)
		}
		return evidence.Opinion
	}
	if got := opinion("big"); got != acceptance.RiskRefer {
		t.Errorf("the model's own opinion is %s, want refer", got)
	}
	call(t, "POST", url, `{"mode":"refuse","command_id":"b","times":2}`)
	call(t, "POST", url, `{"mode":"honest","times":1}`)
	call(t, "POST", url, `{"mode":"refer"}`)
	var got []acceptance.Opinion
	for _, id := range []string{"a", "b", "a", "b", "b", "a"} {
		got = append(got, opinion(id))
	}
	want := []acceptance.Opinion{"approve", "refuse", "refer", "refuse", "refer", "refer"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("opinions (-want +got)\n%s", diff)
	}
	report := risk.Report{
		Answered: map[risk.Mode]int{risk.Honest: 2, risk.Refuse: 2, risk.Refer: 3},
		Commands: map[string]map[risk.Mode]int{"b": {risk.Refuse: 2, risk.Refer: 1}},
		Pending:  []risk.Instruction{{Mode: risk.Refer}},
	}
	if diff := cmp.Diff(report, call(t, "GET", url, "")); diff != "" {
		t.Errorf("report (-want +got)\n%s", diff)
	}
	report.Pending = []risk.Instruction{}
	if diff := cmp.Diff(report, call(t, "DELETE", url, "")); diff != "" {
		t.Errorf("report after the script was cleared (-want +got)\n%s", diff)
	}
	if got := opinion("a"); got != acceptance.RiskApprove {
		t.Errorf("opinion %s after the script was cleared, want approve", got)
	}
}

// What a client sent to look after a player is no business of the service.
func TestAssessmentHoldsNoMeta(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = body.ReadFrom(r.Body) }))
	t.Cleanup(server.Close)
	_, _ = newClient(t, server.URL).Assess(t.Context(), commandOf("bet-1"), sumOf(t, "bet-1"))
	if text := body.String(); strings.Contains(text, "do-not-tell") || !strings.Contains(text, `"command_id":"bet-1"`) {
		t.Errorf("the assessment is %s", text)
	}
}

func TestServiceRefuses(t *testing.T) {
	t.Parallel()
	url := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", risk.OpinionsPath, "", http.StatusMethodNotAllowed},
		{"POST", "/elsewhere", "", http.StatusNotFound},
		{"POST", risk.OpinionsPath, "", http.StatusBadRequest},
		{"POST", risk.OpinionsPath, `{"unknown":1}`, http.StatusBadRequest},
		{"POST", risk.OpinionsPath, `{}`, http.StatusUnprocessableEntity},
		{"POST", risk.OpinionsPath, strings.Repeat(" ", 64<<10+1), http.StatusRequestEntityTooLarge},
		{"POST", risk.FaultsPath, `{"mode":"sunny"}`, http.StatusUnprocessableEntity},
		{"POST", risk.FaultsPath, `{"mode":"down","times":-1}`, http.StatusUnprocessableEntity},
		{"POST", risk.FaultsPath, `{"mode":"down","Times":1}`, http.StatusBadRequest},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s %s %.40s: %d, want %d", c.method, c.path, c.body, response.StatusCode, c.status)
		}
	}
	if report := call(t, "GET", url, ""); len(report.Pending)+len(report.Answered) != 0 {
		t.Errorf("refused requests left %+v", report)
	}
}

// Whatever answers in the service's place, nothing passes for an opinion that
// is none.
func TestClientTakesNothingForAnOpinion(t *testing.T) {
	t.Parallel()
	opinion := `{"id":"o","version":"v","fingerprint":"` + sumOf(t, "bet-1").String() +
		`","issued_at":"2026-06-01T12:00:00Z","expires_at":"2026-06-01T12:01:00Z","opinion":"approve"}`
	without := func(member string) string { return strings.Replace(opinion, member, "", 1) }
	for name, c := range map[string]struct {
		status    int
		mediaType string
		body      string
		want      error
	}{
		"an opinion":            {200, "application/json; charset=utf-8", opinion, nil},
		"no body":               {200, "application/json", "", risk.ErrMalformed},
		"another type":          {200, "text/plain", opinion, risk.ErrMalformed},
		"no type":               {200, "", opinion, risk.ErrMalformed},
		"an unknown member":     {200, "application/json", strings.Replace(opinion, "{", `{"more":1,`, 1), risk.ErrMalformed},
		"a member twice":        {200, "application/json", strings.Replace(opinion, "{", `{"id":"p",`, 1), risk.ErrMalformed},
		"a member in capitals":  {200, "application/json", strings.Replace(opinion, `"id"`, `"ID"`, 1), risk.ErrMalformed},
		"two opinions":          {200, "application/json", opinion + opinion, risk.ErrMalformed},
		"no id":                 {200, "application/json", without(`"id":"o",`), risk.ErrMalformed},
		"a long id":             {200, "application/json", strings.Replace(opinion, `"o"`, `"`+strings.Repeat("o", 129)+`"`, 1), risk.ErrMalformed},
		"a long version":        {200, "application/json", strings.Replace(opinion, `"v"`, `"`+strings.Repeat("v", 129)+`"`, 1), risk.ErrMalformed},
		"no version":            {200, "application/json", without(`"version":"v",`), risk.ErrMalformed},
		"no time of issue":      {200, "application/json", without(`"issued_at":"2026-06-01T12:00:00Z",`), risk.ErrMalformed},
		"no expiry":             {200, "application/json", without(`"expires_at":"2026-06-01T12:01:00Z",`), risk.ErrMalformed},
		"no fingerprint":        {200, "application/json", without(`"fingerprint":"` + sumOf(t, "bet-1").String() + `",`), risk.ErrMalformed},
		"no opinion in it":      {200, "application/json", without(`,"opinion":"approve"`), risk.ErrMalformed},
		"an unheard-of opinion": {200, "application/json", strings.Replace(opinion, "approve", "perhaps", 1), risk.ErrMalformed},
		"a book":                {200, "application/json", opinion + strings.Repeat(" ", 64<<10), risk.ErrMalformed},
		"another success":       {202, "application/json", opinion, risk.ErrMalformed},
		"a redirect":            {302, "application/json", opinion, risk.ErrMalformed},
		"a refusal":             {403, "application/json", opinion, risk.ErrRefused},
		"a timeout":             {408, "application/json", opinion, risk.ErrUnavailable},
		"a limit":               {429, "application/json", opinion, risk.ErrUnavailable},
		"a failure":             {502, "application/json", opinion, risk.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.mediaType}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(server.Close)
			evidence, err := newClient(t, server.URL).Assess(t.Context(), commandOf("bet-1"), sumOf(t, "bet-1"))
			if !errors.Is(err, c.want) || (err != nil) != (c.want != nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if (evidence == acceptance.Evidence{}) != (err != nil) {
				t.Errorf("evidence %+v beside error %v", evidence, err)
			}
		})
	}
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := risk.NewService(risk.ServiceConfig{Lifetime: -1})
	for _, field := range []string{"Version", "Lifetime"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
	for _, url := range []string{"", "risk:8080", "ftp://risk", "http://", "http://:8080", ":"} {
		if _, err := risk.NewClient(risk.ClientConfig{URL: url}); err == nil {
			t.Errorf("URL %q was taken", url)
		}
	}
}
