package explore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Soak says how to let a lock live for long: in epochs, each with faults of its own, that follow one another in the same world.
type Soak struct {
	// Search says what lives, what is judged, and which faults may be drawn. First is the seed of all epochs.
	Search
	// Length is about how long an epoch is.
	Length time.Duration
	// Lives makes the place in which the epochs are; nil: the virtual world.
	Lives func() Lives
	// Told is called at the end of each epoch.
	Told func(*Epoch) error
}

// Lives is a place in which runs follow one another.
type Lives interface {
	// Live opens a world whose first epoch is c. Its epochs need these powers.
	Live(ctx context.Context, c runner.Config, needs []world.Power) (Living, error)
}

// Living is a life (runner.Life).
type Living interface {
	Epoch(c runner.Config) (runner.Outcome, error)
	Over() string
	Left() []string
	Close() error
}

// Live implements Lives.
func (h *Virtual) Live(ctx context.Context, c runner.Config, needs []world.Power) (Living, error) {
	c.Open = func(spec world.Spec) (world.World, error) { return h.Open(ctx, spec) }
	return runner.Live(c, needs...)
}

// Plan is what an epoch is to be: a function of the soak and the epoch's number alone.
type Plan struct {
	Setup scenario.Setup
	Seed  uint64
	// Calm: it has no faults.
	Calm bool
}

// Epoch is what came of one. Its plan and its history are the caller's until it returns.
type Epoch struct {
	Number uint64
	// Life is the number of the first epoch of its life.
	Life uint64
	Plan
	// Took is how long it was, in the time of its world.
	Took time.Duration
	// Sections is how often clients asked for the lock, Granted how often they were granted it.
	Sections, Granted uint64
	// Struck is how many faults took effect, by their kind.
	Struck map[string]uint64
	// Verdicts are those on the properties. Doubted are violations that rest on the word of the lock alone.
	Verdicts []checker.Finding
	Doubted  []checker.Property
	// Waited are the clients that were not granted the lock when all had healed.
	Waited []runner.Called
	// RollCall is how many clients were asked then.
	RollCall int
	// Found are the keys that an earlier epoch had left.
	Found []string
	// Failed says why it tells nothing, Slow for what the machine was too slow; empty: for nothing. Unfinished: it came to its time limit.
	Failed, Slow string
	Unfinished   bool
	// Over is why the next epoch begins another life; empty: it does not.
	Over    string
	History *history.History
}

// Violated are the properties that the epoch violated; confirmed: those that the nodes confirm alone.
func (e *Epoch) Violated(confirmed bool) (list []checker.Property) {
	for i := range e.Verdicts {
		f := &e.Verdicts[i]
		if f.Verdict == checker.Violated && (!confirmed || !slices.Contains(e.Doubted, f.Property)) {
			list = append(list, f.Property)
		}
	}
	return list
}

const (
	// calmOf: one of so many epochs is calm.
	calmOf = 4
	// mostSections bounds the sections of a client in an epoch, and so its history. mostIdle is how many times as long as a section clients
	// rest at most between two of them.
	mostSections, mostIdle = 120, 2
	// mostSchedules is how many schedules of a search an epoch has at most, mostOfEpoch how many faults.
	mostSchedules, mostOfEpoch = 5, 20
	// sectionTakes is what a section takes beside its think time, about.
	sectionTakes = 20 * time.Millisecond
)

// Plan is the plan of an epoch.
func (s *Soak) Plan(number uint64) (*Plan, error) {
	setup, err := s.setup()
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(s.First, 0x736f616b+number))
	s.lengthen(setup, r.IntN(mostIdle+1))
	p := &Plan{Seed: r.Uint64() >> 1, Calm: r.IntN(calmOf) == 0, Setup: *setup}
	if p.Calm {
		p.Setup.Faults.List = nil
		return p, nil
	}
	d, err := s.drawer(setup)
	if err != nil {
		return nil, err
	}
	var list []scenario.Fault
	for range 1 + r.IntN(mostSchedules) {
		for _, f := range clone(d.draw(r.Uint64())) {
			s.spread(r, &f, setup)
			if list = append(list, f); len(list) > mostOfEpoch || !d.allows(list, len(list)-1) {
				list = list[:len(list)-1]
			}
		}
	}
	p.Setup.Faults.List = append(slices.Clone(setup.Faults.List), list...)
	return p, nil
}

