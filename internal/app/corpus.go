package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// CorpusProgress tells how many histories of a corpus have been made, or checked.
type CorpusProgress struct{ Done, Of int }

func (CorpusProgress) event() {}

// MakeCorpus makes a corpus of lock histories. The folder takes its name once it is whole.
func (e *Env) MakeCorpus(ctx context.Context, r request.Corpus, l Listener) (*corpus.Index, error) {
	switch {
	case r.Out == "":
		return nil, Usagef("--out is missing: it names the folder in which the corpus is to be").Hint("--out corpus")
	case r.Histories < 1 || r.Histories > corpus.MostHistories:
		return nil, Usagef("--histories %d: want 1 to %d", r.Histories, corpus.MostHistories)
	}
	if err := isFree(r.Out); err != nil {
		return nil, err
	}
	m, err := e.newCorpusMaker(ctx, r, l)
	if err != nil {
		return nil, err
	}
	defer m.close()
	l.tell(Started{})
	return m.index, m.write(ctx)
}

// isFree refuses a folder that has something in it.
func isFree(out string) error {
	list, err := os.ReadDir(out)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return Usagef("--out %s: %w", out, err)
	case len(list) > 0:
		return Usagef("--out %s: there is something in this folder", out).Hint("name a folder that is not there yet")
	}
	return nil
}

// corpusMaker makes the histories of a corpus, one after the other: each from a seed of its own, whatever became of the others.
type corpusMaker struct {
	ctx      context.Context
	request  request.Corpus
	listener Listener
	index    *corpus.Index
	subjects []corpusSubject
	engine   virtual.Engine
	place    trial.VirtualPlace
	// onServers are those that real servers can carry: most of the subjects, and a Redis Cluster, which no model is.
	onServers []corpusSubject
	// made are the entries so far; bases those without a violation.
	made  []*corpus.Entry
	bases []*corpus.Made
	dir   string
}

// corpusSubject is a variant of a shipped scenario.
type corpusSubject struct {
	scenario *scenario.Scenario
	variant  scenario.Variant
}

func (e *Env) newCorpusMaker(ctx context.Context, r request.Corpus, l Listener) (*corpusMaker, error) {
	list, err := scenario.LoadAll(scenario.All)
	if err != nil {
		return nil, err
	}
	m := &corpusMaker{ctx: ctx, request: r, listener: l, index: &corpus.Index{Format: corpus.Format, Version: corpus.Version, Seed: r.Seed,
		Sources: map[corpus.Source]int{}, Sim: e.Version, License: corpus.License}}
	for _, s := range list {
		for _, v := range s.Variants {
			switch {
			case v.Setup.Lock.Program != nil || v.Setup.Commands:
			case v.Setup.Nodes.Clustered():
				m.onServers = append(m.onServers, corpusSubject{s, v})
			default:
				m.subjects = append(m.subjects, corpusSubject{s, v})
			}
		}
	}
	draw := m.drawn("order", 0, 0)
	draw.Shuffle(len(m.subjects), func(i, j int) { m.subjects[i], m.subjects[j] = m.subjects[j], m.subjects[i] })
	// Half are virtual, a quarter real, a quarter damaged.
	m.index.Sources[corpus.Real], m.index.Sources[corpus.Damaged] = r.Histories/4, r.Histories/4
	m.index.Sources[corpus.Virtual] = r.Histories - 2*(r.Histories/4)
	if err := m.findServers(); err != nil {
		return nil, err
	}
	for _, n := range m.index.Sources {
		m.index.Histories += n
	}
	return m, nil
}

// findServers finds out whether real servers can take part; if not, their histories are left out.
func (m *corpusMaker) findServers() error {
	path, version, err := trial.VirtualServer(m.ctx, m.request.Redis)
	if err != nil && m.request.Redis != "" {
		return err
	}
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		m.place.Server, m.index.Server = path, version
		refused := func(s corpusSubject) bool { return m.place.Refusal(&s.variant) != "" }
		m.onServers = slices.DeleteFunc(append(m.onServers, m.subjects...), refused)
		draw := m.drawn("order on servers", 0, 0)
		draw.Shuffle(len(m.onServers), func(i, j int) { m.onServers[i], m.onServers[j] = m.onServers[j], m.onServers[i] })
		if len(m.onServers) == 0 {
			why = "no scenario can run on them"
		}
	}
	if n := m.index.Sources[corpus.Real]; why != "" && n > 0 {
		m.index.Server = ""
		m.index.LeftOut = &corpus.LeftOut{Source: corpus.Real, Histories: n, Why: strings.Join(strings.Fields(why), " ")}
		m.index.Sources[corpus.Real] = 0
		m.listener.tell(Note{fmt.Sprintf("%s with real servers left out: %s", words.Count(n, "history"), why)})
	}
	return nil
}

