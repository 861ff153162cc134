package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/audit"
	"github.com/settleonce/settleonce/examples/match/battle"
	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
)

// collect stops the battle node and gathers the facts. The lobbies go on until
// their books have been read, since one in memory takes them along.
func (d *drill) collect(ctx context.Context) (audit.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.battle.Stop(ctx); err != nil {
		return audit.Facts{}, err
	}
	d.endCuts(ctx)
	var facts audit.Facts
	var err error
	if facts.Tables, err = d.books.tables(ctx); err != nil {
		return audit.Facts{}, err
	}
	if err := d.readJournal(&facts); err != nil {
		return audit.Facts{}, err
	}
	if err := d.readOutbox(ctx, &facts); err != nil {
		return audit.Facts{}, err
	}
	if err := d.readReceipts(ctx, &facts); err != nil {
		return audit.Facts{}, err
	}
	if err := d.readFiles(&facts); err != nil {
		return audit.Facts{}, err
	}
	return facts, d.observeRemains(facts)
}

func (d *drill) readJournal(facts *audit.Facts) error {
	entries, err := battle.ReadJournal(d.directory.journal())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch entry.Kind {
		case battle.Finished:
			finished, err := result.FromEvent(*entry.Event)
			if err != nil {
				return fmt.Errorf("journal: match %d: %w", entry.Number, err)
			}
			facts.Finished = append(facts.Finished, finished)
		case battle.Closed:
			facts.Dwelt = append(facts.Dwelt, entry.Dwelt)
		}
	}
	return nil
}

// readOutbox opens the outbox, as a node that starts would.
func (d *drill) readOutbox(ctx context.Context, facts *audit.Facts) error {
	opened, err := outbox.OpenDir(dirConfig(d.directory.outbox(), d.logger))
	if err != nil {
		return err
	}
	letters, err := deadLetters(ctx, opened)
	if err := errors.Join(err, opened.Close(ctx)); err != nil {
		return err
	}
	for _, letter := range letters {
		facts.SetAside = append(facts.SetAside, audit.SetAside{File: letter.ID, Reason: letter.Reason, Event: letter.Event})
	}
	owed, err := d.directory.owed()
	for _, e := range owed {
		facts.Owed = append(facts.Owed, e.Key.ID)
	}
	return err
}

// deadLetters lists all of them, page by page.
func deadLetters(ctx context.Context, source outbox.DeadLetters) ([]outbox.DeadLetter, error) {
	const pageSize = 100
	var letters []outbox.DeadLetter
	for after := ""; ; after = letters[len(letters)-1].ID {
		page, err := source.DeadLetters(ctx, after, pageSize)
		letters = append(letters, page...)
		if err != nil || len(page) < pageSize {
			return letters, err
		}
	}
}

// readReceipts asks for the receipt of every room that anything names.
func (d *drill) readReceipts(ctx context.Context, facts *audit.Facts) error {
	rooms := slices.Clone(facts.Owed)
	for _, finished := range facts.Finished {
		rooms = append(rooms, finished.RoomID)
	}
	for _, file := range facts.SetAside {
		if file.Event != nil {
			rooms = append(rooms, file.Event.Key.ID)
		}
	}
	for _, match := range facts.Tables.Matches {
		rooms = append(rooms, match.RoomID)
	}
	slices.Sort(rooms)
	for _, room := range slices.Compact(rooms) {
		stored, found, err := d.books.Receipt(ctx, result.Key(room))
		if err != nil {
			return err
		}
		if found {
			facts.Receipts = append(facts.Receipts, stored)
		}
	}
	return nil
}

func (d *drill) readFiles(facts *audit.Facts) error {
	for _, r := range d.lobbies {
		deliveries, err := readDeliveries(d.directory.deliveries(r.Name()))
		if err != nil {
			return err
		}
		facts.Deliveries = append(facts.Deliveries, deliveries...)
	}
	return filepath.WalkDir(d.directory.replays(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(d.directory.replays(), path)
		facts.ReplayFiles = append(facts.ReplayFiles, relative)
		return err
	})
}

func readDeliveries(path string) ([]lobby.Delivery, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var deliveries []lobby.Delivery
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var delivery lobby.Delivery
		if err := json.Unmarshal(lines.Bytes(), &delivery); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		deliveries = append(deliveries, delivery)
	}
	return deliveries, lines.Err()
}

// endCuts waits for what the cuts are still about to tell.
func (d *drill) endCuts(ctx context.Context) {
	if memory, inMemory := d.books.(memoryOfLobby); inMemory {
		read, err := memory.read(ctx, "none")
		for i := range read.Cuts {
			err = errors.Join(err, d.ledger.Observe(faults.CommitCut, "the fake lost the answer to a commit, no. %d", i+1))
		}
		if err != nil {
			d.logger.Error("drill: cuts are not observed", "error", err)
		}
	}
}

// observeRemains observes the faults whose effect is in the files and tables at
// the end.
func (d *drill) observeRemains(facts audit.Facts) error {
	kinds, finished := make(map[string]receipt.Kind), make(map[string]bool)
	for _, stored := range facts.Receipts {
		kinds[stored.Key.ID] = stored.Requested
	}
	for _, match := range facts.Finished {
		finished[match.RoomID] = true
	}
	var err error
	observe := func(fault faults.Name, evidence string, args ...any) {
		if d.options.Arms(fault) {
			err = errors.Join(err, d.ledger.Observe(fault, evidence, args...))
		}
	}
	for _, file := range facts.SetAside {
		planted := strings.TrimSuffix(file.File, ".bad")
		switch {
		case file.Event == nil:
			if _, found := poison()[planted]; found {
				observe(faults.PoisonFile, "%s is set aside: %s", file.File, file.Reason)
			}
		case kinds[file.Event.Key.ID] == settle.Settled && file.Event.Type == result.TypeAborted:
			observe(faults.LateAbort, "%s is set aside, and the receipt of its room stands: %s", file.File, file.Reason)
		case kinds[file.Event.Key.ID] == "" && !finished[file.Event.Key.ID]:
			observe(faults.UnknownRoom, "%s is set aside, and its room has no receipt: %s", file.File, file.Reason)
		}
	}
	blocked := filepath.Dir(battle.ReplayPath(blockedShard, "room"))
	for _, replay := range facts.Tables.Replays {
		if replay.Path == "" {
			observe(faults.ReplayUnwritable, "match %s is settled without a replay; directory %s cannot be written", replay.RoomID, blocked)
		}
	}
	return err
}

// post sends body as JSON and reads the answer into answer; either may be nil.
// The status is valid where there was an answer, also beside an error.
func post(ctx context.Context, client *http.Client, url string, body, answer any) (status int, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return response.StatusCode, err
	}
	if response.StatusCode != http.StatusOK {
		return response.StatusCode, fmt.Errorf("POST %s: %s: %s", url, response.Status, bytes.TrimSpace(content))
	}
	if answer == nil {
		return response.StatusCode, nil
	}
	return response.StatusCode, json.Unmarshal(content, answer)
}
