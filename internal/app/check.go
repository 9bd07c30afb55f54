package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/observe"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// CheckResult is what came of checking a file.
type CheckResult struct {
	File    string
	Verdict checker.Verdict
	// Model is what came of it where a model judged the history. Otherwise the properties of its lock did: Findings has them.
	Model     *evidence.Report
	Findings  []checker.Finding
	Truncated bool
	// Started is the wall time from which the times of a lock log count; empty: it is none.
	Started string
	// Page is the same as reports show it; nil: none is wanted.
	Page *report.Result
}

// Checked tells of a file that was checked.
type Checked struct{ *CheckResult }

func (Checked) event() {}

// Check judges the histories in files. page: a page of each is wanted.
func Check(ctx context.Context, env *Env, r request.Check, page bool, l Listener) (worst checker.Verdict, err error) {
	o, err := checkOptions(r)
	if err != nil {
		return 0, err
	}
	worst = checker.Holds
	logs, others := splitLockLogs(r.Files, o.Format)
	if n := len(others) + min(len(logs), 1); page && n > 1 {
		return 0, Usagef("--html takes one history, not %d", n)
	}
	if len(logs) > 0 {
		result, err := env.checkLockLogs(ctx, logs, r, o, page)
		if err != nil {
			return 0, err
		}
		l.tell(Checked{result})
		worst = result.Verdict
	}
	for _, file := range others {
		result, err := env.checkFile(ctx, file, r, o, page)
		if err != nil {
			return 0, CheckError(file, err)
		}
		l.tell(Checked{result})
		if result.Verdict == checker.Violated || worst == checker.Holds {
			worst = result.Verdict
		}
	}
	return worst, nil
}

func checkOptions(r request.Check) (evidence.Options, error) {
	o := evidence.Options{Format: evidence.Format(r.Format), Model: r.Model, Timeout: time.Duration(r.Timeout), Memory: r.Memory << 20,
		Permits: r.Permits, Reentrancy: r.Reentrancy}
	for flag, v := range map[string]struct {
		text string
		to   *history.Int
	}{"--initial": {r.Initial, &o.Initial}, "--nil-read": {r.NilRead, &o.NilRead}} {
		if v.text == "" {
			continue
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			return o, Usagef("%s %q: want a whole number", flag, v.text)
		}
		*v.to = history.Some(n)
	}
	return o, nil
}

// CheckError makes what is wrong with a file or a flag the user's to mend.
func CheckError(file string, err error) error {
	var option *evidence.OptionError
	if errors.As(err, &option) {
		usage := Usagef("--%s: %s", strings.ToLower(option.Option), option.Problem)
		if hinted := (*words.Hinted)(nil); errors.As(err, &hinted) {
			return usage.Hint("%s", hinted.Hint)
		}
		return usage
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("no file or folder %q", file).
			Hint("name a history, such as reports/latest/VARIANT/%s", runs.History)
	}
	return Usagef("failed to read the history %q: %w", file, err)
}

// UsualCheck is a check where no flag says otherwise.
func UsualCheck() request.Check {
	return request.Check{Format: string(evidence.Auto), Permits: 1,
		Timeout: request.Duration(checker.DefaultTimeout), Memory: checker.DefaultMemory >> 20}
}

// checkLine is the command line that checks the same again.
func checkLine(r request.Check) string {
	usual := UsualCheck()
	return request.Line([]string{"sim", "check"}, &r, &usual)
}

// noHistory says what a file is that tells what a Redis server did: sim observe reads it; nil: it is none.
func noHistory(file string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	what := ""
	switch {
	case observe.IsJournal(file, info):
		what = "an append-only file of Redis"
	case observe.IsMonitor(file, info):
		what = "an output of MONITOR"
	default:
		return nil
	}
	return words.WithHint(fmt.Errorf("this is %s, and no history", what),
		fmt.Sprintf("sim observe %s --keys 'lock:*' tells who held a lock, and who ended it", file))
}

