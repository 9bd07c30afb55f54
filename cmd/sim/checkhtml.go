package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// shown is a history for its page.
type shown struct {
	*history.History
	// lines are those of the file on which the events begin.
	lines []int
	// imported: it is not a history of sim.
	imported bool
}

// writeCheckPage writes what came of checking one file as a page like that of a
// run. A history too large to be shown leaves its picture out.
func (a *app) writeCheckPage(out, file, again string, h shown, properties []report.PropertyResult) error {
	v := report.Variant{Name: "history", Met: true, Properties: properties, History: h.History}
	for _, p := range properties {
		v.Met = v.Met && p.Met
		v.Undecided = v.Undecided || p.Verdict == checker.Unknown
	}
	r := &report.Result{
		Version: report.ResultVersion, Scenario: filepath.Base(file), Title: "The history " + filepath.Base(file),
		Met: v.Met, Undecided: v.Undecided, Facts: []string{"checked on " + a.now().UTC().Format("2 January 2006, 15:04:05 UTC")},
		Versions: map[string]string{"sim": programVersion()}, Replay: again,
		Variants: []report.Variant{v}, Checked: filepath.Base(file), Imported: h.imported,
	}
	if h.History != nil {
		r.World, r.Seed, r.Started = h.Header.World, h.Header.Seed, h.Header.Started
	}
	return a.toOutput(out, func(w io.Writer) error { return report.WriteHTML(w, r) })
}

// propertyOfModel is what came of checking against a model, as reports show it.
func propertyOfModel(r *evidence.Report, h shown) report.PropertyResult {
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
		op := checker.CounterOp{Client: o.Process, Op: o.What, From: -1, To: -1, True: describeOp(o)}
		told := checker.Sentence{At: -1, Event: -1, Text: describeOp(o)}
		if call, ok := h.eventAt(o.CallLine, o.Process); ok {
			op.From, op.Events = call.Time, append(op.Events, int(call.Index))
			told.At, told.Event = call.Time, int(call.Index)
		}
		if ret, ok := h.eventAt(o.ReturnLine, o.Process); ok {
			op.To, op.Events = ret.Time, append(op.Events, int(ret.Index))
		}
		c.Operations, c.Story = append(c.Operations, op), append(c.Story, told)
	}
	p.Counterexample = c
	return p
}

// eventAt is the event of a process on a line of the file, if it is the only one there.
func (h *shown) eventAt(line int, process string) (e history.Event, ok bool) {
	for i, at := range h.lines {
		if at == line && h.Events[i].Process == process {
			if ok {
				return e, false
			}
			e, ok = h.Events[i], true
		}
	}
	return e, ok
}

// maxShown is the largest file, in bytes, whose history is read for its picture.
const maxShown = 64 << 20

// toShow reads a file for its picture; it has no history if the file is too large or cannot be
// read.
func toShow(file string, format evidence.Format) shown {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxShown {
		return shown{imported: format != evidence.JSONL}
	}
	f, err := os.Open(file)
	if err != nil {
		return shown{imported: format != evidence.JSONL}
	}
	defer func() { _ = f.Close() }()
	h, lines, format, _ := evidence.WithLines(f, format, 0)
	return shown{h, lines, format != evidence.JSONL}
}
