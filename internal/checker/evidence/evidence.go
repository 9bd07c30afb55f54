package evidence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/edn"
	"github.com/redlock-sim/redlock-sim/internal/history/etcdlog"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
)

// Format names a file format.
type Format string

// The formats. Auto looks at how the file begins.
const (
	Auto          Format = "auto"
	JSONL         Format = "jsonl"
	EDN           Format = "edn"
	PorcupineEtcd Format = "porcupine-etcd"
	PorcupineKV   Format = "porcupine-kv"
	// LockLog: several files are one history, which package locklog reads.
	LockLog Format = "lock-log"
)

// Formats lists the formats.
func Formats() []Format { return []Format{Auto, JSONL, EDN, PorcupineEtcd, PorcupineKV, LockLog} }

// Options say how to read a history and what it is a history of.
type Options struct {
	// Format is how the file is written; empty: Auto.
	Format Format
	// Model is a name that Models lists.
	Model string
	// Initial is the value at the beginning. Absent: that of the file's header;
	// without one a register starts as nil and everything else at 0.
	Initial history.Int
	// NilRead is what a read of nil saw. Absent: the register is still nil, or
	// has the initial value where that is a number.
	NilRead history.Int
	// Permits are the permits of a semaphore; Reentrancy how often an owner may
	// take a re-entrant lock, 0 for no limit.
	Permits    int
	Reentrancy int
	// Timeout and Memory (bytes) bound the check; 0: checker.DefaultTimeout and
	// checker.DefaultMemory. MaxEvents bounds the file; 0:
	// history.DefaultMaxEvents.
	Timeout   time.Duration
	Memory    int64
	MaxEvents int
}

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return fmt.Sprintf("%s: %s", e.Option, e.Problem) }

// Report is what came of a check.
type Report struct {
	Format  Format          `json:"format"`
	Model   string          `json:"model"`
	Verdict checker.Verdict `json:"verdict"`
	// Why is one line for a person.
	Why    string `json:"why"`
	Method string `json:"method,omitempty"`
	// Operations were judged, Unknown of them with an unknown outcome, on Keys
	// independent things.
	Operations int `json:"operations"`
	Unknown    int `json:"unknown"`
	Keys       int `json:"keys"`
	// Truncated says that the file ended in the middle of a line.
	Truncated bool `json:"truncated,omitempty"`
	// FirstBad is the operation whose completion left no explanation.
	FirstBad *Operation `json:"first_bad,omitempty"`
	// Counterexample are operations that have no explanation, whether or not the
	// others took effect; where Minimal, taking any one away leaves one. They
	// were shrunk From so many.
	Counterexample []Operation `json:"counterexample,omitempty"`
	Minimal        bool        `json:"minimal,omitempty"`
	From           int         `json:"from,omitempty"`
}

// Operation is an operation of the file.
type Operation struct {
	Process string `json:"process"`
	Key     string `json:"key,omitempty"`
	// What is the operation in words: "write 3", "cas 1 to 2", "acquire".
	What string `json:"what"`
	// CallLine and ReturnLine are lines of the file, from 1; ReturnLine is 0
	// where the operation never returned or its outcome was unknown.
	CallLine   int `json:"call_line"`
	ReturnLine int `json:"return_line,omitempty"`
}

// CheckFile checks the history in a file.
func CheckFile(ctx context.Context, path string, o Options) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return Check(ctx, f, o)
}

// Check checks the history that r holds.
func Check(ctx context.Context, r io.Reader, o Options) (*Report, error) {
	b, truncated, err := build(r, o)
	if err != nil {
		return nil, err
	}
	report := b.decide(ctx)
	report.Truncated = truncated
	return report, nil
}

// build reads a history as operations of the model.
func build(r io.Reader, o Options) (b *builder, truncated bool, err error) {
	if o.Timeout <= 0 {
		o.Timeout = checker.DefaultTimeout
	}
	if o.Memory <= 0 {
		o.Memory = checker.DefaultMemory
	}
	m, err := o.model()
	if err != nil {
		return nil, false, err
	}
	br := bufio.NewReaderSize(r, 1<<16)
	if o.Format, err = detect(br, o.Format); err != nil {
		return nil, false, err
	}
	b = newBuilder(m, o)
	header, truncated, err := scan(br, o, b.event)
	if err != nil {
		return nil, false, err
	}
	b.finish(header)
	return b, truncated, nil
}

// FromHistory reads a whole history of any format. Of the formats without a
// header the header is empty.
func FromHistory(r io.Reader, format Format, maxEvents int) (*history.History, Format, error) {
	h, _, format, err := WithLines(r, format, maxEvents)
	return h, format, err
}

// WithLines is FromHistory that also says on which line of the file each event begins.
func WithLines(r io.Reader, format Format, maxEvents int) (h *history.History, lines []int, _ Format, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	if format, err = detect(br, format); err != nil {
		return nil, nil, format, err
	}
	h = &history.History{}
	h.Header, h.Truncated, err = scan(br, Options{Format: format, MaxEvents: maxEvents}, func(line int, e *history.Event) error {
		h.Events, lines = append(h.Events, *e), append(lines, line)
		return nil
	})
	if err != nil {
		return nil, nil, format, err
	}
	return h, lines, format, nil
}

// foreignJSON is how a file in JSON begins. No map of EDN begins so, and of the files
// that begin with an object only those of sim can be read.
var foreignJSON = regexp.MustCompile(`^\s*(\[\s*)?\{\s*"`)

// detect tells a format from how the file begins.
func detect(br *bufio.Reader, f Format) (Format, error) {
	if f != "" && f != Auto && !slices.Contains(Formats(), f) {
		return f, &OptionError{"format", fmt.Sprintf("no format %q", f)}
	}
	start, err := br.Peek(512)
	if f == LockLog || (f == "" || f == Auto) && locklog.Recognize(start) {
		return f, &OptionError{"model", "a lock log is judged by its properties: it has no model, and cannot be converted"}
	}
	if (f == "" || f == Auto || f == EDN) && foreignJSON.Match(start) && (f == EDN || !bytes.Contains(start, []byte(history.FormatName))) {
		return f, &history.LineError{Line: 1, Err: errors.New("JSON is not supported: want a history in EDN (Jepsen's history.edn), " +
			"or a history.jsonl of sim with its header")}
	}
	if f != "" && f != Auto {
		return f, nil
	}
	if err != nil && len(start) == 0 {
		return f, &history.LineError{Line: 1, Err: fmt.Errorf("the file is empty: %w", err)}
	}
	text := strings.TrimLeft(string(start), " \t\r\n")
	switch {
	case etcdlog.Recognize(start):
		return PorcupineEtcd, nil
	case strings.HasPrefix(text, `{"`):
		return JSONL, nil
	case strings.HasPrefix(text, "{:process ") && strings.Contains(strings.SplitN(text, "\n", 2)[0], ", :key \""):
		return PorcupineKV, nil
	case text != "" && strings.ContainsRune("{[(;#", rune(text[0])):
		return EDN, nil
	}
	return f, &history.LineError{Line: 1, Err: fmt.Errorf("not a history in a known format: it begins with %.20q", text)}
}

func scan(r io.Reader, o Options, each func(int, *history.Event) error) (history.Header, bool, error) {
	switch o.Format {
	case JSONL:
		return history.Scan(r, o.MaxEvents, each)
	case PorcupineEtcd:
		return history.Header{}, false, etcdlog.Read(r, o.MaxEvents, each)
	}
	return history.Header{}, false, edn.Read(r, o.MaxEvents, each)
}
