package quotetoken

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
)

// Do not change: they belong to version 1 of the format.
const (
	formatVersion = "q1"
	// signingDomain keeps a signature from meaning anything in another protocol
	// that uses the same key by mistake.
	signingDomain = "settleonce quote token\n"
	maxKeyID      = 64
)

// envelope is a token taken apart, of which nothing is proved yet.
type envelope struct {
	keyID     string
	signed    string // the token up to the signature
	payload   []byte
	signature []byte
}

// signedText returns what the signature is made of.
func signedText(keyID string, payload []byte) string {
	return formatVersion + "." + keyID + "." + base64.RawURLEncoding.EncodeToString(payload)
}

// seal puts a token together.
func seal(signed string, signature []byte) string {
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// open takes a token apart. What it takes has one form only.
func open(token string) (*envelope, error) {
	switch {
	case token == "":
		return nil, errors.New("there is no token")
	case len(token) > acceptance.MaxProof:
		return nil, fmt.Errorf("the token must have at most %d bytes, has %d", acceptance.MaxProof, len(token))
	}
	parts := strings.Split(token, ".")
	if len(parts) != 4 || parts[0] != formatVersion {
		return nil, fmt.Errorf("the token must have the form %s.key-id.payload.signature", formatVersion)
	}
	e := &envelope{keyID: parts[1], signed: token[:strings.LastIndexByte(token, '.')]}
	var err error
	if e.payload, err = decodeText(parts[2]); err != nil {
		return nil, fmt.Errorf("the payload %w", err)
	}
	if e.signature, err = decodeText(parts[3]); err != nil {
		return nil, fmt.Errorf("the signature %w", err)
	}
	return e, nil
}

// decodeText refuses what encoding/base64 overlooks: line breaks, and bits
// behind the last byte.
func decodeText(text string) ([]byte, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(decoded) != text {
		return nil, errors.New("must be base64url without padding")
	}
	return decoded, nil
}

func validKeyID(id string) bool {
	return id != "" && len(id) <= maxKeyID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
