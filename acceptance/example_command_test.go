package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
)

// A server reads the command from a body, and takes the parts of the key from
// the authentication and a header. Every wrong field is named at once.
func ExampleCommand_Validate() {
	body := `{
		"legs": [
			{"event": "match-1", "market": "winner", "selection": "home", "quote_version": "v17", "odds": "2.10"},
			{"event": "match-2", "market": "total", "selection": "over", "line": "2.5", "odds": "1.91"}
		],
		"type": {"kind": "single"},
		"stake": {"amount": "0.00", "currency": "EUR"}
	}`
	var command acceptance.Command
	if err := json.Unmarshal([]byte(body), &command); err != nil {
		fmt.Println(err)
		return
	}
	command.Tenant, command.Wallet, command.ID = "shop", "w-7", "bet-1"

	if invalid, ok := errors.AsType[*acceptance.InvalidError](command.Validate()); ok {
		for _, wrong := range invalid.Fields {
			fmt.Println(wrong.Field, wrong.Rule)
		}
	}
	// Output:
	// legs[1].quote_version must be set
	// legs must be exactly one for a single, are 2
	// stake must be greater than zero
}

// A retry has the fingerprint of the first try, however it is written and
// whatever rides along in Meta. Another stake is another bet.
func ExampleCommand_Fingerprint() {
	const bet = `{
		"tenant": "shop", "wallet": "w-7", "id": "bet-1",
		"legs": [{"event": "match-1", "market": "winner", "selection": "home", "quote_version": "v17", "odds": %q}],
		"type": {"kind": "single"},
		"stake": {"amount": %q, "currency": "EUR"},
		"meta": {"trace": %q}
	}`
	sum := func(odds, stake, trace string) string {
		var command acceptance.Command
		if err := json.Unmarshal(fmt.Appendf(nil, bet, odds, stake, trace), &command); err != nil {
			return err.Error()
		}
		if err := command.Validate(); err != nil {
			return err.Error()
		}
		digest, err := command.Fingerprint(false)
		if err != nil {
			return err.Error()
		}
		return digest.String()
	}

	first := sum("2.10", "10.00", "00-af")
	fmt.Println(first)
	fmt.Println("retry:", sum("2.1", "10", "00-b0") == first)
	fmt.Println("another stake:", sum("2.10", "10.01", "00-af") == first)
	// Output:
	// bet.command/1:aaeac730c064d5fa908a3207ca241736bb50294394fe44b8d4feac313b2b2880
	// retry: true
	// another stake: false
}