// spread lets a fault of a schedule strike at some time of the epoch.
func (s *Soak) spread(r *rand.Rand, f *scenario.Fault, setup *scenario.Setup) {
	switch {
	case f.At != nil:
		at := *f.At + time.Duration(r.Int64N(int64(s.Length)*4/5)).Truncate(time.Millisecond)
		f.At = &at
	case f.On != nil && f.On.Point != "":
		f.On.Nth = 1 + r.IntN(setup.Workload.Sections)
	case f.On != nil && f.On.Since == nil:
		f.On.Nth += r.IntN(2 * setup.Workload.Sections)
	}
}

// lengthen lets the clients of a setup be busy for about as long as an epoch is: one section after the other, or with so many times a
// section between two of them.
func (s *Soak) lengthen(setup *scenario.Setup, idle int) {
	w := &setup.Workload
	kind := w.Workload()
	each := (w.Think + sectionTakes) * time.Duration(max(w.Clients, 1)) // one after the other
	if kind.Ticks {
		each = max(w.Tick, w.Hold)
	} else {
		w.Rest += each * time.Duration(idle)
	}
	w.Sections = max(w.Sections, min(int(s.Length/(each+w.Rest)), mostSections))
	if kind.Most > 0 {
		w.Sections = min(w.Sections, kind.Most/max(w.Clients, 1))
	}
	if rest := s.Length/time.Duration(max(w.Sections, 1)) - each; !kind.Ticks && rest > w.Rest {
		w.Rest = rest.Truncate(time.Millisecond)
	}
	setup.HealAfter = s.Length
	setup.TimeLimit = max(setup.TimeLimit, 4*s.Length+20*setup.GrantWithin)
}

// needs are the powers that epochs may need.
func (s *Soak) needs(setup *scenario.Setup) (list []world.Power) {
	list = append(setup.Needs(), world.MessagePower)
	for _, name := range suffered(setup.Cast(), s.Kinds) {
		kind, _ := nemesis.Lookup(strings.TrimSuffix(name, "-message"))
		list = append(list, kind.Powers...)
		switch name {
		case "kill":
			if list = append(list, world.PowerCutPower); setup.Cast().Tears {
				if list = append(list, world.TearPower); s.Real != nil {
					list = append(list, world.FlipPower)
				}
			}
		case "clock":
			list = append(list, world.NodeClockPower, world.ClientClockPower)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Run lets the lock live through some epochs, from one on, which begins a life. It ends early when the context does.
func (s *Soak) Run(ctx context.Context, from, epochs uint64) error {
	setup, err := s.setup()
	if err != nil {
		return err
	}
	if _, err := s.drawer(setup); err != nil {
		return err
	}
	k := &soaking{Soak: s, bench: s.bench(ctx), needs: s.needs(setup)}
	defer k.bench.close()
	defer func() { k.end() }()
	for n := from; n-from < epochs && ctx.Err() == nil; n++ {
		e, err := k.epoch(ctx, n)
		if err == nil {
			err = s.Told(e)
		}
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return err
		}
		if e.Over != "" {
			k.end()
		}
	}
	return nil
}

// soaking is a soak under way.
type soaking struct {
	*Soak
	bench *bench
	needs []world.Power
	lives Lives
	// living is the life that goes on, since the epoch first; nil: none does.
	living Living
	first  uint64
	events []history.Event
	failed inRow
}

// end ends the life.
func (k *soaking) end() {
	if k.living != nil {
		_ = k.living.Close() // what was wrong with it the epoch has told
		k.living = nil
	}
}

// config is an epoch for the runner.
func (k *soaking) config(p *Plan) runner.Config {
	v := scenario.Variant{Name: scenario.DefaultVariant, Setup: p.Setup}
	for _, property := range k.Properties {
		if property.Probed() {
			v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: property, Verdict: checker.Holds})
		}
	}
	return runner.Config{Scenario: k.Scenario.Name, Variant: v, Seed: p.Seed, World: "virtual", Reuse: k.events}
}

