package quotetoken_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// TestVerifyRefusesEveryAlteredClaim puts the honest signature under each claim
// with another value.
func TestVerifyRefusesEveryAlteredClaim(t *testing.T) {
	t.Parallel()
	honest := segments(sign(t, signer(t), claims(t)))
	for name, change := range map[string]func(*quotetoken.Claims){
		"tenant":        func(c *quotetoken.Claims) { c.Tenant = "arena" },
		"event":         func(c *quotetoken.Claims) { c.Event = "semifinal" },
		"market":        func(c *quotetoken.Claims) { c.Market = "winner" },
		"selection":     func(c *quotetoken.Claims) { c.Selection = "under" },
		"line":          func(c *quotetoken.Claims) { c.Line = "3.5" },
		"version":       func(c *quotetoken.Claims) { c.Version = "t8" },
		"material":      func(c *quotetoken.Claims) { c.Material = "m4" },
		"odds":          func(c *quotetoken.Claims) { c.Odds = odds(t, "18.5") },
		"status":        func(c *quotetoken.Claims) { c.Status = acceptance.MarketClosed },
		"cut-off":       func(c *quotetoken.Claims) { c.CutOff = c.CutOff.Add(1) },
		"no cut-off":    func(c *quotetoken.Claims) { c.CutOff = time.Time{} },
		"issued-at":     func(c *quotetoken.Claims) { c.IssuedAt = c.IssuedAt.Add(1) },
		"expires-at":    func(c *quotetoken.Claims) { c.ExpiresAt = c.ExpiresAt.Add(1) },
		"max-staleness": func(c *quotetoken.Claims) { c.MaxStaleness++ },
	} {
		altered := claims(t)
		change(&altered)
		token := segments(sign(t, signer(t), altered))
		token[3] = honest[3]
		// Asked for what the altered token says, so that nothing but the
		// signature can tell.
		asked := acceptance.Leg{Event: altered.Event, Market: altered.Market, Selection: altered.Selection, Line: altered.Line}
		quote, err := verifier(t).Verify(strings.Join(token, "."), asked, altered.Tenant, issuedAt)
		wantInvalid(t, name, quote, err)
		wantReason(t, name, err, "signature")
	}
}

func wantReason(t testing.TB, name string, err error, part string) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), part) {
		t.Errorf("%s: error is %v, want one about %q", name, err, part)
	}
}

func TestVerifyRefusesEveryAlteredByte(t *testing.T) {
	t.Parallel()
	token, verifier := sign(t, signer(t), claims(t)), verifier(t)
	for i := range token {
		for _, with := range []byte{token[i] ^ 1, token[i] ^ 0x20, '.', '\n', 0, 0x80} {
			if with == token[i] {
				continue
			}
			quote, err := verifier.Verify(token[:i]+string([]byte{with})+token[i+1:], leg(), tenant, issuedAt)
			wantInvalid(t, "altered", quote, err)
		}
	}
	// The last characters of payload and signature have bits to spare.
	for _, end := range []int{strings.LastIndexByte(token, '.') - 1, len(token) - 1} {
		for _, with := range alphabet {
			if byte(with) == token[end] {
				continue
			}
			quote, err := verifier.Verify(token[:end]+string(with)+token[end+1:], leg(), tenant, issuedAt)
			wantInvalid(t, "spare bits", quote, err)
		}
	}
}

func TestVerifyRefusesEveryTruncationAndExtension(t *testing.T) {
	t.Parallel()
	token, verifier := sign(t, signer(t), claims(t)), verifier(t)
	for i := range token {
		for name, cut := range map[string]string{"head": token[:i], "tail": token[i+1:], "without one byte": token[:i] + token[i+1:]} {
			quote, err := verifier.Verify(cut, leg(), tenant, issuedAt)
			wantInvalid(t, name, quote, err)
		}
		for _, more := range []string{"A", ".", "=", "\n", "\r", " "} {
			quote, err := verifier.Verify(token[:i]+more+token[i:], leg(), tenant, issuedAt)
			wantInvalid(t, "with more inside", quote, err)
		}
	}
	for _, more := range []string{"A", "AAAA", ".", ".AAAA", "=", "==", "\n", "\r\n", " ", token, "." + token} {
		quote, err := verifier.Verify(token+more, leg(), tenant, issuedAt)
		wantInvalid(t, "with more behind", quote, err)
	}
	quote, err := verifier.Verify(token+strings.Repeat("A", acceptance.MaxProof), leg(), tenant, issuedAt)
	wantInvalid(t, "too long", quote, err)
	wantReason(t, "too long", err, "must have at most 4096 bytes")
}

