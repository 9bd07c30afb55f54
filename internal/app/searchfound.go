package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// keepFound shrinks what was found of each class, writes the best down, and runs it once
// for its report. With models it is not interrupted: it takes a fraction of a second,
// and is what a search is for.
func (s *searching) keepFound(ctx context.Context) error {
	if s.shrunkInShards {
		s.takeFound()
		return nil
	}
	best, err := s.shrink(ctx)
	if err != nil {
		return err
	}
	var servers againstServers
	if s.real == nil && len(best) > 0 {
		servers = s.findServers(ctx)
		defer servers.leave()
	}
	for _, k := range best {
		one, err := s.keepOne(ctx, k)
		if err == nil && s.real == nil && k.Failed == nil {
			err = s.holdAgainstServers(ctx, &servers, &one, k)
		}
		if err != nil {
			return err
		}
		s.out.Found = append(s.out.Found, one)
		s.out.Proved = s.out.Proved || one.Proved
		s.listener.tell(FoundOne{one})
	}
	return nil
}

func (s *searching) shrink(ctx context.Context) ([]*explore.Shrunk, error) {
	if s.real == nil {
		return s.out.Of.ShrinkBest(context.Background(), s.out.Report.Found)
	}
	best, err := s.real.shrunk(ctx, s.out.Of, s.out.Report.Found)
	s.listener.tell(Phase{})
	return best, err
}

// keepOne writes down what was found, with the page of a run that shows it.
func (s *searching) keepOne(ctx context.Context, k *explore.Shrunk) (one Found, err error) {
	out := s.out.Request.Out
	name := FoundName(s.out.Of.Scenario.Name, s.out.Of.First, k.Found)
	if s.out.Of.Live != nil {
		name += "-" + worldOf(k)
	}
	text, err := k.YAML(name, s.origin(k.Run))
	if err != nil {
		return one, err
	}
	one = Found{File: filepath.Join(out, name+".yaml"), Property: k.Property, Note: foundNote(k),
		Proved: k.Confirmed() && (!k.Live || k.Proved())}
	if err := machine.WriteFile(one.File, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return one, err
	}
	if k.Live && !k.Proved() {
		one.History = seenFile(s.out.Of, out, k.Found)
	}
	if s.real == nil || one.History != "" || ctx.Err() == nil {
		result, page, err := s.pageOf(ctx, one, k)
		if err != nil {
			return one, err
		}
		one.Report = page
		if why := s.unconfirmed(k, result); why != "" {
			one.Proved = false
			one.Note += ", not shown by new processes: " + why
		}
	} else {
		one.Proved = one.Proved && k.Live
	}
	one.Replay = s.replayOf(one, k)
	return one, nil
}

// unconfirmed is why what was found in virtual time with real servers is not certain: the run of its page, which was made twice with new
// processes, does not show it. Empty: it does.
func (s *searching) unconfirmed(k *explore.Shrunk, r *report.Result) string {
	if s.real == nil || k.Live || s.out.Of.Live != nil {
		return ""
	}
	v := &r.Variants[0]
	for i := range v.Properties {
		if p := &v.Properties[i]; p.Name == k.Property && p.Verdict == checker.Violated {
			return ""
		}
	}
	return cmp.Or(v.Unknown, v.Error, "it holds there")
}

// replayOf is the command line that runs what was found again.
func (s *searching) replayOf(one Found, k *explore.Shrunk) string {
	replay := []string{"sim", "replay", filepath.ToSlash(one.File)}
	if k.Live {
		replay[1] = "run"
		replay = append(replay, "--seed", fmt.Sprint(k.Seed))
	}
	r := &s.out.Request
	if s.real != nil && !k.Live && s.out.Of.Live == nil {
		if r.Nodes != "" {
			replay = append(replay, "--nodes", r.Nodes)
		}
		if r.Redis != "" {
			replay = append(replay, "--redis", r.Redis)
		}
	}
	if k.Setup.Lock.Program != nil {
		replay = append(replay, "--allow-programs")
	}
	return shellquote.Join(replay...)
}

func worldOf(k *explore.Shrunk) string {
	if k.Live {
		return request.Live
	}
	return request.Virtual
}

// foundNote says in a few words what is known of something that was found.
func foundNote(k *explore.Shrunk) string {
	if k.Failed != nil {
		return fmt.Sprintf("%s, not shrunk: %v", words.Count(k.From, "fault"), k.Failed)
	}
	note := fmt.Sprintf("%d of %s, fails with %d of %s",
		len(k.Setup.Faults.List), words.Count(k.From, "fault"), k.Robust, words.Count(k.OtherSeeds, "other seed"))
	if k.Live {
		note = fmt.Sprintf("%d of %s, shows in %d of %s among real servers",
			len(k.Setup.Faults.List), words.Count(k.From, "fault"), k.Robust, words.Count(k.OtherSeeds, "run"))
	}
	if !k.Confirmed() {
		note += ", by the lock's word alone: look here"
	}
	return note
}

// seenHistory reads the history of a run that a search kept.
func seenHistory(path string) (*history.History, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open the history of what was found: %w", err)
	}
	defer func() { _ = file.Close() }()
	h, err := history.Decode(file, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to read %q: %w", path, err)
	}
	return h, nil
}

// FoundName is how what a search of a scenario found is called; first is its first seed.
func FoundName(scenario string, first uint64, k explore.Found) string {
	return fmt.Sprintf("%.20s-%s-%d", scenario, k.Property, first+k.Run)
}

// seenFile has the history of a run that violated something and hardly did so again.
func seenFile(s explore.Search, dir string, k explore.Found) string {
	return filepath.Join(dir, FoundName(s.Scenario.Name, s.First, k)+"-seen.jsonl")
}

// pageOf runs what was found as sim replay does, or sim run, and returns its page. What hardly shows again is not run: the page is
// that of the run whose history was kept.
func (s *searching) pageOf(ctx context.Context, one Found, k *explore.Shrunk) (r *report.Result, page string, err error) {
	found, err := LoadOne(one.File)
	if err != nil {
		return nil, "", err
	}
	self := ""
	if s.real != nil {
		self = s.real.self
	}
	o := s.trialOptions(self)
	o.Seed, o.Tries, o.World, o.Out = k.Seed, 1, worldOf(k), s.out.Request.Out
	if s.real != nil && s.real.server != "" {
		o.Nodes, o.Redis = server.Process, s.real.server
	}
	if s.reportsAt != nil { // the reports take the place of those that were made of the same searches before
		o.Now = s.reportsAt
		if err := os.RemoveAll(filepath.Join(o.Out, found.Name)); err != nil {
			return nil, "", fmt.Errorf("failed to remove an earlier report: %w", err)
		}
	}
	if one.History != "" {
		h, err := seenHistory(one.History)
		if err != nil {
			return nil, "", err
		}
		o.World = request.Virtual
		t, err := trial.Store(context.WithoutCancel(ctx), found, o, h)
		if err != nil {
			return nil, "", err
		}
		return t.Result, t.Report, nil
	}
	if k.Live {
		o.Tries = 0
	} else if s.real == nil {
		ctx = context.Background()
	}
	t, err := trial.Run(ctx, found, o)
	if err != nil {
		return nil, "", err
	}
	return t.Result, t.Report, nil
}
