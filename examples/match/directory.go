package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/outbox/event"

	"github.com/settleonce/settleonce/examples/match/battle"
)

// blockedShard is the directory of replays that is not to be had.
const blockedShard = 1

// directory is where a run keeps its files.
type directory string

func (d directory) outbox() string       { return filepath.Join(string(d), "outbox") }
func (d directory) journal() string      { return filepath.Join(string(d), "journal.jsonl") }
func (d directory) replays() string      { return filepath.Join(string(d), "replays") }
func (d directory) ledger() string       { return filepath.Join(string(d), "faults.jsonl") }
func (d directory) log(of string) string { return filepath.Join(string(d), of+".log") }
func (d directory) deliveries(lobby string) string {
	return filepath.Join(string(d), lobby+".deliveries.jsonl")
}

// poison are files with the names of records, and what is in them.
func poison() map[string]string {
	return map[string]string{
		"arena.match.settle.poison-1-20260101000000.000000000.json": "{\"specversion\":\"1.0\",\"id\":\"torn in the mid",
		"arena.match.settle.poison-2-20260101000002.000000000.json": strings.Repeat("\x00", 512),
		"arena.match.settle.poison-3-20260101000003.000000000.json": "",
	}
}

// plantPoison puts files into the outbox that are no records.
func (d directory) plantPoison() error {
	if err := os.MkdirAll(d.outbox(), 0o700); err != nil {
		return err
	}
	for name, content := range poison() {
		if err := os.WriteFile(filepath.Join(d.outbox(), name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// blockReplays puts a file where a directory of replays ought to be. Nobody can
// write into it then, not even root.
func (d directory) blockReplays() error {
	if err := os.MkdirAll(d.replays(), 0o700); err != nil {
		return err
	}
	shard := filepath.Dir(battle.ReplayPath(blockedShard, "room"))
	return os.WriteFile(filepath.Join(d.replays(), shard), []byte("no directory\n"), 0o600)
}

// owed reads the events of the records that are in the outbox, from beside the
// process that has it open.
func (d directory) owed() ([]event.Event, error) {
	files, err := filepath.Glob(filepath.Join(d.outbox(), "*.json"))
	if err != nil {
		return nil, err
	}
	var owed []event.Event
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // delivered meanwhile
		}
		if err != nil {
			return nil, err
		}
		var e event.Event
		if err := json.Unmarshal(text, &e); err != nil {
			continue // no record: the outbox will find out
		}
		owed = append(owed, e)
	}
	return owed, nil
}

// left counts the files in the outbox that it has not judged yet.
func (d directory) left() (int, error) {
	files, err := filepath.Glob(filepath.Join(d.outbox(), "*.json"))
	return len(files), err
}

// handedOver returns the entries of the journal that say that a result is in
// the outbox, one a match.
func (d directory) handedOver() ([]battle.Entry, error) {
	entries, err := battle.ReadJournal(d.journal())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e battle.Entry) bool { return e.Kind != battle.HandedOver }), nil
}
