package trial

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Store judges the history of a run of the live world that was made already, and stores it as Run stores what it makes. The scenario has
// one variant.
func Store(ctx context.Context, s *scenario.Scenario, o Options, h *history.History) (*Trial, error) {
	var err error
	if o.Programs, err = Greet(ctx, []*scenario.Scenario{s}, nil, request.Live); err != nil {
		return nil, err
	}
	o.World, o.Nodes, o.Tries = request.Live, server.Process, DefaultTries(request.Live)
	t := &trial{Scenario: s, Options: o, subjects: o.Programs.subjects(s, o.Nodes), started: o.Now()}
	if t.dir, err = runs.Make(o.Out, s.Name, t.started, o.Seed); err != nil {
		return nil, err
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	v := &t.subjects[0]
	out := report.Variant{Name: v.Name, Settings: v.Settings, Lock: t.lock(v), History: h}
	if out.Lock != nil {
		out.Lock.Logs = nil // the run left none
	}
	if err := os.Mkdir(filepath.Join(t.dir, v.Name), 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(t.dir, v.Name, runs.History)
	if err := machine.WriteFile(file, func(w io.Writer) error { return history.Encode(w, h) }); err != nil {
		return nil, err
	}
	verdict.Judge(ctx, v.Variant, &out)
	r := t.newResult()
	r.Variants = []report.Variant{out}
	verdict.SumUp(r)
	page, err := t.store(r)
	return &Trial{Result: r, Dir: t.dir, Report: page}, err
}
