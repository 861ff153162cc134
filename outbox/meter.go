package outbox

import "time"

// meterSpan is over how many seconds a meter measures.
const meterSpan = 60

// meter measures how many events a second there were over the last minute, or
// since it began if that is less. It knows no clock.
type meter struct {
	began   time.Time
	seconds [meterSpan]struct{ second, events int64 }
}

// second returns in which second since the meter began now is.
func (m *meter) second(now time.Time) int64 {
	return max(0, int64(now.Sub(m.began)/time.Second))
}

func (m *meter) add(now time.Time, events int) {
	second := m.second(now)
	slot := &m.seconds[second%meterSpan]
	if slot.second != second {
		slot.second, slot.events = second, 0
	}
	slot.events += int64(events)
}

func (m *meter) perSecond(now time.Time) float64 {
	second := m.second(now)
	oldest := max(0, second-meterSpan+1)
	sum := int64(0)
	for _, slot := range m.seconds {
		if slot.second >= oldest && slot.second <= second {
			sum += slot.events
		}
	}
	span := now.Sub(m.began) - time.Duration(oldest)*time.Second
	return float64(sum) / max(1, span.Seconds())
}
