package pgfault

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestIsCommit(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"commit":                             true,
		"COMMIT":                             true,
		" Commit ; ":                         true,
		"commit work":                        true,
		"COMMIT TRANSACTION":                 true,
		"commit and chain":                   true,
		"commit and no chain;":               true,
		"END":                                true,
		"end transaction":                    true,
		"insert into t values (1);commit":    true,
		"select 1;\n commit ;":               true,
		"":                                   false,
		"begin":                              false,
		"rollback":                           false,
		"commit prepared 'x'":                false,
		"select 'commit'":                    false,
		"select 1 as commit":                 false,
		"commit; select 1":                   false,
		"select case when true then 1 end":   false,
		"do $$ begin perform 1; end $$":      false,
		"create function f() begin; end":     false,
		"insert into t values ('a; commit')": false,
	} {
		if got := isCommit(sql); got != want {
			t.Errorf("isCommit(%q) = %v, want %v", sql, got, want)
		}
	}
}

// encode returns the messages as the client sends them.
func encode(t testing.TB, messages ...pgproto3.FrontendMessage) []byte {
	t.Helper()
	var stream []byte
	for _, m := range messages {
		var err error
		if stream, err = m.Encode(stream); err != nil {
			t.Fatal(err)
		}
	}
	return stream
}

func TestCommitIsFoundWhereItRuns(t *testing.T) {
	t.Parallel()
	prepared := []pgproto3.FrontendMessage{
		&pgproto3.Parse{Name: "s1", Query: "insert into t values (1)"},
		&pgproto3.Parse{Name: "s2", Query: "commit"},
		&pgproto3.Sync{},
	}
	for _, c := range []struct {
		name string
		sent []pgproto3.FrontendMessage
		want []int // of each pipeline
	}{
		{
			"simple",
			[]pgproto3.FrontendMessage{&pgproto3.Query{String: "commit"}},
			[]int{0},
		},
		{
			"prepared before, in a pipeline",
			append(prepared,
				&pgproto3.Bind{PreparedStatement: "s1"}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{},
				&pgproto3.Bind{PreparedStatement: "s2"}, &pgproto3.Execute{}, &pgproto3.Sync{}),
			[]int{-1, 4},
		},
		{
			"unnamed statement, named portal",
			[]pgproto3.FrontendMessage{
				&pgproto3.Parse{Query: "commit"}, &pgproto3.Bind{DestinationPortal: "p"},
				&pgproto3.Parse{Query: "select 1"}, &pgproto3.Bind{},
				&pgproto3.Execute{}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{},
			},
			[]int{5},
		},
		{
			"closed statement whose name is taken again",
			append(prepared, &pgproto3.Close{ObjectType: 'S', Name: "s2"},
				&pgproto3.Parse{Name: "s2", Query: "select 1"},
				&pgproto3.Bind{PreparedStatement: "s2"}, &pgproto3.Execute{}, &pgproto3.Sync{}),
			[]int{-1, -1},
		},
		{
			"the first of two",
			append(prepared, &pgproto3.Bind{PreparedStatement: "s2"}, &pgproto3.Execute{}, &pgproto3.Execute{}, &pgproto3.Sync{}),
			[]int{-1, 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := bufio.NewReader(bytes.NewReader(encode(t, c.sent...)))
			followed := newStatements()
			var got []int
			for {
				pipeline, err := readPipeline(from)
				if err != nil {
					break // the end
				}
				at, err := followed.commitAt(pipeline)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, at)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzReadPipeline: whatever a client sends is forwarded as it came or not at
// all, and nothing panics.
func FuzzReadPipeline(f *testing.F) {
	f.Add(encode(f, &pgproto3.Query{String: "commit"}))
	f.Add(encode(f, &pgproto3.Parse{Query: "commit"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}))
	f.Add(append([]byte{'Q'}, binary.BigEndian.AppendUint32(nil, 1<<31)...))
	f.Add([]byte{'B', 0, 0, 0, 4, 'S', 0, 0, 0, 4})
	f.Fuzz(func(t *testing.T, stream []byte) {
		from := bufio.NewReader(bytes.NewReader(stream))
		followed := newStatements()
		var forwarded bytes.Buffer
		for {
			pipeline, err := readPipeline(from)
			if err != nil {
				break
			}
			at, err := followed.commitAt(pipeline)
			if at >= len(pipeline) || (err != nil && at >= 0) {
				t.Fatalf("COMMIT at %d of %d, error %v", at, len(pipeline), err)
			}
			if err := writeMessages(&forwarded, pipeline); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(stream, forwarded.Bytes()) {
			t.Errorf("forwarded %q of %q", forwarded.Bytes(), stream)
		}
	})
}
