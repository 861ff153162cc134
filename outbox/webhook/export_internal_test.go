package webhook

// SetBinary is for the fuzz test of the binary mode.
var SetBinary = setBinary
