package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settleonce/settleonce/examples/drill/program"
	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/sportsbook/risk"
)

// exchange is a command of README's session and the answer that it shows.
type exchange struct{ command, answer string }

// readSession returns what stands in README's blocks of "console".
func readSession(t *testing.T) (session []exchange) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case line == "```console\n":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && isCommand:
			session = append(session, exchange{command: strings.TrimSpace(command)})
		case inside:
			session[len(session)-1].answer += line
		}
	}
	return session
}

// README's session is run as it stands, against the served program.
func TestSessionOfREADME(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"in PostgreSQL": {"-dsn", testProgram.DSN}, withoutDatabase: {"-memory"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _, end := serveForTest(t, args...)
			session := readSession(t)
			if len(session) < 17 {
				t.Fatalf("README's session has %d commands", len(session))
			}
			bodies := make(map[string]string) // by command, of those with a key
			letter := ""                      // the ID of the last dead letter that was shown
			for _, step := range session {
				step.command = strings.ReplaceAll(step.command, "/ID/", "/"+letter+"/")
				got := step.run(t, name, address)
				if shown := regexp.MustCompile(`"id":"(\d+)"`).FindStringSubmatch(got); shown != nil {
					letter = shown[1]
				}
				if !matches(step.answer, got) {
					t.Fatalf("$ %s\ngot\n%s\nREADME has\n%s", step.command, got, step.answer)
				}
				_, body, _ := strings.Cut(got, "\n\n")
				if first, again := bodies[step.command]; again && body != first {
					t.Errorf("$ %s\ngot first\n%s\nand then\n%s", step.command, first, body)
				}
				if strings.Contains(step.command, "Idempotency-Key") {
					bodies[step.command] = body
				}
			}
			end()
		})
	}
}

// run runs the command and returns its answer. What relay and projection say may
// come a moment later, so they are asked until they say what README has; in memory
// there are none.
func (e *exchange) run(t *testing.T, name, address string) (got string) {
	t.Helper()
	ask := func() string { return curl(t, strings.ReplaceAll(e.command, "localhost:8080", address)) }
	ofDelivery := strings.Contains(e.command, projectionFront) || strings.Contains(e.command, relayFront)
	if ofDelivery && name == withoutDatabase {
		if said := ask(); !strings.Contains(said, "neither relay nor projection") {
			t.Errorf("$ %s\ngot\n%s", e.command, said)
		}
		return e.answer
	}
	if !ofDelivery || strings.Contains(e.command, " -X ") {
		return ask()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_ = wait.Until(ctx, func() (bool, error) { // whoever called compares
		got = ask()
		return matches(e.answer, got), nil
	})
	return got
}

// withoutDatabase is what the session in memory is called.
const withoutDatabase = "in memory"

// What a person discards is gone from the dead letters, and what waited for it
// goes on.
func TestOperatorDiscardsADeadLetter(t *testing.T) {
	t.Parallel()
	address, _, end := serveForTest(t, "-dsn", testProgram.DSN)
	const trader = "curl -s -u corner-book/trudy:desk "
	letters, wallet := address+relayFront+"dead-letters", trader+address+projectionFront+"wallets/alice"
	bet := func(id string) {
		curl(t, "curl -s -u corner-book/alice:demo -H 'Idempotency-Key: "+id+"' "+address+"/bets --json "+
			`'{"legs":[{"event":"event-derby","market":"derby","selection":"home","quote_version":"1","odds":"9.90"}],`+
			`"type":{"kind":"single"},"stake":{"amount":"10.00","currency":"EUR"}}'`)
	}
	until := func(line string, want *regexp.Regexp) (found []string) {
		err := wait.Until(t.Context(), func() (bool, error) {
			found = want.FindStringSubmatch(curl(t, line))
			return found != nil, nil
		})
		if err != nil {
			t.Fatalf("$ %s: nothing like %s: %v", line, want, err)
		}
		return found
	}
	curl(t, trader+"-X PUT "+address+projectionFront+"refused/alice")
	bet("one")
	id := until(trader+letters, regexp.MustCompile(`"id":"(\d+)","wallet":"alice","bet":"one"`))[1]
	bet("two")
	curl(t, trader+"-X DELETE "+address+projectionFront+"refused/alice")
	for _, step := range []struct{ to, body, status string }{
		{id, `{"reason":""}`, "400"}, {"99999", `{"reason":"a test"}`, "404"}, {id, `{"reason":"a test"}`, "204"}, {id, `{"reason":"a test"}`, "404"},
	} {
		got := curl(t, "curl -si -u corner-book/trudy:desk "+letters+"/"+step.to+"/discard --json '"+step.body+"'")
		if status := strings.Fields(got)[1]; status != step.status {
			t.Errorf("discard %s with %s: %s, want %s", step.to, step.body, got, step.status)
		}
	}
	until(trader+letters, regexp.MustCompile(`^\[\]`))
	if got := until(wallet, regexp.MustCompile(`"counts":{(.*?)}.*"bet":"two"`))[1]; got != `"requoted":1` {
		t.Errorf("counts %s, want that of the second bet alone", got)
	}
	for _, user := range []string{"corner-book/alice:demo", "other-book/trudy:desk"} {
		got := curl(t, "curl -si -u "+user+" "+letters)
		if status := strings.Fields(got)[1]; status != "403" {
			t.Errorf("%s sees dead letters: %s", user, got)
		}
	}
	end()
}

// A player sees nothing of another's, and nobody of another house sees anything.
func TestProjectionIsShownToWhomItIsAbout(t *testing.T) {
	t.Parallel()
	address, _, end := serveForTest(t, "-dsn", testProgram.DSN)
	for user, want := range map[string]string{
		"corner-book/alice:demo": "404", "corner-book/trudy:desk": "404", // nothing has become of a bet of hers
		"corner-book/bob:demo": "403", "other-book/alice:demo": "403", "other-book/trudy:desk": "403",
		"corner-book/alice:guess": "401",
	} {
		got := curl(t, "curl -si -u "+user+" "+address+projectionFront+"wallets/alice")
		if status := strings.Fields(got)[1]; status != want {
			t.Errorf("%s: status %s, want %s", user, status, want)
		}
	}
	end()
}

// Whoever asks for faults and is served would wait for them in vain.
func TestServingTakesNoOptionsOfADrill(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-bets=5", "-faults=all", "-seed=2", "-json"} {
		ran := testProgram.Run(t, "-serve", "127.0.0.1:0", option)
		name, _, _ := strings.Cut(option, "=")
		if ran.Code != program.ExitUsage || !strings.Contains(ran.Stderr, name+" is for a drill") {
			t.Errorf("%s: exit code %d, %s", option, ran.Code, ran.Stderr)
		}
	}
}

