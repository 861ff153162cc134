// Package fingerprint computes the canonical, versioned digest of everything
// that changes an effect.
package fingerprint
