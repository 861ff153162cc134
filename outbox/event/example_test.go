package event_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

func Example() {
	sum, err := fingerprint.Parse("match.result/1:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4")
	if err != nil {
		panic(err)
	}
	finished := event.Event{
		ID:          "0199a1b2-4c7d-7e3f-8a90-b1c2d3e4f506",
		Source:      "//battle-7.example.com",
		Type:        "match.finished",
		Key:         event.Key{Tenant: "arena", Scope: "match", Operation: "settle", ID: "0199a1b2-1111-7222-8333-444455556666"},
		Fingerprint: sum,
		Data:        []byte(`{"winner": 2}`),
	}
	text, err := json.MarshalIndent(finished, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output:
	// {
	//   "specversion": "1.0",
	//   "id": "0199a1b2-4c7d-7e3f-8a90-b1c2d3e4f506",
	//   "source": "//battle-7.example.com",
	//   "type": "match.finished",
	//   "keytenant": "arena",
	//   "keyscope": "match",
	//   "keyoperation": "settle",
	//   "keyid": "0199a1b2-1111-7222-8333-444455556666",
	//   "fingerprint": "match.result/1:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
	//   "data": {
	//     "winner": 2
	//   }
	// }
}

func ExampleEvent_Validate() {
	incomplete := event.Event{
		ID:     "1",
		Source: "/battle-7",
		Type:   "match.finished",
		Key:    event.Key{Tenant: "arena", Scope: "match", ID: "42"},
		Data:   []byte(`{"winner":`),
	}
	err := incomplete.Validate()
	if invalid, ok := errors.AsType[*event.InvalidError](err); ok {
		for _, wrong := range invalid.Fields {
			fmt.Println(wrong.Field, wrong.Rule)
		}
	}
	// Output:
	// data of a JSON media type must be one valid JSON text
	// key.operation must not be empty
	// fingerprint must be set
}