// checkFile judges one file.
func (e *Env) checkFile(ctx context.Context, file string, r request.Check, o evidence.Options, page bool) (*CheckResult, error) {
	if err := noHistory(file); err != nil {
		return nil, err
	}
	if r.Model == "" {
		result, err := e.checkProperties(ctx, file, r, o, page)
		if result != nil || err != nil {
			return result, err
		}
		return nil, words.WithHint(&evidence.OptionError{Option: "model", Problem: "this is not a history of sim, so it needs a model"},
			"name one of "+strings.Join(evidence.Models(), ", "))
	}
	judged, err := evidence.CheckFile(ctx, file, o)
	if err != nil {
		return nil, err
	}
	out := &CheckResult{File: file, Verdict: judged.Verdict, Model: judged, Truncated: judged.Truncated}
	if page {
		h := toShow(file, judged.Format)
		out.Page = e.checkResult(file, checkLine(r), h, []report.PropertyResult{propertyOfModel(judged, h)})
	}
	return out, nil
}

// DescribeOp says what an operation did, and where in the file.
func DescribeOp(o evidence.Operation) string {
	text := fmt.Sprintf("%q %s, line %d", o.Process, strconv.Quote(o.What), o.CallLine)
	if o.Key != "" {
		text = fmt.Sprintf("%q on %q %s, line %d", o.Process, o.Key, strconv.Quote(o.What), o.CallLine)
	}
	if o.ReturnLine > 0 {
		return text + fmt.Sprintf(" to %d", o.ReturnLine)
	}
	return text + ", never answered"
}

// checkProperties judges a history of sim by the safety properties of its lock; nil: it is none of sim.
func (e *Env) checkProperties(ctx context.Context, file string, r request.Check, o evidence.Options, page bool) (*CheckResult, error) {
	h, ours, err := readOurs(file, o.Format)
	if !ours || err != nil {
		return nil, err
	}
	out := &CheckResult{File: file, Verdict: checker.Holds, Truncated: h.Truncated, Findings: checker.Judge(ctx, h,
		checker.SafetyProperties(checker.SubjectOf(h)), checker.Options{Timeout: o.Timeout, Memory: o.Memory})}
	var list []report.PropertyResult
	for _, finding := range out.Findings {
		list = append(list, report.Judged(finding, checker.Holds)) // what whoever checks hopes for
		if finding.Verdict == checker.Violated || out.Verdict == checker.Holds {
			out.Verdict = finding.Verdict
		}
	}
	if page {
		out.Page = e.checkResult(file, checkLine(r), shown{History: h}, list)
	}
	return out, nil
}

// readOurs reads a file that is a history of sim; ours is false where it is not.
func readOurs(file string, format evidence.Format) (h *history.History, ours bool, err error) {
	if format != evidence.Auto && format != evidence.JSONL && format != "" {
		return nil, false, nil
	}
	h, got, err := readHistory(file, format)
	return h, got == evidence.JSONL, err
}

func readHistory(file string, format evidence.Format) (*history.History, evidence.Format, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, format, err
	}
	defer func() { _ = f.Close() }()
	return evidence.FromHistory(f, format, 0)
}

// shown is a history for its page.
type shown struct {
	*history.History
	// lines are those of the file on which the events begin.
	lines []int
	// imported: it is not a history of sim.
	imported bool
}

// checkResult is what came of checking one file as reports show it, like a run. A history too large to be shown leaves its picture out.
func (e *Env) checkResult(file, again string, h shown, properties []report.PropertyResult) *report.Result {
	v := report.Variant{Name: "history", Met: true, Properties: properties, History: h.History}
	for _, p := range properties {
		v.Met = v.Met && p.Met
		v.Undecided = v.Undecided || p.Verdict == checker.Unknown
	}
	r := &report.Result{
		Version: report.ResultVersion, Scenario: filepath.Base(file), Title: "The history " + filepath.Base(file),
		Met: v.Met, Undecided: v.Undecided, Facts: []string{"checked on " + e.Now().UTC().Format("2 January 2006, 15:04:05 UTC")},
		Versions: map[string]string{"sim": e.Version}, Replay: again,
		Variants: []report.Variant{v}, Checked: filepath.Base(file), Imported: h.imported,
	}
	if h.History != nil {
		r.World, r.Seed, r.Started = h.Header.World, h.Header.Seed, h.Header.Started
	}
	return r
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
		c.Assumption = "that every operation has a place in one order; none is left from " + DescribeOp(*r.FirstBad) + " on"
	}
	for _, o := range r.Counterexample {
		op := checker.CounterOp{Client: o.Process, Op: o.What, From: -1, To: -1, True: DescribeOp(o)}
		told := checker.Sentence{At: -1, Event: -1, Text: DescribeOp(o)}
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
