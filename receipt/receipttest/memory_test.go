package receipttest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/receipt/receipttest"
)

// memoryStep is one step of a script with two transactions.
type memoryStep struct {
	tx   int
	do   string // begin, set, delete, get, keys, commit, rollback
	key  string
	want any // of get: the value, or nil for none; of keys: the list; of the others: the error
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for _, script := range []struct {
		name      string
		committed map[string]int
		steps     []memoryStep
		want      map[string]int
	}{
		{"a transaction sees its own writes", map[string]int{"a": 1, "b": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", 1},
			{0, "set", "a", nil},
			{0, "get", "a", 10},
			{0, "delete", "b", nil},
			{0, "get", "b", nil},
			{0, "set", "c", nil},
			{0, "keys", "", []string{"a", "c"}},
			{0, "commit", "", nil},
		}, map[string]int{"a": 10, "c": 10}},
		{"others see nothing before the commit", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "set", "a", nil},
			{1, "begin", "", nil},
			{1, "get", "a", 1},
			{1, "commit", "", nil},
			{0, "commit", "", nil},
		}, map[string]int{"a": 10}},
		{"a rollback leaves nothing", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "set", "a", nil},
			{0, "delete", "a", nil},
			{0, "set", "b", nil},
			{0, "rollback", "", nil},
		}, map[string]int{"a": 1}},
		{"the snapshot stays as it was", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{1, "begin", "", nil},
			{1, "set", "a", nil},
			{1, "commit", "", nil},
			{0, "get", "a", 1},
			{0, "rollback", "", nil},
		}, map[string]int{"a": 10}},
		{"what was read must not have changed", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", 1},
			{0, "set", "b", nil},
			{1, "begin", "", nil},
			{1, "set", "a", nil},
			{1, "commit", "", nil},
			{0, "commit", "", receipttest.ErrSerialization},
		}, map[string]int{"a": 10}},
		{"what was read must not have gone", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", 1},
			{0, "set", "b", nil},
			{1, "begin", "", nil},
			{1, "delete", "a", nil},
			{1, "commit", "", nil},
			{0, "commit", "", receipttest.ErrSerialization},
		}, map[string]int{}},
		{"what was missed must not have come", nil, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", nil},
			{0, "set", "b", nil},
			{1, "begin", "", nil},
			{1, "set", "a", nil},
			{1, "commit", "", nil},
			{0, "commit", "", receipttest.ErrSerialization},
		}, map[string]int{"a": 10}},
		{"what was listed must not have changed", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "keys", "", []string{"a"}},
			{0, "set", "b", nil},
			{1, "begin", "", nil},
			{1, "set", "c", nil},
			{1, "commit", "", nil},
			{0, "commit", "", receipttest.ErrSerialization},
		}, map[string]int{"a": 1, "c": 10}},
		{"what was not read may change", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", 1},
			{0, "set", "b", nil},
			{1, "begin", "", nil},
			{1, "set", "c", nil},
			{1, "commit", "", nil},
			{0, "commit", "", nil},
		}, map[string]int{"a": 1, "b": 10, "c": 10}},
		{"a committed transaction refuses everything", nil, []memoryStep{
			{0, "begin", "", nil},
			{0, "commit", "", nil},
			{0, "set", "a", receipttest.ErrTxEnded},
			{0, "delete", "a", receipttest.ErrTxEnded},
			{0, "get", "a", receipttest.ErrTxEnded},
			{0, "keys", "", receipttest.ErrTxEnded},
			{0, "commit", "", receipttest.ErrTxEnded},
		}, map[string]int{}},
		{"a rolled-back transaction refuses everything", nil, []memoryStep{
			{0, "begin", "", nil},
			{0, "set", "a", nil},
			{0, "rollback", "", nil},
			{0, "set", "a", receipttest.ErrTxEnded},
			{0, "get", "a", receipttest.ErrTxEnded},
			{0, "commit", "", receipttest.ErrTxEnded},
		}, map[string]int{}},
		{"a transaction that failed to commit refuses everything", map[string]int{"a": 1}, []memoryStep{
			{0, "begin", "", nil},
			{0, "get", "a", 1},
			{1, "begin", "", nil},
			{1, "delete", "a", nil},
			{1, "commit", "", nil},
			{0, "commit", "", receipttest.ErrSerialization},
			{0, "set", "a", receipttest.ErrTxEnded},
		}, map[string]int{}},
	} {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			memory := &receipttest.Memory[int]{}
			fill(t, memory, script.committed)
			var open [2]memoryTx
			for i, step := range script.steps {
				if step.do == "begin" {
					open[step.tx] = memory.Begin()
					continue
				}
				got := play(memory, open[step.tx], step)
				if err, isError := got.(error); isError {
					want, _ := step.want.(error)
					if want == nil || !errors.Is(err, want) {
						t.Errorf("step %d, %s %s: %v; want %v", i, step.do, step.key, err, step.want)
					}
					continue
				}
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("step %d, %s %s (-want +got):\n%s", i, step.do, step.key, diff)
				}
			}
			if diff := cmp.Diff(script.want, memory.All()); diff != "" {
				t.Errorf("committed (-want +got):\n%s", diff)
			}
		})
	}
}

func fill(t *testing.T, memory *receipttest.Memory[int], values map[string]int) {
	t.Helper()
	tx := memory.Begin()
	for key, value := range values {
		if err := tx.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := memory.Commit(tx); err != nil {
		t.Fatal(err)
	}
}

// play returns what the step gives: a value, nil, or an error.
func play(memory *receipttest.Memory[int], tx memoryTx, step memoryStep) any {
	switch step.do {
	case "set":
		return orNil(tx.Set(step.key, 10))
	case "delete":
		return orNil(tx.Delete(step.key))
	case "get":
		value, found, err := tx.Get(step.key)
		if err != nil || !found {
			return orNil(err)
		}
		return value
	case "keys":
		keys, err := tx.Keys()
		if err != nil {
			return err
		}
		return keys
	case "rollback":
		memory.Rollback(tx)
		return nil
	default:
		return orNil(memory.Commit(tx))
	}
}

// orNil keeps a nil error from becoming something that is not nil.
func orNil(err error) any {
	if err == nil {
		return nil
	}
	return err
}

func TestMemoryGet(t *testing.T) {
	t.Parallel()
	memory := &receipttest.Memory[int]{}
	fill(t, memory, map[string]int{"a": 1})
	if value, found := memory.Get("a"); value != 1 || !found {
		t.Errorf("Get = %d, %t; want 1, true", value, found)
	}
	if value, found := memory.Get("b"); value != 0 || found {
		t.Errorf("Get of no entry = %d, %t; want 0, false", value, found)
	}
}
