package quotetoken

import (
	"bytes"
	"testing"
)

// FuzzPayload: what decode takes, encode writes back byte for byte, so no two
// payloads say the same; and it keeps every rule of claims.
func FuzzPayload(f *testing.F) {
	f.Add([]byte{})
	f.Add(payloadOf("feed", "shop", "final", "total", "over", "2.5", "t7", "m3", "1.85", "open", "7", "5", "6", "1"))
	f.Add(payloadOf("", "s", "f", "t", "o", "", "t", "", "2", "closed", "", "-5", "6", "9223372036854775807"))
	f.Add(payloadOf("", "s", "f", "t", "o", "", "t", "", "2.0", "suspended", "", "0", "06", "+1"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		stated, err := decode(payload)
		if err != nil {
			if stated != nil {
				t.Error("a statement beside an error")
			}
			return
		}
		if broken := stated.claims.brokenRules(); len(broken) > 0 {
			t.Errorf("claims that break rules: %v", broken)
		}
		if again := stated.encode(); !bytes.Equal(again, payload) {
			t.Errorf("payload is\n%q, written back\n%q", payload, again)
		}
	})
}

func payloadOf(parts ...string) []byte {
	var payload []byte
	for _, part := range parts {
		payload = append(payload, byte(len(part)>>8), byte(len(part)))
		payload = append(payload, part...)
	}
	return payload
}

// FuzzEnvelope: what open takes is put together again as it was.
func FuzzEnvelope(f *testing.F) {
	for _, token := range []string{"", "...", "q1...", "q1.a.AA.AA", "q1.a.AB.AA", "q1.a.AA=.AA", "q1.a.AA\n.AA", "q2.a.AA.AA", "q1.a.AA.AA.AA"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		e, err := open(token)
		if err != nil {
			return
		}
		if e.signed != signedText(e.keyID, e.payload) {
			t.Errorf("signed text is %q, put together %q", e.signed, signedText(e.keyID, e.payload))
		}
		if again := seal(e.signed, e.signature); again != token {
			t.Errorf("token is %q, put together %q", token, again)
		}
	})
}
