package locklog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Version is that of the format.
const Version = 1

// Limits on lines that somebody else may have written.
const (
	// MaxLine is the longest line, in bytes, MaxText the longest text in it.
	MaxLine = 64 << 10
	MaxText = 4096
	// MaxTime bounds each time and duration, in µs: what JSON's readers keep exactly.
	MaxTime = 1<<53 - 1
)

// Event is what a line tells.
type Event string

// The events.
const (
	Asked          Event = "asked"
	Granted        Event = "granted"
	NotGranted     Event = "not-granted"
	Renewed        Event = "renewed"
	Lost           Event = "lost"
	Releasing      Event = "releasing"
	Released       Event = "released"
	ReleasedInVain Event = "released-in-vain"
	WriteDone      Event = "write-done"
	WriteRefused   Event = "write-refused"
)

// beginning is how each line begins.
const beginning = `{"locklog":`

// Events lists them.
func Events() []Event {
	return []Event{Asked, Granted, NotGranted, Renewed, Lost, Releasing, Released, ReleasedInVain, WriteDone, WriteRefused}
}

// Line is one line of a lock log. Times and durations are in µs.
type Line struct {
	LockLog int `json:"locklog"`
	// Host and Process say who writes: no two processes have both in common.
	Host    string `json:"host"`
	Process string `json:"process"`
	// Line numbers the lines of the process, from 0.
	Line int64 `json:"line"`
	// Wall is the time on the host's clock, since 1970; Mono that on a clock of the process that is never set.
	Wall  int64 `json:"wall"`
	Mono  int64 `json:"mono"`
	Event Event `json:"event"`
	// Hold numbers the holds of the process: what is asked for, granted and released together.
	Hold int64  `json:"hold"`
	Lock string `json:"lock"`

	Owner    string `json:"owner,omitempty"`
	TTL      *int64 `json:"ttl,omitempty"`
	Validity *int64 `json:"validity,omitempty"`
	Renews   bool   `json:"renews,omitempty"`
	Token    *int64 `json:"token,omitempty"`
	Took     *int64 `json:"took,omitempty"`
}

// Recognize reports that a file which begins so is a lock log.
func Recognize(start []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte(beginning))
}

// errTorn is that of a line of which only the beginning could be written: the disk was full. Its number is missing.
var errTorn = errors.New("the line is not whole")

func parse(text []byte) (l Line, err error) {
	if len(text) > MaxLine {
		return l, fmt.Errorf("longer than %d bytes", MaxLine)
	}
	if !utf8.Valid(text) {
		return l, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasPrefix(text, []byte(beginning)) {
		return l, errTorn
	} else if err != nil {
		return l, fmt.Errorf("not a line of a lock log: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("more than one value on the line: each line is written with one write")
	}
	return l, l.check()
}

// fields are those of one event alone; what no event names each may have.
var fields = map[Event][]string{
	Granted: {"owner", "ttl", "validity", "renews", "token"}, Renewed: {"ttl", "validity", "took"},
	WriteDone: {"token", "took"}, WriteRefused: {"token", "took"},
}

func (l *Line) check() error {
	if l.LockLog != Version {
		return fmt.Errorf("locklog %d: this program reads version %d", l.LockLog, Version)
	}
	if !slices.Contains(Events(), l.Event) {
		return fmt.Errorf("event %q: want one of %v", l.Event, Events())
	}
	for _, t := range []struct{ name, text string }{{"host", l.Host}, {"process", l.Process}, {"lock", l.Lock}, {"owner", l.Owner}} {
		if t.text == "" && t.name != "owner" {
			return fmt.Errorf("no %s", t.name)
		}
		if len(t.text) > MaxText {
			return fmt.Errorf("the %s has more than %d bytes", t.name, MaxText)
		}
		if strings.ContainsRune(t.text, utf8.RuneError) { // two different texts may look alike
			return fmt.Errorf("the %s %q is not text", t.name, t.text)
		}
	}
	for _, t := range []struct {
		name string
		n    *int64
	}{{"line", &l.Line}, {"wall", &l.Wall}, {"mono", &l.Mono}, {"hold", &l.Hold}, {"ttl", l.TTL}, {"validity", l.Validity}, {"took", l.Took}} {
		if t.n != nil && (*t.n < 0 || *t.n > MaxTime) {
			return fmt.Errorf("%s %d: want 0 to %d", t.name, *t.n, int64(MaxTime))
		}
	}
	return l.checkFields()
}

// checkFields demands that an event has no field of another one.
func (l *Line) checkFields() error {
	for _, t := range []struct {
		name string
		has  bool
	}{{"owner", l.Owner != ""}, {"ttl", l.TTL != nil}, {"validity", l.Validity != nil}, {"renews", l.Renews}, {"token", l.Token != nil},
		{"took", l.Took != nil}} {
		if t.has && !slices.Contains(fields[l.Event], t.name) {
			return fmt.Errorf("%s has no field %q", l.Event, t.name)
		}
	}
	return nil
}
