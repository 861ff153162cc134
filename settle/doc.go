// Package settle runs the side effects of a terminal fact exactly once a key.
package settle
