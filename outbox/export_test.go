package outbox

// What tests in package outbox_test need from within.

var (
	OpenDirOn            = openDirOn
	EncodeKey            = encodeKey
	EncodeRecord         = encodeRecord
	DecodeRecord         = decodeRecord
	ParseRecordName      = parseRecordName
	ParseQuarantinedName = parseQuarantinedName
	QuarantinedName      = quarantinedName
)

// RecordName makes the name of a record from its encoded key and its time.
func RecordName(key string, time int64) string { return recordName{key, time}.String() }

// Delay is the back-off's rule.
var Delay = backoff.delay

type Backoff = backoff

func NewBackoff(cfg RelayConfig) Backoff {
	cfg = cfg.withDefaults()
	return backoff{min: cfg.MinBackoff, max: cfg.MaxBackoff, retryAfterMax: cfg.MaxRetryAfter}
}
