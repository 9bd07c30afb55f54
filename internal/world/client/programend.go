package client

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// mostPrinted is how many of the last lines of a lock program are told.
const mostPrinted = 16

// ProgramEnded is the event that the lock program of a client has ended by itself: how, and what it had printed last.
func ProgramEnded(client, how string, printed []string) history.Event {
	var lines []string
	for _, l := range printed[max(0, len(printed)-mostPrinted):] {
		lines = append(lines, history.OwnerText(strings.ReplaceAll(l, "\t", "    ")))
	}
	return history.Event{Process: client, Type: history.Info, F: history.ProgramEnded,
		Value: history.Value{Rare: &history.Rare{Detail: history.OwnerText(how)}}, Error: history.SomeText(strings.Join(lines, "\n"))}
}
