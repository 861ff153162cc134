package pgtemp

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account returns the credential that the server runs with, nil for this
// process's own. PostgreSQL refuses to run as root.
func account(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, ownAccount(name)
	}
	names := []string{name}
	if name == "" {
		names = []string{"postgres", "nobody"}
	}
	var missing []error
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		return credential(found)
	}
	return nil, fmt.Errorf("pgtemp: User: must be an account other than root: %w", errors.Join(missing...))
}

// ownAccount refuses a name other than this process's, which it could not
// change to.
func ownAccount(name string) error {
	if name == "" {
		return nil
	}
	own, err := user.Current()
	if err != nil {
		return fmt.Errorf("pgtemp: User: %w", err)
	}
	if own.Username != name {
		return fmt.Errorf("pgtemp: User %q: only root can start a server as another account", name)
	}
	return nil
}

func credential(found *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("pgtemp: User %q: %w", found.Username, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("pgtemp: User %q: %w", found.Username, err)
	}
	if uid == 0 {
		return nil, fmt.Errorf("pgtemp: User %q: must be an account other than root", found.Username)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// checkReachable tells early, and in words, what would otherwise be a program
// that can't open its own directory: that the server's account may not enter
// dir. Root's own directories often are closed to others.
func checkReachable(dir string, as *syscall.Credential) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("pgtemp: Dir: %w", err)
		}
		if !mayEnter(info, as) {
			return fmt.Errorf("pgtemp: Dir: account %d, which the server runs as, must be able to enter %s", as.Uid, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// mayEnter reports whether the execute bit that counts for the account is set.
func mayEnter(info os.FileInfo, as *syscall.Credential) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && owner.Uid == as.Uid:
		return info.Mode()&0o100 != 0
	case known && owner.Gid == as.Gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}
