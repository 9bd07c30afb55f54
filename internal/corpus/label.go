package corpus

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/history/edn"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// MostEvents is how long a history of a corpus is: the naive judge takes its time.
const MostEvents = 400

// What porcupine is asked at most, so that its answer does not hang on the machine.
const (
	mostOperations = 250
	mostUnknown    = 8
)

// byDefinition are the verdicts of the naive judge; those on which it has no opinion are left out.
func byDefinition(h *history.History, o checker.Options) (verdicts map[checker.Property]checker.Verdict) {
	verdicts = naive.Judge(h, naive.Properties(), o)
	for p, v := range verdicts {
		if v == 0 {
			delete(verdicts, p)
		}
	}
	return verdicts
}

// options are what is known of a history beside it.
func (e *Entry) options() checker.Options {
	return checker.Options{GrantWithin: time.Duration(e.GrantWithin)}
}

// applies reports that a property has a meaning for the lock and the workload of a history.
func applies(h *history.History, p checker.Property) bool {
	switch s := checker.SubjectOf(h); {
	case !s.Fits(p):
		return false
	case p == checker.LinearizableResource, p == checker.AtMostOnce, p == checker.Atomic, p == checker.Isolated, p == checker.Durable:
		return slices.Contains(checker.SafetyProperties(s), p) // the workload decides
	}
	return true
}

// expected says what is known of a property from how the history was made; 0: nothing.
type expected func(checker.Property) checker.Verdict

// label judges a history by the definitions, and sets beside it what is known from how it was made. sim's own checker only explains: if it
// says something else, nothing is labelled, and the error says where the two differ.
func (e *Made) label(ctx context.Context, ground string, made expected) error {
	var list []checker.Property
	for _, p := range checker.Properties() {
		if applies(e.h, p) && e.definition(p) != 0 {
			list = append(list, p)
		}
	}
	for _, f := range checker.Judge(ctx, e.h, list, e.options()) {
		l := Label{Property: f.Property, Verdict: e.definition(f.Property), By: []string{ByDefinition}}
		if f.Verdict != l.Verdict {
			return e.differ("the definitions say that %s is %v, the checker that it is %v (%s)", l.Property, l.Verdict, f.Verdict, f.Why)
		}
		switch known := made(f.Property); known {
		case 0:
		case l.Verdict:
			l.By = append(l.By, ground)
		default:
			return e.differ("by the %s %s is %v, by its definition %v", ground, l.Property, known, l.Verdict)
		}
		if l.Verdict == checker.Violated {
			l.Why = f.Why
			if f.Counterexample != nil {
				l.Assumption = f.Counterexample.Assumption
			}
		}
		e.Properties = append(e.Properties, l)
	}
	return ctx.Err()
}

// differ is the error that two who should say the same do not.
func (e *Entry) differ(format string, args ...any) error {
	return fmt.Errorf("%s (scenario %s, variant %s, seed %d): %s: this is a mistake in sim, please report it",
		e.ID, e.Origin.Scenario, e.Origin.Variant, e.Origin.Seed, fmt.Sprintf(format, args...))
}

// candidates are the models that the operations of a history can be held against, as EDN.
func candidates(h *history.History) (list []ModelLabel) {
	has := func(so func(*history.Event) bool) bool {
		for i := range h.Events {
			if so(&h.Events[i]) {
				return true
			}
		}
		return false
	}
	granted := func(e *history.Event) bool { return e.F == history.Acquire && e.Type == history.OK }
	if !h.Header.Shares() && has(granted) {
		list = append(list, ModelLabel{Model: "owner-mutex"})
		if has(func(e *history.Event) bool { return granted(e) && e.Value.ValidUntil().IsSet() }) {
			list = append(list, ModelLabel{Model: "leased-mutex"})
		}
		if has(func(e *history.Event) bool { return granted(e) && e.Value.Token.IsSet() }) {
			list = append(list, ModelLabel{Model: "fenced-mutex"})
		}
	}
	if data := workload.Of(workload.Name(h.Header.Workload)).Cell.Data; data == workload.CounterData {
		initial := h.Header.Initial.V()
		list = append(list, ModelLabel{Model: "register", Initial: &initial})
	} else if data == workload.ListData {
		list = append(list, ModelLabel{Model: "append"})
	}
	return list
}

// options are those of a model in a corpus.
func (m *ModelLabel) options() evidence.Options {
	o := evidence.Options{Model: m.Model, Format: evidence.EDN}
	if m.Initial != nil {
		o.Initial = history.Some(*m.Initial)
	}
	return o
}

// labelModels labels the EDN by porcupine. What it does not decide has no label.
func (e *Entry) labelModels(ctx context.Context, h *history.History, text []byte) error {
	for _, m := range candidates(h) {
		v, err := evidence.Reference(ctx, bytes.NewReader(text), m.options(), mostOperations, mostUnknown)
		if err != nil || v == checker.Unknown {
			continue // what the model does not know is no label
		}
		m.Verdict, m.By = v, []string{ByPorcupine}
		mine, err := evidence.Check(ctx, bytes.NewReader(text), m.options())
		switch {
		case err != nil:
			return e.differ("model %s: porcupine says %v, sim check fails: %v", m.Model, v, err)
		case mine.Verdict != v:
			return e.differ("model %s: porcupine says %v, sim check %v (%s)", m.Model, v, mine.Verdict, mine.Why)
		}
		e.Models = append(e.Models, m)
	}
	return ctx.Err()
}

// Text is a history as a file of one form.
func textOf(h *history.History, form string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if form == "edn" {
		err = edn.Write(&b, h)
	} else {
		err = history.Encode(&b, h)
	}
	return b.Bytes(), err
}

// faultsOf are the faults that struck.
func faultsOf(h *history.History) (list []Fault) {
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.FaultBegin {
			list = append(list, Fault{Fault: e.Value.Fault(), Target: e.Value.Target(), Begin: int64(e.Time)})
		}
	}
	return list
}
