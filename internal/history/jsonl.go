package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Limits on files that somebody else may have written.
const (
	// MaxLine is the longest line of a history file, in bytes.
	MaxLine = 1 << 20
	// DefaultMaxEvents bounds a history that is read into memory.
	DefaultMaxEvents = 20_000_000
)

// Writer writes a history as JSON Lines: the header, then an event a line.
type Writer struct {
	w     io.Writer
	buf   bytes.Buffer
	enc   *json.Encoder
	quick line
}

// NewWriter returns a Writer that issues one Write for each line.
func NewWriter(w io.Writer) *Writer {
	wr := &Writer{w: w}
	wr.enc = json.NewEncoder(&wr.buf)
	wr.enc.SetEscapeHTML(false)
	return wr
}

// WriteHeader writes the first line.
func (w *Writer) WriteHeader(h Header) error { return w.line(h) }

// WriteEvent writes one event.
func (w *Writer) WriteEvent(e *Event) error {
	if !w.quick.event(e) {
		return w.line(e)
	}
	_, err := w.w.Write(w.quick.b)
	return err
}

func (w *Writer) line(v any) error {
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil {
		return fmt.Errorf("failed to encode a history line: %w", err)
	}
	_, err := w.w.Write(w.buf.Bytes())
	return err
}

// Encode writes a whole history, buffered.
func Encode(w io.Writer, h *History) error {
	b := bufio.NewWriterSize(w, 1<<16)
	wr := NewWriter(b)
	if err := wr.WriteHeader(h.Header); err != nil {
		return err
	}
	for i := range h.Events {
		if err := wr.WriteEvent(&h.Events[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// LineError is a fault of a history file at one line, counted from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Decode reads a history that Writer wrote. A last line without its line end is
// what a killed run leaves: it is dropped and History.Truncated is set. Any
// other fault is a *LineError. More than maxEvents events are refused; 0 means
// DefaultMaxEvents.
func Decode(r io.Reader, maxEvents int) (*History, error) {
	h := &History{}
	var err error
	h.Header, h.Truncated, err = Scan(r, maxEvents, func(_ int, e *Event) error {
		h.Events = append(h.Events, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.tellApart()
	return h, nil
}

// Scan reads a history like Decode and hands each event, with the number of its
// line, to each, which may keep what the event refers to but not the event itself.
// An error of each ends the scan and is returned as a *LineError.
func Scan(r io.Reader, maxEvents int, each func(line int, e *Event) error) (header Header, truncated bool, err error) {
	if maxEvents <= 0 {
		maxEvents = DefaultMaxEvents
	}
	br := bufio.NewReaderSize(r, 1<<16)
	var q quick
	var e Event
	last := time.Duration(0)
	for line := 1; ; line++ {
		text, complete, err := ReadLine(br)
		if err != nil {
			return header, false, &LineError{line, err}
		}
		if !complete {
			if line == 1 {
				return header, false, &LineError{1, errors.New("the file has no complete header line")}
			}
			return header, len(text) > 0, nil
		}
		if line == 1 {
			if err := readHeader(text, &header); err != nil {
				return header, false, &LineError{line, err}
			}
			continue
		}
		if line-2 == maxEvents {
			return header, false, &LineError{line, fmt.Errorf("more than %d events", maxEvents)}
		}
		if !q.event(text, &e) {
			e = Event{}
			if err := json.Unmarshal(text, &e); err != nil {
				return header, false, &LineError{line, fmt.Errorf("not an event: %w", err)}
			}
		}
		if err := checkEvent(&e, line-2, last); err != nil {
			return header, false, &LineError{line, err}
		}
		if err := each(line, &e); err != nil {
			return header, false, &LineError{line, err}
		}
		last = e.Time
	}
}

// ReadLine returns the next line without its end, and whether it had one; the
// line is good until the next call. At the end of the file it returns what is left, incomplete.
func ReadLine(br *bufio.Reader) (text []byte, complete bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if err == nil && text == nil {
			return part[:len(part)-1], true, nil
		}
		text = append(text, part...)
		switch {
		case err == nil:
			return text[:len(text)-1], true, nil
		case errors.Is(err, io.EOF):
			return text, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(text) > MaxLine:
			return nil, false, fmt.Errorf("longer than %d bytes", MaxLine)
		}
	}
}

func readHeader(text []byte, h *Header) error {
	if err := json.Unmarshal(text, h); err != nil {
		return fmt.Errorf("not a history header: %w", err)
	}
	if h.Format != FormatName {
		return fmt.Errorf("format %q: want %q", h.Format, FormatName)
	}
	if h.Version != FormatVersion {
		return fmt.Errorf("format version %d: this program reads version %d", h.Version, FormatVersion)
	}
	if h.Permits < 0 || h.Permits > MostPermits {
		return fmt.Errorf("permits %d: want 1 to %d, or none", h.Permits, MostPermits)
	}
	if h.Permits > 0 && h.Modes {
		return errors.New("a lock has permits, or readers and writers (modes), not both")
	}
	if h.MostOvertakes < 0 {
		return fmt.Errorf("most_overtakes %d: want 1 or more, or none", h.MostOvertakes)
	}
	return h.checkClusters()
}

// checkClusters demands that each node is of one cluster, where there are several.
func (h *Header) checkClusters() error {
	if len(h.Clusters) > 0 && h.Quorum > 0 {
		return errors.New("a header says its quorum or its clusters, not both")
	}
	of := make(map[string]string)
	names := make(map[string]bool)
	for _, c := range h.Clusters {
		if c.Name == "" || names[c.Name] {
			return fmt.Errorf("a cluster called %q: each needs a name of its own", c.Name)
		}
		names[c.Name] = true
		for _, n := range c.Nodes {
			if of[n] != "" || !slices.Contains(h.Nodes, n) {
				return fmt.Errorf("%q of cluster %s is of another one, too, or none of the nodes", n, c.Name)
			}
			of[n] = c.Name
		}
	}
	if len(h.Clusters) > 0 && len(of) < len(h.Nodes) {
		return errors.New("a node is of no cluster")
	}
	return nil
}

func checkEvent(e *Event, index int, last time.Duration) error {
	switch {
	case int(e.Index) != index:
		return fmt.Errorf("index %d: want %d", e.Index, index)
	case index > 0 && e.Time < last:
		return fmt.Errorf("time %d goes back: the event before has %d", e.Time, last)
	case e.Time < 0:
		return fmt.Errorf("time %d is negative", e.Time)
	case e.Process == "":
		return errors.New("no process")
	case e.Type == 0:
		return errors.New("no type")
	case e.F == "":
		return errors.New("no f")
	}
	return nil
}
