package pgtemp_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func TestEveryWrongFieldIsNamed(t *testing.T) {
	t.Parallel()
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{
		Dir:    "a,b",
		BinDir: "a\nb",
		Parameters: map[string]string{
			"no name": "", "Port": "1", "work_mem": "1\n2",
		},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`Dir "a,b": must not`, `BinDir "a\nb": must not`, `Parameters["no name"]: must be the name`,
		`Parameters["Port"]: is decided`, `Parameters["work_mem"]: must not`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestLongDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "Dir: must be shorter") {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingBinariesSayHowToGetThem(t *testing.T) {
	t.Parallel()
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{BinDir: t.TempDir()})
	if !errors.Is(err, pgtemp.ErrNotInstalled) {
		t.Fatalf("error %v, want ErrNotInstalled", err)
	}
	for _, want := range []string{"apt-get install postgresql", "brew install postgresql"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}

func TestClosedDirectoryIsRefusedInWords(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root's servers run as another account
	}
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{Dir: closed})
	if err == nil || !strings.Contains(err.Error(), "must be able to enter "+closed) {
		t.Errorf("error %v", err)
	}
}

func TestUnknownUserIsRefused(t *testing.T) {
	t.Parallel()
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{User: "no-such-account"})
	if err == nil || !strings.Contains(err.Error(), "User") {
		t.Errorf("error %v does not name the field", err)
	}
}
