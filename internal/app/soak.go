package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// SoakResult is what a soak came to.
type SoakResult struct {
	// Request is what was asked, with the world and the variant that were taken, Properties those that were judged.
	Request request.Soak
	// Scenario, Variant and Lock name what lived.
	Scenario, Variant, Lock string
	// Servers: real servers took part.
	Servers    bool
	Properties []checker.Property
	Kinds      []string
	SoakTally
	// Known are the seeds of earlier soaks, and what became of each; Gained those that this one added.
	Known, Gained []KnownSeed
	// Proved: a violation is for certain. Untold says why a soak that found nothing tells nothing.
	Proved bool
	Untold string
	// Again is the command line that lets the same lock live again.
	Again string
}

// SoakFound is the first epoch of a kind of violation.
type SoakFound struct {
	// What was violated: the properties, and whether a client was not granted the lock any more.
	What       string             `json:"what"`
	Epoch      uint64             `json:"epoch"`
	Properties []checker.Property `json:"properties,omitempty"`
	// Waited says which client did not get the lock, and why.
	Waited string `json:"waited,omitempty"`
	// History is the file with the epoch's history, Again the command line that repeats it: Epochs epochs in a life of their own.
	History string `json:"history"`
	Again   string `json:"again"`
	Epochs  uint64 `json:"epochs"`
	// Alone: the epoch shows it alone, in a run of its own. Note says what else is known.
	Alone bool   `json:"alone,omitempty"`
	Note  string `json:"note,omitempty"`
	// Confirmed: the nodes confirm it.
	Confirmed bool `json:"confirmed"`
	// Found is the scenario that shows it, and its page; nil: none does.
	Found *Found `json:"found,omitempty"`

	plan *explore.Plan
	life uint64
}

// Soaking says how far a soak is, SoakSaw that an epoch showed something new, Soaked that all epochs are over. SoakKnown tells of a seed
// of an earlier soak.
type (
	Soaking   struct{ *SoakResult }
	SoakSaw   struct{ *SoakFound }
	SoakKnown struct{ *KnownSeed }
	Soaked    struct{ *SoakResult }
)

func (Soaking) event()   {}
func (SoakSaw) event()   {}
func (SoakKnown) event() {}
func (Soaked) event()    {}

// Bounds of a soak.
const (
	// mostKindsKept is how many kinds of violations are kept.
	mostKindsKept = 12
	// neededWithin is how long it is looked how many epochs a violation needs, of each; explainsWithin how long all of them are looked at.
	neededWithin, explainsWithin = 2 * time.Minute, 15 * time.Minute
	// shortestEpoch and longestEpoch bound the length of an epoch.
	shortestEpoch, longestEpoch = time.Second, 10 * time.Minute
)

// Soak lets a lock live for long.
func Soak(ctx context.Context, env *Env, r request.Soak, l Listener) (*SoakResult, error) {
	s, err := newSoaking(ctx, env, r, l)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.begin(); err != nil {
		return nil, err
	}
	l.tell(Started{})
	if err := s.askKnown(ctx); err != nil {
		return nil, s.real.blamed(interruptedOr(ctx, err))
	}
	if err := s.live(ctx); err != nil {
		return nil, s.real.blamed(err)
	}
	l.tell(Phase{})
	l.tell(Soaked{s.soaked})
	if err := s.explain(ctx); err != nil {
		return nil, interruptedOr(ctx, err)
	}
	s.soaked.conclude()
	return s.soaked, s.keepSeeds()
}

// soaking is a soak under way.
type soaking struct {
	*searching
	soak   explore.Soak
	soaked *SoakResult
	known  *seedTable
	state  soakState
	began  time.Time
}

