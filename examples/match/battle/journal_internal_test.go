package battle

import (
	"os"
	"path/filepath"
	"testing"
)

// A line that failed may stand in the file in part. Another one behind it would
// make the journal unreadable, and with it the node's matches.
func TestNothingFollowsALineThatFailed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	journal, _, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	writable := journal.file
	t.Cleanup(func() { _ = writable.Close() })
	if journal.file, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	if err := journal.Append(Entry{Kind: Opened}); err == nil {
		t.Fatal("a file that cannot be written took a line")
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	journal.file = writable
	if err := journal.Append(Entry{Kind: Closed}); err == nil {
		t.Error("a line followed the one that failed")
	}
	if text, err := os.ReadFile(path); err != nil || len(text) != 0 {
		t.Errorf("the file holds %q, error %v", text, err)
	}
}