// Each token here has a signature that fits its text.
func TestVerifyRefusesTheWrongSigner(t *testing.T) {
	t.Parallel()
	config := func(id, issuer string, fill byte) quotetoken.SignerConfig {
		return quotetoken.SignerConfig{KeyID: id, Issuer: issuer, PrivateKey: privateKey(fill)}
	}
	for name, test := range map[string]struct {
		signer quotetoken.SignerConfig
		tenant string
		reason string
	}{
		"another key under the id":         {config(keyID, issuer, 2), tenant, "signature"},
		"a key id that is not known":       {config("feed-9", issuer, 1), tenant, "key id is not known"},
		"the key under another key's id":   {config("feed-2", issuer, 1), tenant, "signature"},
		"another issuer than the key's":    {config(keyID, "track.example", 1), tenant, "issuer"},
		"a key that is not for the tenant": {config("track", "track.example", 3), tenant, `key "track" is not for the token's tenant`},
		"the tenant of another key":        {config("feed-2", issuer, 2), "arena", `key "feed-2" is not for the token's tenant`},
	} {
		stated := claims(t)
		stated.Tenant = test.tenant
		quote, err := verifier(t).Verify(sign(t, newSigner(t, test.signer), stated), leg(), test.tenant, issuedAt)
		wantInvalid(t, name, quote, err)
		wantReason(t, name, err, test.reason)
	}
}

func TestVerifyRefusesATokenForSomethingElse(t *testing.T) {
	t.Parallel()
	token, verifier := sign(t, signer(t), claims(t)), verifier(t)
	for name, change := range map[string]func(*acceptance.Leg){
		"event":     func(l *acceptance.Leg) { l.Event = "semifinal" },
		"market":    func(l *acceptance.Leg) { l.Market = "winner" },
		"selection": func(l *acceptance.Leg) { l.Selection = "under" },
		"line":      func(l *acceptance.Leg) { l.Line = "" },
	} {
		asked := leg()
		change(&asked)
		quote, err := verifier.Verify(token, asked, tenant, issuedAt)
		wantInvalid(t, name, quote, err)
		wantReason(t, name, err, "another "+name)
	}
	// The key may quote for both tenants, the token for one (I10).
	quote, err := verifier.Verify(token, leg(), "arena", issuedAt)
	wantInvalid(t, "tenant", quote, err)
	wantReason(t, "tenant", err, "another tenant")
	shifted := leg()
	shifted.Event, shifted.Market = "finalt", "otal"
	quote, err = verifier.Verify(token, shifted, tenant, issuedAt)
	wantInvalid(t, "a border between texts that has moved", quote, err)
}

// Each token here is signed by the owner's key, in a form that no Signer makes.
func TestVerifyRefusesAnotherForm(t *testing.T) {
	t.Parallel()
	key := privateKey(1)
	honest := handmade(key, parts()...)
	with := func(index int, text string) string {
		changed := parts()
		changed[index] = text
		return handmade(key, changed...)
	}
	payload := segments(honest)[2]
	long := strings.Repeat("x", acceptance.MaxText+1)
	for name, token := range map[string]string{
		"a part too few":              handmade(key, parts()[:13]...),
		"a part too many":             handmade(key, append(parts(), "")...),
		"no parts":                    handmade(key),
		"half a length":               handsigned(key, "q1."+keyID+".AA"),
		"a part that ends early":      handsigned(key, "q1."+keyID+".AAlhYmM"),
		"another version":             handsigned(key, "q2."+keyID+"."+payload),
		"no version":                  handsigned(key, "."+keyID+"."+payload),
		"a part of the token more":    handsigned(key, "q1."+keyID+"."+payload+"."),
		"padding":                     handsigned(key, "q1."+keyID+"."+payload+"="),
		"a line break":                handsigned(key, "q1."+keyID+"."+payload[:8]+"\n"+payload[8:]),
		"no tenant":                   with(1, ""),
		"no event":                    with(2, ""),
		"no market":                   with(3, ""),
		"no selection":                with(4, ""),
		"no version of the quote":     with(6, ""),
		"a version too long":          with(6, long),
		"a material version too long": with(7, long),
		"a version that is no text":   with(6, "\xff"),
		"a version with a NUL":        with(6, "t7\x00"),
		"no odds":                     with(8, ""),
		"odds of one":                 with(8, "1"),
		"odds with a zero more":       with(8, "1.850"),
		"odds with an exponent":       with(8, "185e-2"),
		"no status":                   with(9, ""),
		"another status":              with(9, "Open"),
		"a cut-off that is no count":  with(10, "tomorrow"),
		"a cut-off with a plus":       with(10, "+1778340600123456789"),
		"a cut-off with a zero":       with(10, "01778340600123456789"),
		"a cut-off out of range":      with(10, "9223372036854775808"),
		"no issued-at":                with(11, ""),
		"an issued-at with a zero":    with(11, "01778337000123456789"),
		"no expires-at":               with(12, ""),
		"an expires-at with a zero":   with(12, "01778337030123456789"),
		"an end at the beginning":     with(12, parts()[11]),
		"no staleness":                with(13, ""),
		"a staleness of nothing":      with(13, "0"),
		"a negative staleness":        with(13, "-1"),
		"a staleness with a zero":     with(13, "05000000000"),
	} {
		quote, err := verifier(t).Verify(token, leg(), tenant, issuedAt)
		wantInvalid(t, name, quote, err)
		if err != nil && strings.Contains(err.Error(), "signature does not fit") {
			t.Errorf("%s: %v, but the test is about the form", name, err)
		}
	}
	if _, err := verifier(t).Verify(honest, leg(), tenant, issuedAt); err != nil {
		t.Errorf("the token that all these are made from: %v", err)
	}
}
