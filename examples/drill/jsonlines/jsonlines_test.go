package jsonlines_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/drill/jsonlines"
)

type value struct{ Text string }

func TestValuesAreReadBackInTheirOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "values")
	if got, err := jsonlines.Read[value](path); err != nil || len(got) != 0 {
		t.Errorf("a file that does not exist has %v, error %v", got, err)
	}
	file, err := jsonlines.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []value{{"one"}, {"two\nlines"}}
	for _, v := range want {
		if err := file.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := jsonlines.Read[value](path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, values (-want +got):\n%s", err, diff)
	}
	if _, err := jsonlines.Create(path); err == nil {
		t.Error("another run adds to an old file")
	}
}

func TestLineThatIsNoValueIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "values")
	if err := os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jsonlines.Read[value](path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v does not name line 2", err)
	}
}
