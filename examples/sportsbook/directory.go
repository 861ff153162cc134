package main

import "path/filepath"

// directory is where a run keeps its files.
type directory string

// notes is the journal of what clients sent and were told.
func (d directory) notes() string        { return filepath.Join(string(d), "clients.jsonl") }
func (d directory) ledger() string       { return filepath.Join(string(d), "faults.jsonl") }
func (d directory) log(of string) string { return filepath.Join(string(d), of+".log") }
