package settlehttp_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// FuzzRefusalJSON checks that what is read as a refusal can be written and
// reads back the same, and that a lenient reader sees the same event in it.
func FuzzRefusalJSON(f *testing.F) {
	f.Add([]byte(refusalText))
	f.Add([]byte(`{"Key":{},` + refusalText[1:]))
	f.Add([]byte(problemText))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first settlehttp.Refusal
		if err := first.UnmarshalJSON(text); err != nil {
			if !errors.Is(err, settlehttp.ErrInvalidRefusal) || first != (settlehttp.Refusal{}) {
				t.Errorf("error %v, refusal %+v", err, first)
			}
			return
		}
		var lenient struct {
			Key         receipt.Key
			Fingerprint string
		}
		if err := json.Unmarshal(text, &lenient); err != nil {
			t.Fatal(err)
		}
		if lenient.Key != first.Key || lenient.Fingerprint != first.Fingerprint.String() {
			t.Errorf("%q has two meanings: %+v and %+v", text, first, lenient)
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		var second settlehttp.Refusal
		if err := json.Unmarshal(written, &second); err != nil || first != second {
			t.Errorf("written as %s, read as %+v, error %v", written, second, err)
		}
	})
}

// FuzzSignatureHeader checks that only the header that was made passes, the
// letter case of its hexadecimal digits aside.
func FuzzSignatureHeader(f *testing.F) {
	const head, digits = "v1 arena-1 1772366400 ", "a1ea2bea0bf6ff2cd7072bf7776fab28740b8b47a1a45b3a45669b24d8305ecb"
	f.Add(head + digits)
	f.Add("v1 arena-1 99999999999999999999 00")
	f.Add("v1   ")
	f.Fuzz(func(t *testing.T, value string) {
		r := &http.Request{Header: http.Header{settlehttp.SignatureHeader: {value}}}
		tenant, err := authenticate(t, signedAt)(r, []byte("{}"))
		rest, headed := strings.CutPrefix(value, head)
		made := headed && strings.EqualFold(rest, digits)
		if passed := err == nil; passed != made || passed != (tenant == "arena") {
			t.Errorf("%q: tenant %q, error %v", value, tenant, err)
		}
	})
}
