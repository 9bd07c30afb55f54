package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// tailSize is how much of a history's end is read to see how far it is: enough
// for the last events, however long the run.
const tailSize = 64 << 10

// progress is how far a variant of a run in hand has come.
type progress struct {
	Variant string
	Events  int
	Time    time.Duration
	Phase   string
	Last    []history.Event
	Size    int64
	Quiet   time.Duration
}

// progress looks at the end of every variant's history.
func (h *Handler) progress(id runID) []progress {
	var list []progress
	for _, v := range h.histories(id) {
		p := progress{Variant: v.variant, Size: v.size, Quiet: h.o.Now().Sub(v.modified).Round(time.Second)}
		events := h.tail(path.Join(id.dir(), v.variant, runs.History))
		for _, e := range events {
			if e.F == history.Phase {
				p.Phase = e.Value.Detail()
			}
		}
		if n := len(events); n > 0 {
			p.Events, p.Time = int(events[n-1].Index)+1, events[n-1].Time
			p.Last = events[max(0, n-8):]
		}
		list = append(list, p)
	}
	return list
}

// tail reads the whole events at the end of a history file.
func (h *Handler) tail(name string) []history.Event {
	f, info, err := h.open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	from := max(0, info.Size()-tailSize)
	data := make([]byte, info.Size()-from)
	n, err := f.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	lines := bytes.Split(data[:n], []byte("\n"))
	// The first line is the header or the rest of an event, the last what is
	// being written.
	var events []history.Event
	for i := 1; i < len(lines)-1; i++ {
		var e history.Event
		if json.Unmarshal(lines[i], &e) == nil && e.Process != "" {
			events = append(events, e)
		}
	}
	return events
}
