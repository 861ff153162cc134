package quotetoken_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

func TestVerifyReturnsTheQuote(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", acceptance.MaxText)
	for name, change := range map[string]func(*quotetoken.Claims, *acceptance.Leg){
		"as it is":            func(*quotetoken.Claims, *acceptance.Leg) {},
		"no line":             func(c *quotetoken.Claims, l *acceptance.Leg) { c.Line, l.Line = "", "" },
		"no material version": func(c *quotetoken.Claims, _ *acceptance.Leg) { c.Material = "" },
		"no cut-off":          func(c *quotetoken.Claims, _ *acceptance.Leg) { c.CutOff = time.Time{} },
		"a cut-off gone by":   func(c *quotetoken.Claims, _ *acceptance.Leg) { c.CutOff = issuedAt.Add(-time.Hour) },
		"suspended":           func(c *quotetoken.Claims, _ *acceptance.Leg) { c.Status = acceptance.MarketSuspended },
		"closed":              func(c *quotetoken.Claims, _ *acceptance.Leg) { c.Status = acceptance.MarketClosed },
		"the longest odds":    func(c *quotetoken.Claims, _ *acceptance.Leg) { c.Odds = odds(t, "999999.9999999999") },
		"texts of every sort": func(c *quotetoken.Claims, l *acceptance.Leg) {
			c.Event, l.Event = "Dynamo – Čelik. <b>\"é\"", "Dynamo – Čelik. <b>\"é\""
		},
		"the longest texts": func(c *quotetoken.Claims, l *acceptance.Leg) {
			c.Event, c.Market, c.Selection, c.Line, c.Version, c.Material = longest, longest, longest, longest, longest, longest
			l.Event, l.Market, l.Selection, l.Line = longest, longest, longest, longest
		},
		"another leg's odds and version": func(_ *quotetoken.Claims, l *acceptance.Leg) { l.Odds, l.QuoteVersion = odds(t, "9"), "t1" },
	} {
		stated, asked := claims(t), leg()
		change(&stated, &asked)
		token := sign(t, signer(t), stated)
		if len(token) > acceptance.MaxProof {
			t.Errorf("%s: the token has %d bytes, and a leg carries %d", name, len(token), acceptance.MaxProof)
		}
		got, err := verifier(t).Verify(token, asked, tenant, issuedAt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := acceptance.Quote{
			Version: stated.Version, Material: stated.Material, Odds: stated.Odds, Status: stated.Status, CutOff: stated.CutOff,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: quote (-want +got):\n%s", name, diff)
		}
	}
}

// The format is durable: owners in other languages write it too.
func TestSignWritesTheFormat(t *testing.T) {
	t.Parallel()
	token := sign(t, signer(t), claims(t))
	if diff := cmp.Diff(handmade(privateKey(1), parts()...), token); diff != "" {
		t.Errorf("against a token made by hand (-want +got):\n%s", diff)
	}
	const golden = "q1.feed-1." +
		"AAxmZWVkLmV4YW1wbGUABHNob3AABWZpbmFsAAV0b3RhbAAEb3ZlcgADMi41AAJ0NwACbTMABDEuODUABG9wZW4A" +
		"EzE3NzgzNDA2MDAxMjM0NTY3ODkAEzE3NzgzMzcwMDAxMjM0NTY3ODkAEzE3NzgzMzcwMzAxMjM0NTY3ODkACjUw" +
		"MDAwMDAwMDA" +
		".vLgFQjApdWazgxrwnEO_AGLP4r5lwKMySZiAkmGvOuIN6Bs0AENscFhXoH9nQqSmN6YbHbxuM8xjZ9Gp_x5YAQ"
	if diff := cmp.Diff(golden, token); diff != "" {
		t.Errorf("against a token of version 1 (-want +got):\n%s", diff)
	}
	if again := sign(t, signer(t), claims(t)); again != token {
		t.Error("the same claims gave another token")
	}
}

func TestSignReadsInstantsInAnyZone(t *testing.T) {
	t.Parallel()
	stated, zone := claims(t), time.FixedZone("east", 3*3600)
	stated.CutOff, stated.IssuedAt, stated.ExpiresAt = stated.CutOff.In(zone), stated.IssuedAt.In(zone), stated.ExpiresAt.In(zone)
	if diff := cmp.Diff(sign(t, signer(t), claims(t)), sign(t, signer(t), stated)); diff != "" {
		t.Errorf("token (-UTC +zone):\n%s", diff)
	}
}

func TestEveryActiveKeyVerifies(t *testing.T) {
	t.Parallel()
	next := newSigner(t, quotetoken.SignerConfig{KeyID: "feed-2", Issuer: issuer, PrivateKey: privateKey(2)})
	for name, with := range map[string]*quotetoken.Signer{"old": signer(t), "new": next} {
		if _, err := verifier(t).Verify(sign(t, with, claims(t)), leg(), tenant, issuedAt); err != nil {
			t.Errorf("%s key: %v", name, err)
		}
	}
	stated := claims(t)
	stated.Tenant = "arena"
	if _, err := verifier(t).Verify(sign(t, signer(t), stated), leg(), "arena", issuedAt); err != nil {
		t.Errorf("another tenant of the key: %v", err)
	}
}
