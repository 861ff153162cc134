package risk

// Mode is a way in which the service answers an assessment.
type Mode string

// The modes. After each stands what the client gets, and what a runner makes of
// it.
const (
	// Honest: the opinion that the service has. It holds a place in a script.
	Honest Mode = "honest"
	// Refuse and Refer: the opinion is another one than the service has.
	Refuse Mode = "refuse"
	Refer  Mode = "refer"

	// Slow: nothing, until the client gives up. Asked once more.
	Slow Mode = "slow"
	// Down: the connection is cut. Asked once more.
	Down Mode = "down"
	// Overloaded: 503. Asked once more.
	Overloaded Mode = "overloaded"
	// Nonsense: 200 and a page of HTML. Asked once more.
	Nonsense Mode = "nonsense"

	// Expired: evidence that has expired before it arrives. Asked once more.
	Expired Mode = "expired"
	// Foreign: evidence on another command. Refused by name.
	Foreign Mode = "foreign"
	// Inadmissible: evidence of a version that no house admits. Refused by
	// name.
	Inadmissible Mode = "inadmissible"
	// Future: evidence that is issued in an hour. Refused by name.
	Future Mode = "future"
)

// Modes returns every mode, [Honest] first.
func Modes() []Mode {
	return []Mode{Honest, Refuse, Refer, Slow, Down, Overloaded, Nonsense, Expired, Foreign, Inadmissible, Future}
}
