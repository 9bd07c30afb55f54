package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// writeCheckPage writes what came of checking one file as a page like that of a
// run. A history too large to be shown leaves its picture out.
func (a *app) writeCheckPage(out, file string, h *history.History, properties []report.PropertyResult) error {
	v := report.Variant{Name: "history", Met: true, Properties: properties, History: h}
	for _, p := range properties {
		v.Met = v.Met && p.Met
		v.Undecided = v.Undecided || p.Verdict == checker.Unknown
	}
	r := &report.Result{
		Version: report.ResultVersion, Scenario: filepath.Base(file), Title: "The history " + filepath.Base(file),
		Met: v.Met, Undecided: v.Undecided, Started: a.now().UTC().Format("2006-01-02T15:04:05Z"),
		Versions: map[string]string{"sim": programVersion()}, Replay: fmt.Sprintf("sim check %q", file),
		Variants: []report.Variant{v},
	}
	if h != nil {
		r.World, r.Seed = h.Header.World, h.Header.Seed
	}
	return a.toOutput(out, func(w io.Writer) error { return report.WriteHTML(w, r) })
}

// propertyOfModel is what came of checking against a model, as reports show it. h
// may be nil.
func propertyOfModel(r *evidence.Report, h *history.History) report.PropertyResult {
	p := report.PropertyResult{Name: checker.Property("linearizable as " + r.Model), Verdict: r.Verdict,
		Expected: checker.Holds, Met: r.Verdict == checker.Holds, Why: r.Why,
		Method: r.Method, Effort: checker.Effort{Operations: r.Operations, Chances: r.Operations, Of: "operations"}}
	if len(r.Counterexample) == 0 {
		return p
	}
	c := &checker.Counterexample{From: r.From, Impossible: -1}
	if r.FirstBad != nil {
		c.Assumption = "that every operation has a place in one order; none is left from " + describeOp(*r.FirstBad) + " on"
	}
	for _, o := range r.Counterexample {
		op := checker.CounterOp{Client: o.Process, Op: o.What, To: -1, True: describeOp(o)}
		told := checker.Sentence{Event: -1, Text: describeOp(o)}
		if call, ok := eventAt(h, r.Format, o.CallLine); ok {
			op.From, op.Events = call.Time, append(op.Events, call.Index)
			told.At, told.Event = call.Time, call.Index
		}
		if ret, ok := eventAt(h, r.Format, o.ReturnLine); ok {
			op.To, op.Events = ret.Time, append(op.Events, ret.Index)
		}
		c.Operations, c.Story = append(c.Operations, op), append(c.Story, told)
	}
	p.Counterexample = c
	return p
}

// eventAt is the event on a line of a history of sim, whose first line is its
// header. In other formats a line may hold many events.
func eventAt(h *history.History, format evidence.Format, line int) (history.Event, bool) {
	at := line - 2
	if h == nil || format != evidence.JSONL || at < 0 || at >= len(h.Events) {
		return history.Event{}, false
	}
	return h.Events[at], true
}

// maxShown is the largest file, in bytes, whose history is read for its picture.
const maxShown = 64 << 20

// toShow reads a file for its picture; nil where it is too large or cannot be read.
func toShow(file string, format evidence.Format) *history.History {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxShown {
		return nil
	}
	h, _, _ := readHistory(file, format)
	return h
}
