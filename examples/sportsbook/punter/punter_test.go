package punter_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/jsonlines"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

const accepted = `{"verdict":"accepted","decision":{"verdict":"accepted"}}`

// script is an API that answers as it is told, one answer a request. The last
// one is given again.
type script struct {
	mu      sync.Mutex
	answers []answer
	got     []*http.Request
	bodies  []string
}

type answer struct {
	status int // 0: the connection is cut
	body   string
}

func problem(problemType string, status int) answer {
	text, _ := json.Marshal(api.Problem{Type: problemType, Status: status})
	return answer{status, string(text)}
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got, s.bodies = append(s.got, r), append(s.bodies, string(body))
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.mu.Unlock()
	if next.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(api.ReplayedHeader, "true")
	w.WriteHeader(next.status)
	_, _ = io.WriteString(w, next.body)
}

// requests returns what has come, and the bodies.
func (s *script) requests() (got []*http.Request, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got), slices.Clone(s.bodies)
}

// clientsOf returns clients of a script, and the path of their journal.
func clientsOf(t *testing.T, answers ...answer) (clients *punter.Clients, s *script, journal string) {
	t.Helper()
	s = &script{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	journal = filepath.Join(t.TempDir(), "journal")
	file, err := jsonlines.Create(journal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return punter.New(punter.Config{
		URL: server.URL, Client: server.Client(), Tenant: "house", Password: "secret", Journal: file,
	}), s, journal
}

func command(t *testing.T) acceptance.Command {
	t.Helper()
	var registry *money.Registry
	stake, err := registry.Parse("5.00", "EUR")
	if err != nil {
		t.Fatal(err)
	}
	evens, err := money.ParseOdds("2")
	if err != nil {
		t.Fatal(err)
	}
	return acceptance.Command{
		Tenant: "house", Wallet: "ann", ID: "bet", Stake: stake, Type: acceptance.BetType{Kind: acceptance.Single},
		Legs: []acceptance.Leg{{Event: "cup", Market: "final", Selection: "home", QuoteVersion: "1", Odds: evens}},
	}
}

func TestClientAsksUntilItIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []answer
		tries   int
		last    int
	}{
		"at once":           {[]answer{{http.StatusCreated, accepted}}, 1, http.StatusCreated},
		"pending":           {[]answer{{http.StatusAccepted, `{"verdict":"pending","decision":{}}`}}, 1, http.StatusAccepted},
		"rejected":          {[]answer{{http.StatusOK, `{"verdict":"rejected","decision":{}}`}}, 1, http.StatusOK},
		"no answer":         {[]answer{{}, {}, {http.StatusCreated, accepted}}, 3, http.StatusCreated},
		"bare 200":          {[]answer{{http.StatusOK, "OK"}, {http.StatusCreated, accepted}}, 2, http.StatusCreated},
		"bare 404":          {[]answer{{http.StatusNotFound, "no such page"}, {http.StatusCreated, accepted}}, 2, http.StatusCreated},
		"outcome unknown":   {[]answer{problem(api.TypeOutcomeUnknown, 503), {http.StatusCreated, accepted}}, 2, http.StatusCreated},
		"in flight":         {[]answer{problem(api.TypeInFlight, 409), {http.StatusCreated, accepted}}, 2, http.StatusCreated},
		"key reused":        {[]answer{problem(api.TypeKeyReused, 422)}, 1, 422},
		"consent used":      {[]answer{problem(api.TypeConsentUsed, 409)}, 1, 409},
		"refused":           {[]answer{problem(api.TypeInvalid, 422)}, 1, 422},
		"decided without":   {[]answer{{http.StatusCreated, "{}"}, {http.StatusCreated, accepted}}, 2, http.StatusCreated},
		"verdict in a fail": {[]answer{{http.StatusInternalServerError, accepted}, {http.StatusCreated, accepted}}, 2, http.StatusCreated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients, s, _ := clientsOf(t, test.answers...)
			told, err := clients.Ask(t.Context(), punter.Delivery{Command: command(t), API: punter.AnyAPI})
			got, _ := s.requests()
			if err != nil || told.Status != test.last || len(got) != test.tries {
				t.Errorf("status %d after %d tries, error %v; want %d after %d", told.Status, len(got), err, test.last, test.tries)
			}
		})
	}
}

