package trial

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// newResult is the result before anything has run.
func (t *trial) newResult() *report.Result {
	r := &report.Result{
		Version: report.ResultVersion, Scenario: t.Name, Title: t.Title, Source: t.Source, Story: t.Story,
		World: t.World, Seed: t.Seed, Started: t.started.UTC().Format(time.RFC3339),
		Versions: map[string]string{"go": runtime.Version()},
		Replay:   t.replay(t.Seed),
		Facts:    facts(t.subjects), ScenarioText: t.Text, ScenarioDigest: t.Digest(),
	}
	if t.World == Live {
		r.Nodes = string(t.Nodes)
	}
	for k, v := range t.Program {
		r.Versions[k] = v
	}
	return r
}

// replay is the command line that runs the scenario again.
func (t *trial) replay(seed uint64) string {
	line := fmt.Sprintf("sim run %s --seed %d", shellquote.Join(filepath.ToSlash(t.File)), seed)
	switch {
	case t.World != Live:
		line += " --world " + t.World
	case t.Nodes != server.Process:
		line += " --nodes " + string(t.Nodes)
	}
	if t.World == Live && t.AllowHooks {
		line += " --allow-hooks"
	}
	if t.World == Live && t.PasswordEnv != "" {
		line += " --password-env " + t.PasswordEnv
	}
	line += t.Programs.flags()
	if t.Tries != DefaultTries(t.World) {
		line += fmt.Sprintf(" --tries %d", t.Tries)
	}
	return line
}

// facts are the settings that all variants share and a reader wants first.
func facts(variants []subject) []string {
	var list []string
	shared := func(text func(*subject) string) {
		first := text(&variants[0])
		for i := range variants {
			if text(&variants[i]) != first {
				return
			}
		}
		list = append(list, first)
	}
	shared((*subject).lockName)
	shared(func(s *subject) string { return words.Count(s.Setup.Nodes.Count, "node") })
	shared(func(s *subject) string { return fmt.Sprintf("ttl %v", s.Setup.Lock.TTL) })
	shared(func(s *subject) string { return words.Count(s.Setup.Workload.Clients, "client") })
	return list
}

// faultResults sets what was planned beside what the history measured.
func faultResults(planned []nemesis.Planned, h *history.History) []report.FaultResult {
	list := make([]report.FaultResult, len(planned))
	for i, p := range planned {
		list[i] = report.FaultResult{ID: i + 1, Fault: p.Kind, Target: p.Fault.Target(), When: p.When.String(), Planned: p.Fault.Length()}
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.FaultBegin && e.F != history.FaultEnd && e.F != history.FaultFailed || e.Value.ID < 1 || e.Value.ID > len(list) {
			continue
		}
		f := &list[e.Value.ID-1]
		if e.F == history.FaultFailed {
			f.Failed = cmp.Or(f.Failed, e.Error)
			continue
		}
		f.Events = append(f.Events, e.Index)
		if e.F == history.FaultBegin {
			f.Fired++
		}
		f.Took = max(f.Took, time.Duration(e.Value.Took.V))
	}
	return list
}
