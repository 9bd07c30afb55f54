package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// traceEvent is an event of Chrome's trace format, which Perfetto reads too.
// Times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Category string         `json:"cat,omitempty"`
	Time     float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes the run in Chrome's trace format, for Perfetto
// (ui.perfetto.dev) or chrome://tracing: a process for each variant, and in it
// threads for what each client believed and did, for the resource, for the
// nodes' keys and for the faults. Nothing is left out.
func WriteTrace(w io.Writer, r *Result) error {
	t := &tracer{w: bufio.NewWriter(w)}
	t.raw(`{"displayTimeUnit":"ms","traceEvents":[`)
	for i, v := range r.Variants {
		t.process, t.thread = i+1, 0
		t.meta("process_name", r.Scenario+" / "+v.Name)
		if v.History != nil {
			t.scene(picture.Build(v.History))
		}
		t.overlaps(&v)
	}
	t.raw("\n]}\n")
	if t.err != nil {
		return fmt.Errorf("failed to write the trace: %w", t.err)
	}
	return t.w.Flush()
}

type tracer struct {
	w               *bufio.Writer
	err             error
	process, thread int
	some            bool
}

func (t *tracer) raw(s string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(s)
	}
}

func (t *tracer) event(e traceEvent) {
	e.Process, e.Thread = t.process, t.thread
	data, err := json.Marshal(e)
	if t.err == nil {
		t.err = err
	}
	if t.some {
		t.raw(",")
	}
	t.some = true
	t.raw("\n")
	t.raw(string(plain.JSON(data)))
}

// meta names a process or a thread.
func (t *tracer) meta(what, name string) {
	t.event(traceEvent{Name: what, Phase: "M", Args: map[string]any{"name": name}})
}

// lane begins a thread. Threads are shown in the order of their numbers.
func (t *tracer) lane(name string) {
	t.thread++
	t.meta("thread_name", name)
	t.event(traceEvent{Name: "thread_sort_index", Phase: "M", Args: map[string]any{"sort_index": t.thread}})
}

func (t *tracer) span(name, category string, s picture.Span, args map[string]any) {
	length := micros(max(0, s.Length()))
	t.event(traceEvent{Name: name, Phase: "X", Category: category, Time: micros(s.From), Duration: &length, Args: args})
}

func (t *tracer) instant(name, category string, at time.Duration, args map[string]any) {
	t.event(traceEvent{Name: name, Phase: "i", Category: category, Time: micros(at), Scope: "t", Args: args})
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (t *tracer) scene(s *picture.Scene) {
	for i := range s.Clients {
		t.client(&s.Clients[i])
	}
	t.lane("resource")
	for _, f := range s.Effects {
		args := map[string]any{"event": f.Event, "accepted": f.Accepted}
		if f.Token.IsSet() {
			args["token"] = f.Token.V()
		}
		if f.Highest.IsSet() {
			args["highest"] = f.Highest.V()
		}
		t.instant(picture.EffectWords(&f), "resource", f.At, args)
	}
	t.lane("quorum")
	for _, q := range s.Quorum {
		t.span(picture.HolderWords(q.Client, q.Owner), "quorum", q.Span, map[string]any{"least": q.Least, "most": q.Most})
	}
	for _, n := range s.Nodes {
		t.lane("node " + n.Name)
		for _, k := range n.Keys {
			t.span(picture.HolderWords(k.Client, k.Owner), "key", k.Span, map[string]any{"event": k.Event, "owner": k.Owner, "expired": k.Expired})
		}
	}
	for i := range s.Bands {
		// Faults may overlap in any way: each has a thread of its own.
		b := &s.Bands[i]
		t.lane(fmt.Sprintf("fault %d, %s %s", b.ID, b.Fault, b.Target))
		t.span(picture.BandWords(b, true), "fault", b.Span, map[string]any{"event": b.Event, "open": b.Open})
	}
}

func (t *tracer) client(c *picture.ClientLane) {
	t.lane(c.Name + " believes")
	for _, h := range c.Holds {
		args := map[string]any{"event": h.Granted, "owner": h.Owner, "open": h.Ended < 0}
		if h.Token.IsSet() {
			args["token"] = h.Token.V()
		}
		t.span("believes it holds the lock", "belief", h.Span, args)
		for _, g := range h.Gaps {
			t.span("believes without keys", "gap", g, nil)
		}
		for _, p := range h.Promises {
			t.instant("promise ends", "promise", p.Until, nil)
		}
	}
	t.lane(c.Name + " has keys")
	for i := range c.Holds {
		for _, span := range c.Holds[i].Truth {
			t.span("majority of keys", "truth", span, nil)
		}
	}
	t.lane(c.Name + " does")
	for _, m := range c.Marks {
		args := map[string]any{"event": m.Event, "outcome": m.Type.String()}
		if m.To > m.From {
			t.span(m.Text, string(m.F), m.Span, args)
		} else {
			t.instant(m.Text, string(m.F), m.From, args)
		}
	}
}

func (t *tracer) overlaps(v *Variant) {
	list := v.Subject().Overlaps()
	if len(list) == 0 {
		return
	}
	t.lane("overlap")
	for _, o := range list {
		t.span(o.Words, "overlap", o.Span, nil)
	}
}
