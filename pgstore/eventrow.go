package pgstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// eventColumns are the columns of the table of events that hold an event, its
// line and its attempt, in the order of eventArguments.
const eventColumns = `lane, ordering_key, partition_key, source, event_id, type, subject, event_time,
	data_schema, data_content_type, data, fingerprint, extensions, tenant, scope, operation, id, attempt`

// eventArguments returns what the table holds of an event, or the rule that it
// breaks. The table keeps each part as it came: nothing stands in the way of an
// event that would be refused on its way out.
func eventArguments(e *event.Event, attempt string) ([]any, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.Position != 0 {
		return nil, fmt.Errorf("position must not be set, the table gives the event one, is %d", e.Position)
	}
	extensions, err := extensionsText(e.Extensions)
	if err != nil {
		return nil, err
	}
	ordering := e.Ordering()
	return []any{
		lane(ordering), ordering, e.OrderingKey, e.Source, e.ID, e.Type, e.Subject, timeText(e.Time),
		e.DataSchema, e.DataContentType, e.Data, e.Fingerprint.String(), extensions,
		e.Key.Tenant, e.Key.Scope, e.Key.Operation, e.Key.ID, attempt,
	}, nil
}

// timeText keeps the zone and the nanoseconds, which no type of the server does.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func timeFrom(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("event_time: %w", err)
	}
	return t, nil
}

// extensionsText returns a JSON object, nil where there are none.
func extensionsText(extensions map[string]any) (*string, error) {
	if len(extensions) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(extensions)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	text := string(encoded)
	return &text, nil
}

// extensionsFrom reads what extensionsText wrote: strings, booleans and
// integers of 32 bits.
func extensionsFrom(text []byte) (map[string]any, error) {
	if text == nil {
		return nil, nil
	}
	var extensions map[string]any
	if err := json.Unmarshal(text, &extensions); err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	for name, value := range extensions {
		switch value := value.(type) {
		case string, bool:
		case float64: // holds every integer of 32 bits
			if value != math.Trunc(value) || value < math.MinInt32 || value > math.MaxInt32 {
				return nil, fmt.Errorf("extensions.%s is no integer of 32 bits", name)
			}
			extensions[name] = int32(value)
		default:
			return nil, errors.New("extensions." + name + " is no string, boolean or integer")
		}
	}
	return extensions, nil
}