func (m *corpusMaker) close() {
	m.engine.Close()
	m.place.Close()
	if m.dir != "" {
		_ = os.RemoveAll(m.dir)
	}
}

// drawn is the randomness of one history, and of one attempt to make it.
func (m *corpusMaker) drawn(what string, n, attempt int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", what, n, attempt)
	return rand.New(rand.NewPCG(m.request.Seed, h.Sum64()))
}

// write makes the corpus in a folder beside its own, which then takes its name.
func (m *corpusMaker) write(ctx context.Context) (err error) {
	parent := filepath.Dir(filepath.Clean(m.request.Out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if m.dir, err = machine.FolderIn(parent, "sim-corpus"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(m.dir, corpus.Histories), 0o755); err != nil {
		return err
	}
	for _, source := range corpus.Sources() {
		for n := range m.index.Sources[source] {
			made, err := m.make(source, n)
			if ctx.Err() != nil {
				return Interrupted("interrupted; nothing was written")
			}
			if err == nil {
				err = m.store(made)
			}
			if err != nil {
				return err
			}
			m.listener.tell(CorpusProgress{len(m.made), m.index.Histories})
		}
	}
	index, err := corpus.IndexText(m.index, m.made)
	if err != nil {
		return err
	}
	if err := m.file(corpus.IndexFile, index); err != nil {
		return err
	}
	if err := m.file(corpus.ReadmeFile, []byte(corpus.Readme(m.index))); err != nil {
		return err
	}
	if err := os.Chmod(m.dir, 0o755); err != nil {
		return err
	}
	_ = os.Remove(m.request.Out) // it is empty, or not there
	if err := os.Rename(m.dir, m.request.Out); err != nil {
		return fmt.Errorf("failed to write the corpus: %w", err)
	}
	m.dir = ""
	return nil
}

func (m *corpusMaker) file(name string, text []byte) error {
	return machine.WriteFile(filepath.Join(m.dir, filepath.FromSlash(name)), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (m *corpusMaker) store(made *corpus.Made) error {
	for path, text := range made.Texts {
		if err := m.file(path, text); err != nil {
			return err
		}
	}
	made.Texts = nil
	m.made = append(m.made, &made.Entry)
	if made.Source != corpus.Damaged && made.Verdict != checker.Violated.String() {
		m.bases = append(m.bases, made)
	}
	return nil
}

// mostAttempts is how often a history is drawn anew that is too long, or in which a damage has no place.
const mostAttempts = 1000

// nextKind is after how many attempts another kind of damage is tried.
const nextKind = 200

// make makes the n-th history of a source.
func (m *corpusMaker) make(source corpus.Source, n int) (made *corpus.Made, err error) {
	id := fmt.Sprintf("%s-%04d", source, n+1)
	for attempt := 0; attempt < mostAttempts && m.ctx.Err() == nil; attempt++ {
		r := m.drawn(string(source), n, attempt)
		if source == corpus.Damaged {
			made, err = m.damaged(r, n, attempt, id)
		} else {
			made, err = m.run(r, source, n, attempt, id)
		}
		if made != nil || err != nil {
			return made, err
		}
	}
	return nil, fmt.Errorf("no history %s could be made in %d attempts: this is a mistake in sim, please report it", id, mostAttempts)
}

// run makes a run, as the scenario is shipped or with what is drawn; nil: it is none for the corpus.
func (m *corpusMaker) run(r *rand.Rand, source corpus.Source, n, attempt int, id string) (*corpus.Made, error) {
	subjects := m.subjects
	if source == corpus.Real {
		subjects = m.onServers
	}
	// Every other is as it is shipped, each variant in turn; if that cannot be had, any is taken.
	asIs := n%2 == 0
	s := subjects[(n/2)%len(subjects)]
	if !asIs || attempt >= 3 {
		s = subjects[r.IntN(len(subjects))]
	}
	return m.runOf(r, source, s, asIs, id)
}

// runOf makes a run of a subject.
func (m *corpusMaker) runOf(r *rand.Rand, source corpus.Source, s corpusSubject, asIs bool, id string) (*corpus.Made, error) {
	v := s.variant
	if !asIs {
		drawRun(r, &v)
	}
	out, err := m.carryOut(source, runner.Config{Scenario: s.scenario.Name, Variant: v, Seed: uint64(r.Uint32()), World: request.Virtual,
		Started: time.Unix(0, 0)})
	if err != nil || out.Interrupted || out.TimedOut || len(out.History.Events) > corpus.MostEvents {
		return nil, m.ctx.Err()
	}
	run := corpus.Run{ID: id, Source: source, History: out.History, GrantWithin: int64(v.Setup.GrantWithin),
		Expected: map[checker.Property]checker.Verdict{},
		Origin: corpus.Origin{Scenario: s.scenario.Name, Variant: v.Name, Seed: out.History.Header.Seed,
			Lock: v.Setup.Lock.Algorithm, Mistakes: v.Setup.Lock.Mistakes.Rules(), Workload: string(v.Setup.Workload.Kind), AsIs: asIs}}
	for _, x := range v.Expect {
		run.Expected[x.Property] = x.Verdict
	}
	return corpus.OfRun(m.ctx, run)
}

// drawRun draws clients, sections and faults of a run.
func drawRun(r *rand.Rand, v *scenario.Variant) {
	setup := &v.Setup
	if r.IntN(4) > 0 {
		setup.Faults.Mix = nemesis.DrawMix(r, setup.Lock.Span())
	}
	if n := &setup.Workload.Sections; *n > 3 && setup.Workload.Kind != "transactions" {
		*n = 1 + r.IntN(3)
	}
	if setup.Workload.Start == "together" && r.IntN(2) == 0 {
		setup.Workload.Clients = 3
	}
}

func (m *corpusMaker) carryOut(source corpus.Source, c runner.Config) (runner.Outcome, error) {
	if source == corpus.Real {
		return m.place.Run(m.ctx, c)
	}
	c.Open = func(spec world.Spec) (world.World, error) { return m.engine.Open(m.ctx, spec) }
	return runner.Run(c)
}

// damaged damages a history of the corpus without a violation, or one that is made for it. The kinds take turns.
func (m *corpusMaker) damaged(r *rand.Rand, n, attempt int, id string) (*corpus.Made, error) {
	kinds := corpus.Kinds()
	kind := kinds[(n+attempt/nextKind)%len(kinds)]
	if attempt%nextKind < min(len(m.bases), nextKind/4) {
		return m.bases[r.IntN(len(m.bases))].DamageWith(m.ctx, kind, r, id)
	}
	subjects := m.expecting(corpus.Violates(kind))
	base, err := m.runOf(r, corpus.Virtual, subjects[r.IntN(len(subjects))], r.IntN(2) == 0, "")
	if base == nil || err != nil {
		return nil, err
	}
	return base.DamageWith(m.ctx, kind, r, id)
}

// expecting are the variants that expect a property to hold: there it had chances to fail. Where there are none, or no property is named,
// all.
func (m *corpusMaker) expecting(p checker.Property) []corpusSubject {
	list := slices.DeleteFunc(slices.Clone(m.subjects), func(s corpusSubject) bool {
		return !slices.Contains(s.variant.Expect, scenario.ExpectedVerdict{Property: p, Verdict: checker.Holds})
	})
	if len(list) == 0 {
		return m.subjects
	}
	return list
}

// CheckCorpus judges the histories of a corpus, and says where a judge says something else than a label. answers is a file with what
// another checker says; empty: nobody else is asked.
func (e *Env) CheckCorpus(ctx context.Context, dir, answers string, l Listener) (t *corpus.Tally, s *corpus.Score, err error) {
	f, err := corpus.Open(dir)
	if err != nil {
		return nil, nil, Usagef("failed to read the corpus %q: %w", dir, err).Hint("sim corpus --out %s makes one", dir)
	}
	defer func() { _ = f.Close() }()
	if answers != "" {
		s, err = score(f, answers)
		return nil, s, err
	}
	t = &corpus.Tally{Compared: map[corpus.Judge]int{}, Differences: []corpus.Difference{}}
	err = f.Each(func(entry *corpus.Entry) error {
		if err := f.Check(ctx, entry, t); err != nil {
			return err
		}
		l.tell(CorpusProgress{t.Histories, f.Index.Histories})
		return nil
	})
	if ctx.Err() != nil {
		return t, nil, Interrupted("interrupted before all was checked")
	}
	if err != nil {
		return t, nil, Usagef("failed to check the corpus %q: %w", dir, err)
	}
	return t, nil, nil
}

func score(f *corpus.Folder, answers string) (*corpus.Score, error) {
	file, err := machine.OpenRegular(answers)
	if err != nil {
		return nil, Usagef("--answers %s: %w", answers, err)
	}
	defer func() { _ = file.Close() }()
	list, err := corpus.ReadAnswers(file)
	if err != nil {
		return nil, Usagef("--answers %s: %w", answers, err)
	}
	s, err := f.Score(list)
	if err != nil {
		return nil, Usagef("failed to read the corpus: %w", err)
	}
	return s, nil
}
