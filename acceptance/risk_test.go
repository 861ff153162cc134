package acceptance_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
)

var errRiskDown = errors.New("risk service is down")

// assessor plays a risk service that gives its answers in order.
type assessor struct {
	h       *house
	answers []func(*acceptance.Evidence) error
	asked   int
}

func (a *assessor) assess(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
	evidence := a.h.evidence(sum, acceptance.RiskApprove)
	if a.asked >= len(a.answers) {
		a.h.t.Error("the risk service was asked too often")
		return evidence, nil
	}
	answer := a.answers[a.asked]
	a.asked++
	return evidence, answer(&evidence)
}

func fine(*acceptance.Evidence) error { return nil }

func down(*acceptance.Evidence) error { return errRiskDown }

func changed(change func(*acceptance.Evidence)) func(*acceptance.Evidence) error {
	return func(e *acceptance.Evidence) error {
		change(e)
		return nil
	}
}

// TestEvidence has every way in which evidence does or does not count, with the
// boundaries of its times.
func TestEvidence(t *testing.T) {
	t.Parallel()
	other, err := fingerprint.Of(fingerprint.Schema{Name: "other", Version: 1}, "other")
	if err != nil {
		t.Fatal(err)
	}
	expired := changed(func(e *acceptance.Evidence) { e.ExpiresAt = opening })
	opinion := func(o acceptance.Opinion) func(*acceptance.Evidence) error {
		return changed(func(e *acceptance.Evidence) { e.Opinion = o })
	}
	for _, test := range []struct {
		name    string
		answers []func(*acceptance.Evidence) error
		arrange func(*config)
		verdict acceptance.Verdict
		code    acceptance.Code
		without bool // evidence in the decision
	}{
		{name: "approves", answers: []func(*acceptance.Evidence) error{fine}, verdict: acceptance.Accepted},
		{name: "refuses", answers: []func(*acceptance.Evidence) error{opinion(acceptance.RiskRefuse)}, verdict: acceptance.Rejected, code: acceptance.CodeRiskRefused},
		{name: "refers where nothing is referred", answers: []func(*acceptance.Evidence) error{opinion(acceptance.RiskRefer)}, verdict: acceptance.Rejected, code: acceptance.CodeRiskReferred},
		{name: "for another request", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.Fingerprint = other })}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceForeign},
		{name: "of an inadmissible version", arrange: func(c *config) {
			c.Risk.Admissible = func(v string) bool { return v != "model-4" }
		}, answers: []func(*acceptance.Evidence) error{fine}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceVersion},
		{name: "from the future within the skew", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.IssuedAt = opening.Add(acceptance.DefaultRiskSkew) })}, verdict: acceptance.Accepted},
		{name: "from the future beyond the skew", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.IssuedAt = opening.Add(acceptance.DefaultRiskSkew + 1) })}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceFromFuture},
		{name: "refuses from the future", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) {
			e.Opinion, e.IssuedAt = acceptance.RiskRefuse, opening.Add(time.Hour)
		})}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceFromFuture},
		{name: "valid to the last instant", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.ExpiresAt = opening.Add(1) })}, verdict: acceptance.Accepted},
		{name: "expired, then fresh", answers: []func(*acceptance.Evidence) error{expired, fine}, verdict: acceptance.Accepted},
		{name: "expired twice", answers: []func(*acceptance.Evidence) error{expired, expired}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceExpired},
		{name: "refuses but has expired, then approves", answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) {
			e.Opinion, e.ExpiresAt = acceptance.RiskRefuse, opening
		}), fine}, verdict: acceptance.Accepted},
		{name: "down, then fine", answers: []func(*acceptance.Evidence) error{down, fine}, verdict: acceptance.Accepted},
		{name: "down twice", answers: []func(*acceptance.Evidence) error{down, down}, verdict: acceptance.Rejected, code: acceptance.CodeRiskUnavailable, without: true},
		{name: "down, then expired", answers: []func(*acceptance.Evidence) error{down, expired}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceExpired},
		{name: "expired, then down", answers: []func(*acceptance.Evidence) error{expired, down}, verdict: acceptance.Rejected, code: acceptance.CodeRiskUnavailable, without: true},
		{name: "down twice, referred by policy", arrange: referring, answers: []func(*acceptance.Evidence) error{down, down}, verdict: acceptance.Pending, without: true},
		{name: "expired twice, referred by policy", arrange: referring, answers: []func(*acceptance.Evidence) error{expired, expired}, verdict: acceptance.Pending},
		{name: "foreign is not referred by policy", arrange: referring, answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.Fingerprint = other })}, verdict: acceptance.Rejected, code: acceptance.CodeEvidenceForeign},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var service *assessor
			h := newHouse(t, func(h *house, c *config) {
				service = &assessor{h: h, answers: test.answers}
				c.Risk.Assess = service.assess
				if test.arrange != nil {
					test.arrange(c)
				}
			})
			got := h.accept(single(t, "b1", "10.00"))
			if got.Verdict != test.verdict || got.Code != test.code {
				t.Errorf("got %s %q, want %s %q", got.Verdict, got.Code, test.verdict, test.code)
			}
			if service.asked != len(test.answers) {
				t.Errorf("asked %d times, want %d", service.asked, len(test.answers))
			}
			if (got.Evidence == nil) != test.without {
				t.Errorf("evidence: %v", got.Evidence)
			}
			if got.Receipt.Outcome != test.verdict {
				t.Errorf("receipt: %s", got.Receipt.Outcome)
			}
		})
	}
}