// matches reports whether a text is as README shows it, where "…" stands for
// anything, and on a line of its own for any number of lines.
func matches(shown, text string) bool {
	pattern := regexp.QuoteMeta(strings.TrimSpace(shown))
	pattern = strings.ReplaceAll(pattern, "\n…\n", "\n(?s:.*\n)?")
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimSpace(text))
}

// serveForTest runs the program with -serve, and returns where it and its risk
// service listen. Its end must leave nothing to complain of.
func serveForTest(t *testing.T, args ...string) (address, riskURL string, end func()) {
	t.Helper()
	command := testProgram.Command(t, append([]string{"-serve", "127.0.0.1:0"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for address == "" && lines.Scan() {
		if after, found := strings.CutPrefix(lines.Text(), "risk: "); found {
			riskURL, _, _ = strings.Cut(after, ",")
		}
		if after, found := strings.CutPrefix(lines.Text(), "serving: http://"); found {
			address, _, _ = strings.Cut(after, " ")
		}
	}
	if address == "" {
		t.Fatalf("the program did not say where it serves; %v\n%s", command.Wait(), stderr.String())
	}
	return address, riskURL, func() {
		t.Helper()
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, output)
		if err := command.Wait(); err != nil {
			t.Errorf("the program ended with %v\n%s", err, stderr.String())
		}
	}
}

// A bet that is under way when the program is asked to end is answered before
// it does.
func TestEndAnswersWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	address, riskURL, end := serveForTest(t, "-memory")
	faults := strings.TrimPrefix(riskURL, "http://") + risk.FaultsPath
	curl(t, "curl -s "+faults+` --json '{"mode":"slow","times":1}'`)
	answered := make(chan string, 1)
	go func() {
		defer close(answered) // also where curl fails the test
		answered <- curl(t, "curl -s -u corner-book/alice:demo -H 'Idempotency-Key: slip-1' "+address+"/bets --json "+
			`'{"legs":[{"event":"event-derby","market":"derby","selection":"home","quote_version":"1","odds":"2.10"}],`+
			`"type":{"kind":"single"},"stake":{"amount":"10.00","currency":"EUR"}}'`)
	}()
	err := wait.Until(t.Context(), func() (bool, error) {
		return strings.Contains(curl(t, "curl -s "+faults), `"pending":[]`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	end()
	if answer := <-answered; !strings.Contains(answer, `"verdict":"accepted"`) {
		t.Errorf("the bet was answered with %s", answer)
	}
}

// curl does what a command line of curl asks for, as far as README uses it, and
// returns what curl would print. So the test needs no curl.
func curl(t *testing.T, line string) string {
	t.Helper()
	words, err := shellWords(line)
	if err != nil || words[0] != "curl" {
		t.Fatalf("%s: no command of curl, error %v", line, err)
	}
	var url, user, method, body string
	header, include := http.Header{}, false
	for i := 1; i < len(words); i++ {
		argument := func() string {
			i++
			return words[i]
		}
		switch words[i] {
		case "-s":
		case "-si":
			include = true
		case "-u":
			user = argument()
		case "-X":
			method = argument()
		case "-H":
			name, value, _ := strings.Cut(argument(), ": ")
			header.Set(name, value)
		case "--json":
			method, body = http.MethodPost, argument()
			header.Set("Content-Type", "application/json")
		default:
			url = words[i]
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	name, password, _ := strings.Cut(user, ":")
	request.SetBasicAuth(name, password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var printed bytes.Buffer
	if include {
		fmt.Fprintf(&printed, "%s %s\n", response.Proto, response.Status)
		if err := response.Header.Write(&printed); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&printed)
	}
	if _, err := printed.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(printed.String(), "\r", "")
}

// shellWords splits a command line into words, of which single quotes hold
// parts together.
func shellWords(line string) (words []string, err error) {
	for part := range strings.FieldsSeq(strings.ReplaceAll(quoteSpaces(line), "'", "")) {
		words = append(words, strings.ReplaceAll(part, "\x00", " "))
	}
	if strings.Count(line, "'")%2 != 0 {
		return nil, errors.New("a quote is not closed")
	}
	return words, nil
}

// quoteSpaces puts NUL in place of the spaces inside of single quotes.
func quoteSpaces(line string) string {
	parts := strings.Split(line, "'")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", "\x00")
	}
	return strings.Join(parts, "'")
}
