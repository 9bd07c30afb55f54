package etcdlog

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// prefix begins each line of the log that belongs to the history.
const prefix = "INFO  jepsen.util - "

// Recognize reports whether a file that begins so is such a log.
func Recognize(start []byte) bool { return strings.HasPrefix(string(start), prefix) }

// Read reads a log and hands each event, with the number of its line, to each.
// Lines of other programs are passed over. A failed cas found another value than
// it wanted; a failed read timed out. Any fault is a *history.LineError.
func Read(r io.Reader, maxEvents int, each func(line int, e *history.Event) error) error {
	if maxEvents <= 0 {
		maxEvents = history.DefaultMaxEvents
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, history.MaxLine)
	n, line := 0, 0
	for sc.Scan() {
		line++
		rest, ours := strings.CutPrefix(sc.Text(), prefix)
		if !ours {
			continue
		}
		if n == maxEvents {
			return &history.LineError{Line: line, Err: fmt.Errorf("more than %d events", maxEvents)}
		}
		e, err := event(rest)
		if err != nil {
			return &history.LineError{Line: line, Err: err}
		}
		e.Index = int32(n)
		if err := each(line, &e); err != nil {
			return &history.LineError{Line: line, Err: err}
		}
		n++
	}
	if err := sc.Err(); err != nil {
		return &history.LineError{Line: line + 1, Err: err}
	}
	return nil
}

func event(text string) (e history.Event, err error) {
	parts := strings.Fields(text)
	if len(parts) < 4 {
		return e, fmt.Errorf("%d fields: want process, type, f and value", len(parts))
	}
	e.Process = parts[0]
	if _, err := strconv.Atoi(e.Process); err != nil {
		return e, fmt.Errorf("process %q: want a number", e.Process)
	}
	if err := e.Type.UnmarshalText([]byte(strings.TrimPrefix(parts[1], ":"))); err != nil {
		return e, err
	}
	e.F = history.F(strings.TrimPrefix(parts[2], ":"))
	value := strings.Join(parts[3:], " ")
	switch {
	case value == "nil":
	case strings.HasPrefix(value, ":"):
		e.Error = history.SomeText(value[1:])
	case strings.HasPrefix(value, "["):
		var from, to int64
		if _, err := fmt.Sscanf(value, "[%d %d]", &from, &to); err != nil {
			return e, fmt.Errorf("value %q: want [from to]", value)
		}
		e.Value.Extra, e.Value.Number = &history.Extra{Expected: history.Some(from)}, history.Some(to)
	default:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return e, fmt.Errorf("value %q: want a number", value)
		}
		e.Value.Number = history.Some(n)
	}
	return e, nil
}
