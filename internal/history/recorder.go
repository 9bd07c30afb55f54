package history

import (
	"io"
	"sync"
	"time"
)

// Recorder takes the events of a run as they happen. It numbers and stamps
// them under one lock, so that order, index and time agree, and writes each to
// its file at once, so that a killed run leaves a readable history, or, after WriteLater, many at a time.
// It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	now    func() time.Duration
	h      History
	w      *Writer
	err    error
	sealed bool
	// later takes what is written beside the run; nil: each event is written at once. handed is how many events it got.
	later   chan []Event
	handed  int
	written chan struct{}
	// done says what share of the run is over; nil: nobody knows.
	done func() float64
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

// WriteLater makes the recorder write many events at a time, beside the run. Of a killed run some are missing then. It is
// called once, before the first event. What writes ends when the recorder is sealed.
func (r *Recorder) WriteLater() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil {
		return
	}
	r.later, r.written = make(chan []Event, 4), make(chan struct{})
	go func() {
		defer close(r.written)
		for events := range r.later {
			for i := range events {
				r.write(&events[i])
			}
		}
	}()
}

func (r *Recorder) write(e *Event) {
	if r.err == nil {
		r.err = r.w.WriteEvent(e)
	}
}

// hand gives those events to be written that have not been.
func (r *Recorder) hand() {
	r.later <- r.h.Events[r.handed:]
	r.handed = len(r.h.Events)
}

// Foresee makes the recorder ask what share of the run is over, from 0 to 1, when many events need more memory, so that it
// takes as much as the run will need. Otherwise it would hold, and copy, the events of a long run twice, again and again.
func (r *Recorder) Foresee(done func() float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = done
}

const (
	// manyEvents is how many there are before it is asked how long the run will be.
	manyEvents = 1 << 16
	// mostForeseen bounds for how many events memory is taken early. Of a longer run it grows four times at a time.
	mostForeseen = 1 << 22
	// margin is by how much the run may have more events than its beginning promises.
	margin = 1.15
	// batch is how many events are written at a time beside the run.
	batch = 1 << 12
)

// grow makes room for more events than there are: for those of the whole run, and some more, where that can be told. What is
// not written to stays with the operating system.
func (r *Recorder) grow() {
	n := len(r.h.Events)
	if r.done == nil || n < manyEvents {
		return
	}
	share := r.done()
	if share <= 0 {
		return
	}
	whole := min(float64(n)/share*margin, float64(max(4*n, mostForeseen)))
	events := make([]Event, n, max(int(whole), n+n/4))
	copy(events, r.h.Events)
	r.h.Events = events
}

// Record stamps and stores an event; Index and Time of e are overwritten. It
// returns the index. After Seal it records nothing and returns -1.
func (r *Recorder) Record(e Event) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return -1
	}
	if len(r.h.Events) == cap(r.h.Events) {
		r.grow()
	}
	at := len(r.h.Events)
	e.Index, e.Time = int32(at), r.now()
	r.h.Events = append(r.h.Events, e)
	switch {
	case r.w == nil:
	case r.later == nil:
		r.write(&r.h.Events[at])
	case len(r.h.Events)-r.handed >= batch:
		r.hand()
	}
	return at
}

// Seal ends the recording and returns the history with the first error of
// writing it, if any.
func (r *Recorder) Seal() (*History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sealed && r.later != nil {
		r.hand()
		close(r.later)
		<-r.written
	}
	if !r.sealed {
		r.h.tellApart()
	}
	r.sealed = true
	r.now, r.done = nil, nil // what they know of need not live as long as the history
	return &r.h, r.err
}
