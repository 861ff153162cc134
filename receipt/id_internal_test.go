package receipt

import (
	"encoding/hex"
	"testing"
)

// TestIDForm checks the bits against the example of RFC 9562, appendix A.6.
func TestIDForm(t *testing.T) {
	t.Parallel()
	var random [16]byte
	bits, err := hex.DecodeString("ffffffffffff" + "fcc3" + "58c4dc0c0c07398f")
	if err != nil {
		t.Fatal(err)
	}
	copy(random[:], bits)
	const want = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	if got := formatID(0x017f22e279b0, random); got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	if got, want := formatID(0, [16]byte{}), "00000000-0000-7000-8000-000000000000"; got != want {
		t.Errorf("id %s, want %s", got, want)
	}
}
