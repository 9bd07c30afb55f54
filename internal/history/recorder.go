package history

import (
	"io"
	"sync"
	"time"
)

// Recorder takes the events of a run as they happen. It numbers and stamps
// them under one lock, so that order, index and time agree, and writes each to
// its file at once, so that a killed run leaves a readable history.
// It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	now    func() time.Duration
	h      History
	w      *Writer
	err    error
	sealed bool
}

// NewRecorder starts a history. Events are stamped with now, which must never
// go back. Where w is not nil, the header and then every event are written to
// it as they come.
func NewRecorder(header Header, now func() time.Duration, w io.Writer) *Recorder {
	header.Format, header.Version = FormatName, FormatVersion
	r := &Recorder{now: now, h: History{Header: header}}
	if w != nil {
		r.w = NewWriter(w)
		r.err = r.w.WriteHeader(header)
	}
	return r
}

// Reuse makes the recorder store its events where those of another history
// were, which must not be read any more.
func (r *Recorder) Reuse(events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Events = events[:0]
}

// Record stamps and stores an event; Index and Time of e are overwritten. It
// returns the index. After Seal it records nothing and returns -1.
func (r *Recorder) Record(e Event) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return -1
	}
	e.Index, e.Time = len(r.h.Events), r.now()
	r.h.Events = append(r.h.Events, e)
	if r.w != nil && r.err == nil {
		r.err = r.w.WriteEvent(&r.h.Events[e.Index])
	}
	return e.Index
}

// Seal ends the recording and returns the history with the first error of
// writing it, if any.
func (r *Recorder) Seal() (*History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = true
	return &r.h, r.err
}
