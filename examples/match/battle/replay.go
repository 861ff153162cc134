package battle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/settleonce/settleonce/examples/match/vote"
)

// shards is the number of directories over which replays are spread.
const shards = 16

// ReplayPath returns where the replay of a room lies under the directory of
// replays. Rooms are spread by their number.
func ReplayPath(number int, roomID string) string {
	return filepath.Join(fmt.Sprintf("%02d", number%shards), roomID+".json")
}

// writeReplay writes the replay file of a room and returns its path, relative
// to directory. A replay is not worth a result: where it cannot be written, the
// path is empty, and the match goes on its way without.
func writeReplay(directory string, number int, roomID string, decision vote.Decision) (path string, err error) {
	text, err := json.Marshal(struct {
		RoomID   string        `json:"room_id"`
		Decision vote.Decision `json:"decision"`
	}{roomID, decision})
	if err != nil {
		return "", fmt.Errorf("battle: replay: %w", err)
	}
	path = ReplayPath(number, roomID)
	full := filepath.Join(directory, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return "", fmt.Errorf("battle: replay: %w", err)
	}
	file, err := os.Create(full)
	if err != nil {
		return "", fmt.Errorf("battle: replay: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", fmt.Errorf("battle: replay: %w", err)
	}
	return path, nil
}
