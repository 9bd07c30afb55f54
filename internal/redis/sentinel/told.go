package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Told is what a sentinel tells those who subscribe to it, and writes into its log.
type Told struct {
	Word Word
	// IP and Port are of whom it is about, empty where they are not told: of +switch-master that is the new primary. ID is that of a
	// sentinel which gets a vote.
	IP, Port, ID string
	// Epoch is that of the sentinel; 0: none is told.
	Epoch uint64
}

// ParseTold reads what a sentinel tells: "<kind> <name> <address> <port> @ ..." where it is about a server or a sentinel.
func ParseTold(word, text string) Told {
	t, words := Told{Word: word}, strings.Fields(text)
	epoch := func(i int) { t.Epoch, _ = strconv.ParseUint(words[i], 10, 64) }
	switch {
	case word == NewEpoch && len(words) == 1:
		epoch(0)
	case word == VoteForLeader && len(words) == 2:
		t.ID = words[0]
		epoch(1)
	case word == SwitchMaster && len(words) == 5:
		t.IP, t.Port = words[3], words[4]
	case len(words) >= 4 && slices.Contains([]string{"master", "slave", "sentinel"}, words[0]):
		t.IP, t.Port = words[2], words[3]
	}
	return t
}

// Pushed reads what comes over a subscription; false: it is no event.
func Pushed(answer any) (t Told, is bool) {
	message, _ := answer.([]any)
	if len(message) != 3 || message[0] != "message" {
		return t, false
	}
	word, _ := message[1].(string)
	text, _ := message[2].(string)
	return ParseTold(word, text), true
}

// Field is one of an answer of a sentinel that has names and values in turns.
func Field(answer []any, name string) string {
	for i := 0; i+1 < len(answer); i += 2 {
		if answer[i] == name {
			return fmt.Sprint(answer[i+1])
		}
	}
	return ""
}

// OfTable reports that it is about the sentinel's table of a set in which all are known before a run.
func (t Told) OfTable() bool { return t.Word == "+slave" || t.Word == "+sentinel" }

// Logged reads a line of a sentinel's log: "1234:X 01 Jan 2026 00:00:00.000 # +sdown master primary 127.0.1.1 6379". false: it tells of
// no event.
func Logged(line string) (t Told, is bool) {
	for _, level := range []string{" # ", " * ", " - "} {
		if _, said, found := strings.Cut(line, level); found {
			word, text, _ := strings.Cut(strings.TrimSpace(said), " ")
			if len(word) > 1 && (word[0] == '+' || word[0] == '-') && word[1] >= 'a' && word[1] <= 'z' {
				return ParseTold(word, text), true
			}
			return t, false
		}
	}
	return t, false
}
