package battle_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/battle"
)

func TestJournalComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	want := []battle.Entry{
		{Kind: battle.Opened, Number: 1, RoomID: "a"},
		{Kind: battle.Closed, Number: 1, RoomID: "a", Dwelt: 30 * time.Second, Told: []int{0, 2}},
	}
	journal, entries, err := battle.OpenJournal(path)
	if err != nil || len(entries) != 0 {
		t.Fatalf("a new journal holds %v, error %v", entries, err)
	}
	for _, entry := range want {
		if err := journal.Append(entry); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := battle.ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

// A process that is killed while it writes leaves a line without an end. The
// next line must not stick to it.
func TestTornLineIsCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	whole := `{"kind":"opened","number":1,"room_id":"a"}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"kind":"finished","num`), 0o600); err != nil {
		t.Fatal(err)
	}
	journal, entries, err := battle.OpenJournal(path)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the journal holds %v, error %v; want the whole line", entries, err)
	}
	if err := journal.Append(battle.Entry{Kind: battle.Opened, Number: 2, RoomID: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := whole + `{"kind":"opened","number":2,"room_id":"b"}` + "\n"; err != nil || string(text) != want {
		t.Errorf("the file holds %q, error %v; want %q", text, err, want)
	}
}

func TestDamagedJournalIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, []byte("{}\nnonsense\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := battle.ReadJournal(path); err == nil {
		t.Error("a line in the middle that is no JSON was read")
	}
}

func TestJournalThatIsNotThereIsEmpty(t *testing.T) {
	t.Parallel()
	entries, err := battle.ReadJournal(filepath.Join(t.TempDir(), "none"))
	if err != nil || len(entries) != 0 {
		t.Errorf("entries %v, error %v", entries, err)
	}
}