// newSoaking finds what is to live: as a search does.
func newSoaking(ctx context.Context, env *Env, r request.Soak, l Listener) (*soaking, error) {
	if err := checkSoak(&r); err != nil {
		return nil, err
	}
	of := request.Search{World: r.World, Nodes: r.Nodes, Redis: r.Redis, Lock: r.Lock, Target: r.Target, Seed: r.Seed, Seeds: 1,
		Drawing: explore.Drawing{Kinds: r.Kinds, Bare: r.Bare}, Place: request.Place{Jobs: 1, Out: r.Out}}
	if err := env.settleSearch(ctx, &of, l); err != nil {
		return nil, err
	}
	if err := checkSearch(&of); err != nil {
		return nil, err
	}
	out := &SearchResult{Request: of}
	s := &soaking{searching: &searching{Env: env, listener: l, out: out}}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	r.World, r.Nodes, r.Variant = out.Request.World, out.Request.Nodes, out.Request.Variant
	s.soaked = &SoakResult{Request: r, Scenario: out.Of.Scenario.Name, Variant: out.Of.Variant, Lock: r.Lock, Properties: out.Of.Properties}
	if err := s.prepareLives(ctx); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// prepareLives says where the lock lives.
func (s *soaking) prepareLives(ctx context.Context) error {
	v, err := VariantOf(s.out.Of.Scenario, s.out.Of.Variant)
	if err != nil {
		return err
	}
	if setup := &v.Setup; setup.Resource.Shared() || setup.Resource.Store == "postgres" {
		return Usagef("%s: the resource of a soak has a store of its own, which is emptied before each epoch", s.out.Of.Scenario.File).
			Hint("leave out resource.store, or use sim search")
	}
	if s.real != nil {
		if err := s.real.learn(ctx, &s.out.Of); err != nil {
			return err
		}
	}
	s.soak = explore.Soak{Search: s.out.Of, Length: time.Duration(s.soaked.Request.Length)}
	s.soaked.Kinds, s.soaked.Servers = s.out.Of.KindsDrawn(), s.real != nil
	if s.real == nil {
		return nil
	}
	s.soak.Lives = func() explore.Lives {
		if s.real.world == request.Live {
			return &trial.Place{ClientCommand: []string{s.real.self, "client"}, Redis: s.real.redis, Programs: s.real.programs}
		}
		return &trial.VirtualPlace{Server: s.real.server, Programs: s.real.programs}
	}
	return nil
}

// checkSoak refuses what does not go together.
func checkSoak(r *request.Soak) error {
	switch length := time.Duration(r.Length); {
	case length < shortestEpoch || length > longestEpoch:
		return Usagef("--length %v: want from %v to %v", length, shortestEpoch, longestEpoch)
	case r.For < 0 || r.For == 0 && r.Epochs == 0:
		return Usagef("say how long to soak: --for, or --epochs")
	case r.Resume && r.From > 0:
		return Usagef("--resume goes on behind the last epoch: it does not go with --from")
	}
	return nil
}

// begin reads what is known of earlier soaks.
func (s *soaking) begin() (err error) {
	if err := canStore(s.soaked.Request.Out); err != nil {
		return err
	}
	s.state = newSoakState(s)
	s.soaked.SoakTally = newTally(s.soaked.Request.From)
	if s.soaked.Request.Resume {
		if s.soaked.SoakTally, err = s.state.load(); err != nil {
			return err
		}
		s.soaked.Before = s.soaked.Epochs
	}
	s.known, err = readSeeds(s.soaked.Request.Seeds)
	return err
}

// errEnough ends a soak that was as long as was asked for.
var errEnough = errors.New("it was long enough")

// live lets the lock live.
func (s *soaking) live(ctx context.Context) error {
	r, t := &s.soaked.Request, &s.soaked.SoakTally
	s.began = time.Now()
	before := t.Took
	epochs := uint64(math.MaxUint64)
	if r.Epochs > 0 {
		epochs = r.Epochs - min(r.Epochs, t.Epochs)
	}
	s.soak.Told = func(e *explore.Epoch) error {
		t.take(e)
		t.Took = before + time.Since(s.began)
		if err := s.see(e); err != nil {
			return err
		}
		s.listener.tell(Soaking{s.soaked})
		if err := s.state.save(t, false); err != nil {
			return err
		}
		if r.Epochs == 0 && t.Virtual >= time.Duration(r.For) {
			return errEnough
		}
		return nil
	}
	if r.Epochs == 0 && t.Virtual >= time.Duration(r.For) {
		epochs = 0
	}
	err := s.soak.Run(ctx, t.Next, epochs)
	if t.Epochs > t.Before {
		t.measure()
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	if errors.Is(err, explore.ErrNobodyToStrike) {
		return Usagef("--kinds: %w", err)
	}
	return errors.Join(err, s.state.save(t, true))
}

// see keeps the first epoch of each kind of violation, and its history.
func (s *soaking) see(e *explore.Epoch) error {
	what, confirmed := whatOf(e)
	if what == "" {
		return nil
	}
	t := &s.soaked.SoakTally
	known := slices.ContainsFunc(t.Found, func(f *SoakFound) bool { return f.What == what && (f.Confirmed || !confirmed) })
	if known || len(t.Found) >= mostKindsKept {
		return nil
	}
	plan := e.Plan
	f := &SoakFound{What: what, Epoch: e.Number, Properties: e.Violated(confirmed), Confirmed: confirmed, plan: &plan, life: e.Life,
		Epochs: e.Number + 1 - e.Life}
	for _, c := range e.Waited {
		f.Waited = strings.TrimSuffix(fmt.Sprintf("%s was not granted the lock when everything had healed: %s", c.Client, c.Why), ": ")
		break
	}
	f.Again = s.repeat(f)
	f.History = filepath.Join(s.soaked.Request.Out, fmt.Sprintf("%.20s-soak-%d-%d.jsonl", s.soaked.Scenario, s.soaked.Request.Seed, e.Number))
	if err := machine.WriteFile(f.History, func(w io.Writer) error { return history.Encode(w, e.History) }); err != nil {
		return err
	}
	t.Found = append(t.Found, f)
	s.listener.tell(SoakSaw{f})
	return nil
}

// progressProperty is what a soak asks for beside the properties of histories: that each client gets the lock again.
const progressProperty = "progress"

// whatOf names what an epoch violated; empty: nothing. confirmed: the nodes confirm it.
func whatOf(e *explore.Epoch) (what string, confirmed bool) {
	list := e.Violated(true)
	if confirmed = len(list) > 0 || len(e.Waited) > 0; !confirmed {
		list = e.Violated(false)
	}
	var names []string
	for _, p := range list {
		names = append(names, string(p))
	}
	if len(e.Waited) > 0 {
		names = append(names, progressProperty)
	}
	return strings.Join(names, together), confirmed
}

// shows reports that an epoch violates the first of what was violated before: others may come along with it.
func shows(e *explore.Epoch, what string) bool {
	is, _ := whatOf(e)
	first, _, _ := strings.Cut(what, together)
	return slices.Contains(strings.Split(is, together), first)
}

const together = " + "

// usualSoak is a soak as it is where no flag says otherwise.
var usualSoak = request.Soak{World: request.Virtual, Length: request.Duration(time.Minute)}

// repeat is the command line that repeats what was found.
func (s *soaking) repeat(f *SoakFound) string {
	r := s.soaked.Request
	r.For, r.From, r.Epochs = 0, f.Epoch+1-f.Epochs, f.Epochs
	return request.Line([]string{"sim", "soak"}, &r, &usualSoak, "seed")
}

// again is the command line that lets the same lock live as long again.
func (s *soaking) again() string {
	r := s.soaked.Request
	r.For, r.Epochs, r.From = 0, s.soaked.Epochs, 0
	return request.Line([]string{"sim", "soak"}, &r, &usualSoak, "seed", "epochs")
}

// explain says of what was found whether its epoch shows it alone, and then makes it smaller; or how many epochs it needs.
func (s *soaking) explain(ctx context.Context) error {
	s.soaked.Again = s.again()
	ctx, cancel := context.WithTimeout(ctx, explainsWithin)
	defer cancel()
	for _, f := range s.soaked.Found {
		if f.plan == nil { // a soak before this one found it
			continue
		}
		if ctx.Err() != nil {
			f.Note = "no time was left to look closer"
			continue
		}
		if err := s.explainOne(ctx, f); err != nil && ctx.Err() == nil {
			return err
		}
		s.listener.tell(Phase{})
	}
	return s.state.save(&s.soaked.SoakTally, true)
}

func (s *soaking) explainOne(ctx context.Context, f *SoakFound) error {
	if s.soaked.Request.World == request.Live { // which does not repeat
		f.Note = "in real time no epoch repeats exactly: its history shows it"
		return nil
	}
	if err := s.countNeeded(ctx, f); err != nil || len(f.Properties) == 0 {
		return err
	}
	p := f.Properties[0]
	if slices.ContainsFunc(s.soaked.Found, func(o *SoakFound) bool { return o.Found != nil && o.Properties[0] == p }) {
		return nil // another epoch has led to a scenario that shows it
	}
	s.listener.tell(Phase{fmt.Sprintf("%s: does epoch %d show it alone?", p, f.Epoch)})
	alone, err := s.soak.Alone(ctx, f.plan)
	if err != nil {
		f.Note += fmt.Sprintf("; its run alone failed: %v", err)
		return nil
	}
	if f.Alone = slices.Contains(alone, p); f.Alone {
		return s.shrinkOne(ctx, f, p)
	}
	f.Note += "; a run with its faults alone does not show it"
	return nil
}

// countNeeded looks how many epochs a violation needs.
func (s *soaking) countNeeded(ctx context.Context, f *SoakFound) error {
	s.listener.tell(Phase{fmt.Sprintf("%s: how many epochs does it need?", f.What)})
	limited, cancel := context.WithTimeout(ctx, neededWithin)
	defer cancel()
	n, err := s.soak.Needed(limited, f.Epoch, f.Epochs, func(e *explore.Epoch) bool { return shows(e, f.What) })
	switch {
	case err == nil && n == 1:
		f.Epochs, f.Note = 1, "its epoch shows it in a fresh life"
	case err == nil && n > 0:
		f.Epochs, f.Note = n, fmt.Sprintf("its epoch alone does not show it: it needs what up to %d epochs before it left", n-1)
	default:
		f.Note = fmt.Sprintf("it shows in the life of %d epochs; fewer were not seen to show it", f.Epochs)
	}
	f.Again = s.repeat(f)
	if limited.Err() != nil {
		return ctx.Err()
	}
	return err
}

// shrinkOne makes what an epoch shows alone an ordinary find: a scenario with few faults, and its page.
func (s *soaking) shrinkOne(ctx context.Context, f *SoakFound, p checker.Property) error {
	s.listener.tell(Phase{fmt.Sprintf("%s: shorter?", p)})
	k, err := s.soak.ShrinkEpoch(ctx, f.plan, explore.Found{Run: f.Epoch - s.out.Of.First, Class: string(p), Property: p})
	if err != nil {
		return err
	}
	s.madeBy = fmt.Sprintf("%s, epoch %d", f.Again, f.Epoch)
	one, err := s.keepOne(ctx, k)
	if err != nil {
		return err
	}
	f.Found = &one
	return nil
}

// conclude says what a soak is worth.
func (r *SoakResult) conclude() {
	for _, f := range r.Found {
		r.Proved = r.Proved || f.Confirmed && (f.Found == nil || f.Found.Proved)
	}
	for i := range r.Known {
		r.Proved = r.Proved || r.Known[i].State == SeedSeen
	}
	judged := uint64(0)
	for _, p := range r.ByProperty {
		judged = max(judged, p.Judged)
	}
	switch lost := r.Failed + r.Slow + r.Unfinished; {
	case r.Epochs == 0:
		r.Untold = "no epoch came to its end"
	case 10*lost > r.Epochs:
		r.Untold = fmt.Sprintf("%d of %d epochs tell nothing: %s", lost, r.Epochs, r.Failure)
	case judged == 0:
		r.Untold = "no epoch put any of the properties to the test"
	}
}
