package quotetoken

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
)

// statement is what a payload says: who states which claims.
type statement struct {
	issuer string
	claims Claims
}

// parts returns the texts of a payload in their order. Do not change: tokens
// of version 1 have this one.
func (s *statement) parts() [payloadParts]string {
	c := &s.claims
	return [payloadParts]string{
		s.issuer, c.Tenant, c.Event, c.Market, c.Selection, c.Line, c.Version, c.Material,
		c.Odds.String(), string(c.Status), instantText(c.CutOff), instantText(c.IssuedAt), instantText(c.ExpiresAt),
		strconv.FormatInt(int64(c.MaxStaleness), 10),
	}
}

const payloadParts = 14

// encode returns the payload. The claims must have passed their rules.
func (s *statement) encode() []byte {
	var payload []byte
	for _, part := range s.parts() {
		payload = binary.BigEndian.AppendUint16(payload, uint16(len(part))) //nolint:gosec // every part is bounded by a rule
		payload = append(payload, part...)
	}
	return payload
}

// decode reads a payload and holds it against every rule. What it takes,
// encode writes back byte for byte.
func decode(payload []byte) (*statement, error) {
	parts, err := split(payload)
	if err != nil {
		return nil, err
	}
	s := &statement{issuer: parts[0], claims: Claims{
		Tenant: parts[1], Event: parts[2], Market: parts[3], Selection: parts[4], Line: parts[5],
		Version: parts[6], Material: parts[7], Status: acceptance.MarketStatus(parts[9]),
	}}
	c := &s.claims
	if c.Odds, err = money.ParseOdds(parts[8]); err != nil {
		return nil, err
	}
	if parts[10] != "" {
		if c.CutOff, err = parseInstant(parts[10]); err != nil {
			return nil, fmt.Errorf("cut-off %w", err)
		}
	}
	if c.IssuedAt, err = parseInstant(parts[11]); err != nil {
		return nil, fmt.Errorf("issued-at %w", err)
	}
	if c.ExpiresAt, err = parseInstant(parts[12]); err != nil {
		return nil, fmt.Errorf("expires-at %w", err)
	}
	staleness, err := parseCount(parts[13])
	if err != nil {
		return nil, fmt.Errorf("max-staleness %w", err)
	}
	c.MaxStaleness = time.Duration(staleness)
	if broken := c.brokenRules(); len(broken) > 0 {
		return nil, errors.New(broken[0])
	}
	if s.parts() != parts {
		return nil, errors.New("the payload is not in its one form")
	}
	return s, nil
}

// split takes a payload apart, and leaves nothing over.
func split(payload []byte) (parts [payloadParts]string, err error) {
	const prefix = 2
	for i := range parts {
		if len(payload) < prefix {
			return parts, fmt.Errorf("the payload ends before part %d", i)
		}
		length := int(binary.BigEndian.Uint16(payload))
		payload = payload[prefix:]
		if len(payload) < length {
			return parts, fmt.Errorf("the payload ends in part %d", i)
		}
		parts[i], payload = string(payload[:length]), payload[length:]
	}
	if len(payload) > 0 {
		return parts, errors.New("the payload has more than its parts")
	}
	return parts, nil
}

// instantText writes the zero time, which stands for none, as nothing.
func instantText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func parseInstant(text string) (time.Time, error) {
	count, err := parseCount(text)
	return time.Unix(0, count).UTC(), err
}

func parseCount(text string) (int64, error) {
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // The text of err can hold the whole part.
		return 0, errors.New("is no count of nanoseconds")
	}
	return count, nil
}