func TestConflictsAreToldFromOtherRefusals(t *testing.T) {
	t.Parallel()
	for problemType, want := range map[string]bool{
		api.TypeKeyReused: true, api.TypeConsentUsed: true, api.TypeInvalid: false, api.TypeInFlight: false, api.TypeNotFound: false,
	} {
		told := punter.Told{Status: 409, Body: []byte(problem(problemType, 409).body)}
		if got := told.Conflict(); got != want {
			t.Errorf("%s: conflict %v", problemType, got)
		}
	}
}

func TestClientGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	clients, _, _ := clientsOf(t, problem(api.TypeUnavailable, 503))
	done := make(chan error)
	go func() {
		_, err := clients.Ask(ctx, punter.Delivery{Command: command(t), API: punter.AnyAPI})
		done <- err
	}()
	cancel(enough)
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
}

// What is in the journal is what went over the wire, in its order.
func TestJournalHasEveryExchange(t *testing.T) {
	t.Parallel()
	clients, s, journal := clientsOf(t, answer{}, answer{http.StatusCreated, accepted})
	if _, err := clients.Ask(t.Context(), punter.Delivery{Command: command(t), API: punter.AnyAPI}); err != nil {
		t.Fatal(err)
	}
	notes, err := punter.ReadNotes(journal)
	if err != nil || len(notes) != 4 {
		t.Fatalf("%d notes, error %v; want two requests with two answers", len(notes), err)
	}
	for i, note := range notes {
		if note.Reference != (bet.Reference{Wallet: "ann", ID: "bet"}) || (note.Told == nil) != (i%2 == 0) {
			t.Errorf("note %d is %+v", i, note)
		}
		sent, err := note.Command("house")
		if diff := cmp.Diff(command(t), sent, cmp.Comparer(money.Amount.Equal)); err != nil || diff != "" {
			t.Errorf("note %d is of another command, error %v (-sent +noted):\n%s", i, err, diff)
		}
	}
	_, bodies := s.requests()
	if diff := cmp.Diff([]string{string(notes[0].Sent), string(notes[2].Sent)}, bodies); diff != "" {
		t.Errorf("bodies (-journal +wire):\n%s", diff)
	}
	if notes[1].Told.Status != 0 || notes[1].Told.Failure == "" {
		t.Errorf("no answer is noted as %+v", notes[1].Told)
	}
	if got := notes[3].Told; string(got.Body) != accepted || !got.Replayed || got.Status != http.StatusCreated {
		t.Errorf("the answer is noted as %+v", got)
	}
}

func TestNoteOfNoCommand(t *testing.T) {
	t.Parallel()
	note := punter.Note{Reference: bet.Reference{Wallet: "ann", ID: "bet"}, Sent: json.RawMessage(`{"legs":1}`)}
	if got, err := note.Command("house"); err == nil || !strings.Contains(err.Error(), "note of {ann bet}") {
		t.Errorf("command %+v, error %v; want one that names the note", got, err)
	}
}

// net/http sends what it takes to be idempotent again by itself, if a connection
// that was used before is cut. Nobody would take note of that.
func TestNothingIsSentThatIsNotNoted(t *testing.T) {
	t.Parallel()
	clients, s, _ := clientsOf(t, answer{http.StatusCreated, accepted}, answer{}, answer{http.StatusCreated, accepted})
	delivery := punter.Delivery{Command: command(t), API: punter.AnyAPI}
	for range 2 { // the second uses the connection of the first
		if _, err := clients.Deliver(t.Context(), delivery); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := s.requests(); len(got) != 2 {
		t.Errorf("%d requests went out, 2 were noted", len(got))
	}
}

func TestRequestSaysWhoAndWhat(t *testing.T) {
	t.Parallel()
	clients, s, _ := clientsOf(t, answer{}, answer{http.StatusCreated, accepted})
	if _, err := clients.Ask(t.Context(), punter.Delivery{Command: command(t), API: 1}, faults.LostAnswer); err != nil {
		t.Fatal(err)
	}
	got, bodies := s.requests()
	for i, request := range got {
		user, password, _ := request.BasicAuth()
		if user != "house/ann" || password != "secret" || request.Header.Get(api.KeyHeader) != "bet" || request.Header.Get(faults.APIHeader) != "1" {
			t.Errorf("request %d has the header %v", i, request.Header)
		}
		want := map[int]fault.Name{0: faults.LostAnswer}[i]
		if asked := request.Header.Get(faults.FaultHeader); asked != string(want) {
			t.Errorf("request %d asks for fault %q, want %q", i, asked, want)
		}
		for _, name := range []string{`"tenant"`, `"wallet"`, `"id"`} {
			if strings.Contains(bodies[i], name) {
				t.Errorf("body %s has %s", bodies[i], name)
			}
		}
	}
}
