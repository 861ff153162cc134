package settlehttp

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/strictjson"
	"github.com/settleonce/settleonce/receipt"
)

// confirms is the member that an answer of status 200 has beside those of the
// receipt, where the receipt was stored under another schema than the event's.
const confirms = "confirms"

// maxAnswerMembers bounds the members of an answer, a receipt's and unknown
// ones together.
const maxAnswerMembers = 64

// confirmation returns the body of an answer of status 200: the receipt, and
// the fingerprint of the event that it answers where that was compared under
// the receipt's older schema. Without it the sender of a newer schema would
// keep its record for ever.
//
// Two fingerprints under one version that differ are two effects, and no proof,
// and nobody compares across schemas of two names.
func confirmation(settled *receipt.Receipt, sent fingerprint.Digest) ([]byte, error) {
	body, err := settled.MarshalJSON()
	if err != nil {
		return nil, err
	}
	switch {
	case settled.Fingerprint == sent:
		return body, nil
	case !versionsOfOneSchema(settled.Fingerprint.Schema(), sent.Schema()):
		return nil, fmt.Errorf("settlehttp: Settle returned a receipt of fingerprint %s for an event of %s", settled.Fingerprint, sent)
	default:
		return fmt.Appendf(bytes.TrimSuffix(body, []byte("}")), `,%q:%q}`, confirms, sent.String()), nil
	}
}

// readConfirmation returns the receipt in the body of an answer, and the
// fingerprint that it is proof for.
func readConfirmation(body []byte) (receipt.Receipt, fingerprint.Digest, error) {
	var settled receipt.Receipt
	if err := settled.UnmarshalJSON(body); err != nil {
		return receipt.Receipt{}, fingerprint.Digest{}, err
	}
	var sent *fingerprint.Digest // nil: the receipt is proof for its own fingerprint
	broken := strictjson.Read(body, maxAnswerMembers, []strictjson.Field{{Name: confirms, Place: &sent, Optional: true}})
	if len(broken) > 0 {
		return receipt.Receipt{}, fingerprint.Digest{}, fmt.Errorf("settlehttp: %s", strings.Join(broken, "; "))
	}
	switch {
	case sent == nil:
		return settled, settled.Fingerprint, nil
	case sent.IsZero():
		return receipt.Receipt{}, fingerprint.Digest{}, fmt.Errorf("settlehttp: %s must not be empty", confirms)
	case !versionsOfOneSchema(settled.Fingerprint.Schema(), sent.Schema()):
		return receipt.Receipt{}, fingerprint.Digest{}, fmt.Errorf("settlehttp: %s must be under another version of the receipt's schema", confirms)
	default:
		return settled, *sent, nil
	}
}

// versionsOfOneSchema reports whether a and b are two versions of one schema.
func versionsOfOneSchema(a, b fingerprint.Schema) bool {
	return a.Name == b.Name && a.Version != b.Version
}