func referring(c *config) {
	c.Referral.Lifetime = time.Minute
	c.Risk.Unavailable = acceptance.FallbackRefer
}

// TestEvidenceThatExpiresInTheQueue: what counts is the database's clock in
// the transaction, not the time at which it was obtained.
func TestEvidenceThatExpiresInTheQueue(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Risk.Assess = h.approve
		slow := true
		c.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
			if slow {
				h.wait(time.Hour)
				slow = false
			}
			return h.lockWallet(ctx, tx, c)
		}
	})
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Accepted {
		t.Errorf("decision: %+v", got)
	}
	want := []string{"Assess", "LockWallet", "Quote", "Assess", "LockWallet", "Quote", "Place"}
	if diff := cmp.Diff(want, h.calls()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestEvidenceAfterTheDeadline: a client that ignores its context brings
// evidence too late, and no error.
func TestEvidenceAfterTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(h *house, c *config) {
			c.Risk.Assess = func(ctx context.Context, c *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
				<-ctx.Done()
				return h.approve(ctx, c, sum)
			}
		})
		if got := h.accept(single(t, "b1", "10.00")); got.Code != acceptance.CodeRiskUnavailable {
			t.Errorf("decision: %+v", got)
		}
	})
}

func TestEvidenceIsJudgedBeforeTheQuote(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		service := &assessor{h: h, answers: []func(*acceptance.Evidence) error{changed(func(e *acceptance.Evidence) { e.IssuedAt = opening.Add(time.Hour) })}}
		c.Risk.Assess = service.assess
	})
	quoted(func(q *acceptance.Quote) { q.Status = acceptance.MarketSuspended })(h, nil)
	if got := h.accept(single(t, "b1", "10.00")); got.Code != acceptance.CodeEvidenceFromFuture {
		t.Errorf("decision: %+v", got)
	}
}

func TestMalformedEvidence(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*acceptance.Evidence){
		"no id":         func(e *acceptance.Evidence) { e.ID = "" },
		"no version":    func(e *acceptance.Evidence) { e.Version = "" },
		"foreign id":    func(e *acceptance.Evidence) { e.ID = "e\xff" },
		"foreign text":  func(e *acceptance.Evidence) { e.Version = "v\xff" },
		"no issue time": func(e *acceptance.Evidence) { e.IssuedAt = time.Time{} },
		"no expiry":     func(e *acceptance.Evidence) { e.ExpiresAt = time.Time{} },
		"no opinion":    func(e *acceptance.Evidence) { e.Opinion = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for again, want := range map[string]acceptance.Code{"whole": "", "broken": acceptance.CodeRiskUnavailable} {
				h := newHouse(t, func(h *house, c *config) {
					answers := []func(*acceptance.Evidence) error{changed(change), changed(change)}
					if again == "whole" {
						answers[1] = fine
					}
					c.Risk.Assess = (&assessor{h: h, answers: answers}).assess
				})
				if got := h.accept(single(t, "b1", "10.00")); got.Code != want {
					t.Errorf("then %s: got %q, want %q", again, got.Code, want)
				}
			}
		})
	}
}

// TestRiskDeadlines: a service that hangs is given up after CallTimeout, and all
// calls together after TotalTimeout.
func TestRiskDeadlines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		call, total time.Duration
		wantCalls   int
		wantTime    time.Duration
	}{
		{"each call", time.Second, 5 * time.Second, 2, 2 * time.Second},
		{"the second call has what is left", 3 * time.Second, 4 * time.Second, 2, 4 * time.Second},
		{"nothing is left for a second call", 3 * time.Second, 3 * time.Second, 1, 3 * time.Second},
		{"zero values", 0, 0, 2, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				h := newHouse(t, func(_ *house, c *config) {
					c.Risk.CallTimeout, c.Risk.TotalTimeout = test.call, test.total
					c.Risk.Assess = func(ctx context.Context, _ *acceptance.Command, _ fingerprint.Digest) (acceptance.Evidence, error) {
						calls++
						<-ctx.Done()
						return acceptance.Evidence{}, ctx.Err()
					}
				})
				started := time.Now()
				got := h.accept(single(t, "b1", "10.00"))
				if got.Code != acceptance.CodeRiskUnavailable || calls != test.wantCalls || time.Since(started) != test.wantTime {
					t.Errorf("got %q after %d calls and %v, want %d calls and %v", got.Code, calls, time.Since(started), test.wantCalls, test.wantTime)
				}
			})
		})
	}
}

// TestCallsWithoutBound: the longest duration bounds nothing, and is no reason to
// ask never.
func TestCallsWithoutBound(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Risk.Assess, c.Risk.CallTimeout = h.approve, math.MaxInt64
	})
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Accepted {
		t.Errorf("got %s %q", got.Verdict, got.Code)
	}
}

// TestCallerThatGivesUp: a cancelled caller is no missing evidence.
func TestCallerThatGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	h := newHouse(t, func(_ *house, c *config) {
		c.Risk.Assess = func(context.Context, *acceptance.Command, fingerprint.Digest) (acceptance.Evidence, error) {
			cancel()
			return acceptance.Evidence{}, errRiskDown
		}
	})
	if _, err := h.runner.Accept(ctx, single(t, "b1", "10.00")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if len(h.fake.Receipts()) != 0 {
		t.Errorf("receipts: %v", h.verdicts())
	}
}
