package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/strictjson"
)

// readText returns the body of a request that says that it is JSON.
func readText(r *http.Request) ([]byte, error) {
	if wrong := wrongMedia(r.Header); wrong != nil {
		failed := fail(TypeMediaType, *wrong)
		failed.header = [2]string{"Accept", jsonMediaType}
		return nil, failed
	}
	text, err := io.ReadAll(r.Body)
	if over, is := errors.AsType[*http.MaxBytesError](err); is {
		return nil, fail(TypeTooLarge, WrongField{strictjson.Whole, fmt.Sprintf("must have at most %d bytes", over.Limit)})
	}
	if err != nil {
		return nil, malformed("must not end early", err)
	}
	return text, nil
}

// wrongMedia returns what is wrong with the headers of a body, or nil. A header
// that stands twice is refused, since another reader might go by the other one.
func wrongMedia(header http.Header) *WrongField {
	types, encodings := header.Values("Content-Type"), header.Values("Content-Encoding")
	if len(types) > 1 {
		return &WrongField{"Content-Type", "must stand once"}
	}
	got, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || got != jsonMediaType {
		return &WrongField{"Content-Type", "must be " + jsonMediaType}
	}
	if len(encodings) > 1 {
		return &WrongField{"Content-Encoding", "must stand once at most"}
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &WrongField{"Content-Encoding", "must be left out, or be identity"}
	}
	return nil
}

// malformed is about a body as a whole.
func malformed(rule string, cause error) *failure {
	failed := failedBy(TypeMalformed, cause)
	failed.problem.Errors = []WrongField{{strictjson.Whole, rule}}
	return failed
}

// readCommand reads a command, which has its own strict form.
func readCommand(r *http.Request) (c acceptance.Command, err error) {
	text, err := readText(r)
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(text, &c)
	if invalid, ok := errors.AsType[*acceptance.InvalidError](err); ok {
		wrong := make([]WrongField, len(invalid.Fields))
		for i, field := range invalid.Fields {
			wrong[i] = WrongField(field)
		}
		return c, malformedOrInvalid(wrong)
	}
	if err != nil {
		return c, malformed("must be one JSON object, and nothing else", err)
	}
	return c, nil
}

// readBody fills in any other body.
func readBody(r *http.Request, body any) error {
	text, err := readText(r)
	if err != nil {
		return err
	}
	err = strictjson.Decode(text, body)
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok {
		return malformedOrInvalid([]WrongField{WrongField(*wrong)})
	}
	return err
}

func malformedOrInvalid(wrong []WrongField) error {
	if len(wrong) == 1 && wrong[0].Field == strictjson.Whole {
		return fail(TypeMalformed, wrong...)
	}
	return fail(TypeInvalid, wrong...)
}
