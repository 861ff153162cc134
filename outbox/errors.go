package outbox

import "errors"

var (
	// ErrConflict is true where the directory already holds a record of the
	// same key with other content. Nothing was changed; sending the same
	// again cannot help before the other is delivered.
	ErrConflict = errors.New("outbox: the key has a record with other content")

	// ErrTooLarge is true for an event whose record would pass [MaxRecord].
	// Nothing was written.
	ErrTooLarge = errors.New("outbox: the record is too large")

	// ErrUnreadable is true for an event whose record could not be read
	// back, such as one whose JSON data is nested too deeply. Nothing was
	// written.
	ErrUnreadable = errors.New("outbox: the record could not be read back")

	// ErrUnacknowledged is true where a Put ended before its record was
	// known to be durable. The record may exist, now or later. Putting the
	// same event again is safe and tells.
	ErrUnacknowledged = errors.New("outbox: the record is not acknowledged and may exist")

	// ErrUnhealthy is true for what [Stats] reports while the disk keeps
	// failing.
	ErrUnhealthy = errors.New("outbox: the disk keeps failing")

	// ErrClosed is true for a call on a directory that is closed or closing.
	// Nothing was written, unless [ErrUnacknowledged] is true as well.
	ErrClosed = errors.New("outbox: closed")

	// ErrLocked is true where another process, or another Dir in this one,
	// has the directory open. Nothing was changed.
	ErrLocked = errors.New("outbox: the directory is open elsewhere")

	// ErrVolatile is true for a directory on a file system that lives in
	// memory. Nothing was written to it.
	ErrVolatile = errors.New("outbox: the file system does not outlive the machine")

	// ErrMalformed is true for a file that is no record: its name, its size,
	// its type or its content.
	ErrMalformed = errors.New("outbox: not a record")

	// ErrConfig is true for a Config with a field that breaks a rule. The
	// text names every such field.
	ErrConfig = errors.New("outbox: invalid config")

	// ErrRunning is true for a second [Relay.Run] while the first one goes
	// on.
	ErrRunning = errors.New("outbox: the relay is already running")
)