func (k *soaking) epoch(ctx context.Context, n uint64) (*Epoch, error) {
	p, err := k.Plan(n)
	if err != nil {
		return nil, err
	}
	e := &Epoch{Number: n, Plan: *p, Struck: make(map[string]uint64)}
	c := k.config(p)
	if k.living == nil {
		if err := k.begin(ctx, c, n); err != nil {
			if ctx.Err() != nil {
				return nil, context.Canceled
			}
			e.Life, e.Failed, e.Over = n, err.Error(), err.Error()
			return e, k.failed.count(&result{failed: err})
		}
	}
	e.Life, e.Found = k.first, k.living.Left()
	out, err := k.living.Epoch(c)
	if out.Interrupted || ctx.Err() != nil {
		return nil, context.Canceled
	}
	e.Over, e.History, e.Slow, e.Unfinished = k.living.Over(), out.History, out.TooSlow, out.TimedOut
	k.events = out.History.Events
	k.look(e)
	if err != nil {
		e.Failed = err.Error()
		return e, k.failed.count(&result{failed: err, slow: out.TooSlow})
	}
	k.failed = inRow{}
	k.judge(ctx, e, &out)
	if ctx.Err() != nil {
		return nil, context.Canceled
	}
	return e, nil
}

// begin begins a life. Its world is one of the soak's seed, whatever epoch it begins with.
func (k *soaking) begin(ctx context.Context, c runner.Config, n uint64) (err error) {
	if k.lives == nil && k.Lives != nil {
		k.lives = k.Lives()
	} else if k.lives == nil {
		k.lives = &Virtual{}
	}
	c.Seed = k.First
	k.first = n
	k.living, err = k.lives.Live(ctx, c, k.needs)
	return err
}

// look counts what happened.
func (k *soaking) look(e *Epoch) {
	for i := range e.History.Events {
		x := &e.History.Events[i]
		e.Took = x.Time
		switch {
		case x.F == history.FaultBegin:
			e.Struck[x.Value.Fault()]++
		case x.F != history.Acquire || x.Value.Inner():
		case x.Type == history.Invoke:
			e.Sections++
		case x.Type == history.OK:
			e.Granted++
		}
	}
}

// judge judges an epoch by its own history.
func (k *soaking) judge(ctx context.Context, e *Epoch, out *runner.Outcome) {
	v := verdicts{history: e.History, unfinished: out.TimedOut}
	v.findings = checker.Judge(ctx, e.History, k.Properties, k.bench.options(&e.Setup))
	if out.TooSlow != "" {
		v.excuse(out.TooSlow)
	}
	if k.Real != nil && !k.Real.Own {
		e.Doubted = unconfirmed(v.findings, e.History)
	}
	e.Verdicts, e.RollCall = v.findings, len(out.RollCall)
	for _, c := range out.RollCall {
		if !c.Granted && out.TooSlow == "" {
			e.Waited = append(e.Waited, c)
		}
	}
}

// Alone makes the run of an epoch alone, in a world of its own, and says which properties it violates there.
func (s *Soak) Alone(ctx context.Context, p *Plan) ([]checker.Property, error) {
	b := s.bench(ctx)
	defer b.close()
	v, err := b.run(&p.Setup, p.Seed, s.Properties)
	if err = errors.Join(err, v.failed); err != nil {
		return nil, err
	}
	var list []checker.Property
	for _, property := range s.Properties {
		if v.shows(property, true) {
			list = append(list, property)
		}
	}
	return list, nil
}

// Needed is how many epochs it takes, up to one and with it, in a life of their own, until that one violates a property; 0: all that were
// tried do not. It tries twice as many each time, from 1 on, and most at most.
func (s *Soak) Needed(ctx context.Context, number, most uint64, violates func(*Epoch) bool) (uint64, error) {
	for epochs := uint64(1); epochs <= min(most, number+1); epochs *= 2 {
		shown := false
		again := *s
		again.Told = func(e *Epoch) error {
			shown = shown || e.Number == number && e.Life == number+1-epochs && violates(e)
			return nil
		}
		if err := again.Run(ctx, number+1-epochs, epochs); err != nil || shown {
			return epochs, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 0, nil
}

// ShrinkEpoch makes what an epoch showed alone smaller.
func (s *Soak) ShrinkEpoch(ctx context.Context, p *Plan, found Found) (*Shrunk, error) {
	found.Seed = p.Seed
	setup := p.Setup
	setup.Faults.List = clone(p.Setup.Faults.List)
	return s.shrinkSetup(ctx, &setup, found)
}
