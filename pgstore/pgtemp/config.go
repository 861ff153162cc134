package pgtemp

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Config says how to start a server. The zero value is a durable server from
// the newest installed binaries, in the system's directory for temporary files.
type Config struct {
	// BinDir is the directory of initdb, pg_ctl, postgres and pg_basebackup.
	// Empty: the first that has them of PATH, what `pg_config --bindir`
	// prints, and the places where the packages of Debian, Red Hat, Homebrew
	// and Postgres.app put them, the newest release first.
	BinDir string

	// Dir is an existing directory, in which the server gets a fresh one of
	// its own. The account that the server runs as must be able to enter it.
	// Empty: os.TempDir().
	Dir string

	// User is the account that the server runs as where this process is
	// root's. Empty: postgres, else nobody. It must be empty, or the account
	// itself, where this process is not root's.
	User string

	// Parameters are server settings for postgresql.conf, such as
	// "wal_level": "logical", each value as `SHOW` would print it. They come
	// after "max_connections": "200" and can replace it. Nil: none.
	Parameters map[string]string
}

// reserved returns the settings that this package decides.
func reserved() []string {
	return []string{
		"data_directory", "hba_file", "ident_file", "listen_addresses", "port",
		"unix_socket_directories", "unix_socket_permissions",
	}
}

var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// check returns one error that names every wrong field with its rule.
func (c Config) check() error {
	var wrong []error
	if strings.ContainsAny(c.Dir, "\n\r,\x00") {
		wrong = append(wrong, fmt.Errorf("pgtemp: Dir %q: must not contain a comma, a line break or NUL", c.Dir))
	}
	if strings.ContainsAny(c.BinDir, "\n\r\x00") {
		wrong = append(wrong, fmt.Errorf("pgtemp: BinDir %q: must not contain a line break or NUL", c.BinDir))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		if !parameterName.MatchString(name) {
			wrong = append(wrong, fmt.Errorf("pgtemp: Parameters[%q]: must be the name of a setting", name))
		}
		if slices.Contains(reserved(), strings.ToLower(name)) {
			wrong = append(wrong, fmt.Errorf("pgtemp: Parameters[%q]: is decided by this package", name))
		}
		if strings.ContainsAny(c.Parameters[name], "\n\r\x00") {
			wrong = append(wrong, fmt.Errorf("pgtemp: Parameters[%q]: must not contain a line break or NUL", name))
		}
	}
	return errors.Join(wrong...)
}

// settings returns the lines of postgresql.conf for the caller's parameters.
// A later line wins over an earlier one.
func settings(parameters map[string]string) string {
	text := "\n# pgtemp\n" + setting("max_connections", "200")
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		text += setting(name, parameters[name])
	}
	return text
}

// address returns the lines of postgresql.conf that make the server listen on
// its own socket alone.
func address(socketDir string) string {
	return setting("listen_addresses", "") + setting("port", port) + setting("unix_socket_directories", socketDir)
}

// setting returns one line of postgresql.conf, where a backslash escapes.
func setting(name, value string) string {
	return name + " = '" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + "'\n"
}

// appendFile adds text to a file that exists.
func appendFile(name, text string) (err error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtemp: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(text); err != nil {
		return fmt.Errorf("pgtemp: %w", err)
	}
	return nil
}
