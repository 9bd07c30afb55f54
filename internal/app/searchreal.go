package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// realSearch is what a search with real servers needs beside what it searches, in real or in virtual time.
type realSearch struct {
	world    string
	programs *trial.Programs
	self     string
	// server is the program of servers in virtual time, redis that of those in real time, as server.FindRedis takes it.
	server, redis string
	// twin is the lock as a built-in one, which runs on models, too; nil: it is none of ours.
	twin *scenario.StandIn
	// own is the lock in the place of the scenario's; nil: there is none.
	own *scenario.StandIn
	// ready is what the lock says of itself; nil: it is the scenario's own, and a built-in one.
	ready *program.Ready
	// program is the lock program; nil: it is a built-in lock.
	program *lock.Program
	// commands are those that the lock sent in a run without faults; nil: that is not known yet.
	commands []string
	// kept has what stays from run to run in virtual time.
	kept *trial.Kept
	// leave ends what is left on the machine.
	leave func()
}

// The scenario of a search where none is named.
const (
	// liveTTL is the TTL where the lock allows it, virtualTTL that in virtual time. Nobody waits there, and then faults may last longer than
	// grantAfter.
	liveTTL    = 200 * time.Millisecond
	virtualTTL = time.Second
	// failoverTTL is that in a Redis Cluster and under Redis Sentinel, where a node is taken for failed after failsAfter: a failover, which
	// takes several times as long, ends within a lease.
	failoverTTL = 5 * time.Second
	failsAfter  = time.Second
	// grantAfter is how much longer than the TTL, or than a section that lasts longer, it may take until somebody is granted the lock.
	grantAfter = time.Second
)

// searchTarget is what is searched: the scenario, or where there is none one for the lock's class, with the lock in the place of the
// scenario's own.
func (e *Env) searchTarget(
	ctx context.Context, r *request.Search, listener Listener,
) (s *scenario.Scenario, v *scenario.Variant, l *realSearch, err error) {
	own, err := e.standIn(r.Lock)
	if err != nil {
		return nil, nil, nil, err
	}
	var list []*scenario.Scenario
	if r.Scenario != "" {
		if s, err = LoadOne(r.Scenario); err != nil {
			return nil, nil, nil, err
		}
		if v, err = VariantOf(s, r.Variant); err != nil {
			return nil, nil, nil, err
		}
		r.Variant = v.Name
		list = append(list, s)
	}
	switch {
	case own == nil && s == nil:
		return nil, nil, nil, Usagef("name a scenario, or a lock with --lock").Hint("sim list lists the scenarios")
	case s == nil && r.Variant != "":
		return nil, nil, nil, Usagef("--variant is one of a scenario: name that, too")
	case s != nil && r.Topology != "":
		return nil, nil, nil, Usagef("--topology is for a search without a scenario: %s says how its nodes are arranged", s.File)
	case own == nil:
		if err := e.checkPrograms(list); err != nil {
			return nil, nil, nil, err
		}
	}
	l = &realSearch{world: r.World, redis: r.Redis, own: own, leave: func() {}}
	where := "--lock"
	if own != nil {
		l.program = own.Program
	} else {
		where, l.program = s.File, v.Setup.Lock.Program
	}
	nodes, err := nodesOf(r, r.Topology == program.Clustered || v != nil && v.Setup.Nodes.Clustered())
	if err == nil {
		err = l.find(ctx, r, nodes, where)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if l.isReal() {
		if l.kept, l.leave, err = e.enterKept(ctx, listener); err != nil {
			return nil, nil, nil, err
		}
	}
	if l.programs, err = trial.Greet(ctx, list, own, r.World); err != nil {
		err = interruptedOr(ctx, err)
	} else {
		s, v, err = e.place(l, s, v, r.Topology)
	}
	if err != nil {
		l.leave()
	}
	return s, v, l, err
}

// isReal reports that real servers take part.
func (l *realSearch) isReal() bool { return l.world == request.Live || l.server != "" }

// nodesOf says where the nodes of a search come from: those of a Redis Cluster are real servers in virtual time.
func nodesOf(r *request.Search, clustered bool) (string, error) {
	switch {
	case !clustered:
		return r.Nodes, nil
	case r.World == request.Live:
		return "", Usagef("%s", world.NoLiveCluster)
	case server.Provider(r.Nodes) == trial.Model:
		return "", Usagef("%s", world.NoModelOfCluster)
	}
	return string(server.Process), nil
}

// find finds the program of the servers, where there are any.
func (l *realSearch) find(ctx context.Context, r *request.Search, nodes, where string) (err error) {
	if l.self, err = Self(); err != nil {
		return err
	}
	if r.World == request.Live {
		if _, err := server.FindRedis(r.Redis); err != nil {
			return &trial.EnvironmentError{Err: err, Hint: "sim doctor says what is missing"}
		}
		return nil
	}
	l.server, err = serverFor(ctx, nodes, r.Redis, virtualLock{where, l.program})
	return err
}

// place puts the lock in the place of the scenario's own, or of that of one with such a topology, and refuses what cannot be had.
func (e *Env) place(
	l *realSearch, s *scenario.Scenario, v *scenario.Variant, topology string,
) (_ *scenario.Scenario, _ *scenario.Variant, err error) {
	if own := l.own; own != nil {
		l.ready = &own.Ready
		if l.twin, err = e.twinOf(own, l.self); err != nil {
			return nil, nil, err
		}
		if own.Ready.Elsewhere() {
			return nil, nil, Usagef("--lock %s: its keys are in %s, where sim does not see them: nothing that a search found could be confirmed",
				own.Command(), own.Ready.Store)
		}
		if a, _ := lock.Lookup(own.BuiltIn.Algorithm); own.Program == nil && a.Replicas {
			topology = cmp.Or(topology, program.Replicated)
		}
		if s, err = withLock(own, s, v, l.world, topology); err != nil {
			return nil, nil, err
		}
		v = &s.Variants[0]
		if why := own.NotApplicable(&v.Setup); why != "" {
			return nil, nil, Usagef("%s is not applicable: %s", s.File, why)
		}
	} else if l.ready = l.programs.Of(v.Setup.Lock.Program); l.ready == nil {
		l.twin = scenario.NewBuiltIn(v.Setup.Lock, e.Version)
	}
	if l.server != "" {
		place := trial.VirtualPlace{Server: l.server, Programs: l.programs}
		if why := place.Refusal(v); why != "" {
			return nil, nil, Usagef("%s cannot be searched on real servers in virtual time: %s", s.File, why)
		}
	}
	return s, v, nil
}

// twinOf is the built-in lock that stands in, or that this very program is as a lock program.
func (e *Env) twinOf(own *scenario.StandIn, self string) (*scenario.StandIn, error) {
	if own.Program == nil {
		return own, nil
	}
	words := own.Program.Command
	if path, err := exec.LookPath(words[0]); err == nil && len(words) > 2 && words[1] == "lock" {
		if path, err = filepath.Abs(path); err == nil && path == self {
			return e.standIn(shellquote.Join(words[2:]...))
		}
	}
	return nil, nil
}

// withLock is the scenario, in one variant, with another lock in the place of its own; without a
// scenario one that suits the lock's class.
func withLock(own *scenario.StandIn, s *scenario.Scenario, v *scenario.Variant, world, topology string) (*scenario.Scenario, error) {
	if s == nil {
		var err error
		if s, err = scenarioFor(&own.Ready, world, topology); err != nil {
			return nil, err
		}
		v = &s.Variants[0]
	}
	placed := v.With(own)
	placed.Setup.Faults.Mix = nil
	head := s.Head
	head.Source, head.Story, head.Guarantee = "", "", scenario.NoGuarantee
	text, err := scenario.Encode(nil, head, &placed.Setup, nil)
	if err != nil {
		return nil, err
	}
	return scenario.Parse(s.File, []byte(text))
}

// nodesFor are the nodes of a search that is asked for one of request.Topologies, as a scenario has them; all of these fail over.
func nodesFor(topology string) string {
	switch topology {
	case program.Clustered:
		return "nodes: {topology: cluster, node_timeout: " + failsAfter.String() + "}\n"
	case program.Watched:
		return "nodes: {topology: sentinel, count: 3, down_after: " + failsAfter.String() + "}\n"
	}
	return ""
}

// scenarioFor is a scenario for a search with a lock of which only is known what it says itself.
func scenarioFor(r *program.Ready, in, topology string) (*scenario.Scenario, error) {
	nodes, ttl := 1, liveTTL
	if in == request.Virtual {
		ttl = virtualTTL
	}
	arranged := nodesFor(topology)
	failsOver := arranged != ""
	if failsOver {
		ttl = failoverTTL
	}
	ttl = max(ttl, program.Duration(r.TTLMin))
	if step := program.Duration(r.TTLStep); step > 0 {
		ttl = (ttl + step - 1) / step * step
	}
	if r.Class == program.Quorum {
		nodes = 3
	}
	tokens := "none"
	if r.Has(program.TellsToken) && topology == "" { // a lock of ours draws none otherwise; nobody waits until a replica has the counter
		if tokens = "single-counter"; r.Class == program.Quorum {
			tokens = "quorum-counter"
		}
	}
	s, err := scenario.Parse("--lock", []byte("name: search\nlock: {algorithm: redlock}\nfencing: {tokens: "+tokens+"}\n"+arranged))
	if err != nil {
		return nil, err
	}
	setup := &s.Variants[0].Setup
	setup.Lock.TTL, setup.Lock.NodeTimeout = ttl, max(ttl/10, 10*time.Millisecond)
	setup.Lock.Retry.Attempts, setup.Lock.Retry.Delay, setup.Lock.Retry.Jitter = 20, ttl/10, ttl/10
	setup.Nodes.Persistence = world.AOFNo
	switch {
	case failsOver:
		setup.Workload.WarmUp = true
	case topology == program.Replicated:
		setup.Nodes.Count, setup.Nodes.Topology = 2, topology
	default:
		setup.Nodes.Count = nodes
	}
	setup.Workload.Sections, setup.Workload.Think = 3, ttl/2 // what is late finds a holder
	if r.Has(program.HasPermits) {
		setup.Lock.Permits, setup.Workload.Clients, setup.Workload.Start = 2, 3, workload.Together
	}
	if r.Has(program.HasModes) {
		setup.Workload.Readers, setup.Workload.Clients, setup.Workload.Start = 2, 3, workload.Together
		setup.Workload.Upgrade = r.Has(program.CanUpgrade)
	}
	if r.Has(program.KeepsOrder) {
		setup.Lock.Fair, setup.Workload.Clients, setup.Workload.Start = true, 3, workload.Together
	}
	if r.Has(program.Renews) {
		setup.Workload.Think = ttl * 17 / 10 // what was promised first ends in a section
	}
	longest := max(ttl, setup.Workload.Think)
	setup.GrantWithin, setup.TimeLimit = longest+grantAfter, 10*longest+10*time.Second
	if r.Has(program.IsSeveral) { // where a release is never answered, those of its process are to be asked whether they get the lock
		setup.HealAfter = setup.TimeLimit / 2
	}
	if setup.Workload.Upgrade { // readers that wait for one another still do so for longer than the bound once the faults are lifted
		setup.HealAfter = 2 * ttl
		setup.Lock.Retry.Attempts += int(2 * setup.GrantWithin / setup.Lock.Retry.Delay)
	}
	return s, nil
}

// lockProperties are those that are asked of a lock where none is named: those that depend on the lock
// alone, and not on what a client does whose lease has ended.
func lockProperties(r *program.Ready, s *scenario.Setup, waits bool) []checker.Property {
	list := []checker.Property{checker.ExclusiveLease, checker.BackedGrant,
		checker.OwnerRelease, checker.ToldAtRelease, checker.NoResurrection, checker.NoOrphanLock, checker.NothingStays, checker.DeadlockFree}
	if s.Nodes.Count > 2 && !s.Nodes.Replicated() {
		list = append(list, checker.MinorityTolerant)
	}
	if r != nil && (r.Has(program.TellsLoss) || r.Has(program.Extends)) { // who is refused more time is told, too
		list = append(list, checker.ToldWhenLost, checker.NoFalseAlarm)
	}
	if r != nil && s.Lock.Program != nil {
		list = append(list, checker.AsksItsTTL, checker.TrueValidity, checker.KeepsRunning)
	}
	if r != nil && r.Has(program.Renews) {
		list = append(list, checker.StaysHeld)
	}
	failsOver := s.Cast().FailsOver()
	list = slices.DeleteFunc(list, func(p checker.Property) bool {
		switch p {
		case checker.DeadlockFree: // who waits for a replica has none after a promotion, and there may be no primary, or two
			return waits || failsOver
		case checker.NothingStays: // a release goes to the new primary, and the old one keeps its key
			return failsOver
		}
		return false
	})
	list = s.Judged(list)
	if r != nil && r.Has(program.TellsToken) && !slices.Contains(list, checker.OrderedTokens) {
		list = append(list, checker.OrderedTokens)
	}
	return list
}

// prepare makes a search one with real servers.
func (l *realSearch) prepare(listener Listener, s *explore.Search) {
	s.Real = &explore.Real{Own: l.twin != nil, Wakes: l.ready != nil && l.ready.Has(program.Wakes)}
	if l.world == request.Live {
		s.Live = &explore.Live{}
		s.Place = func() explore.Place {
			return &trial.Place{ClientCommand: []string{l.self, "client"}, Redis: l.redis, Programs: l.programs}
		}
	} else {
		s.Place = func() explore.Place { return &trial.VirtualPlace{Server: l.server, Programs: l.programs, Kept: l.kept} }
		s.Fresh = func() explore.Place { return &trial.VirtualPlace{Server: l.server, Programs: l.programs} }
	}
	var telling sync.Mutex
	s.Phase = func(text string) {
		telling.Lock()
		defer telling.Unlock()
		listener.tell(Phase{text})
	}
}

// learn makes a run without faults, to know what the lock sends.
func (l *realSearch) learn(ctx context.Context, s *explore.Search) (err error) {
	if s.From != nil {
		l.commands = s.From.Commands
	}
	if l.commands == nil {
		s.Phase("a run without faults")
		l.commands, err = s.Commands(ctx)
		s.Phase("")
	}
	s.Real.Commands = l.commands
	return l.blamed(interruptedOr(ctx, err))
}

// waitsForReplicas is the command by which a lock on one node waits until replicas have its key.
const waitsForReplicas = "WAIT"

// replicate makes another scenario, with a replica, for a lock program that waits for replicas, as a run without faults shows. nil: it does
// not wait.
func (l *realSearch) replicate(ctx context.Context, s *explore.Search) (*scenario.Scenario, error) {
	if l.program == nil || l.ready.Class != program.Single {
		return nil, nil
	}
	err := l.learn(ctx, s)
	if !slices.Contains(l.commands, waitsForReplicas) {
		return nil, err
	}
	l.commands = nil
	return withLock(l.own, nil, nil, l.world, program.Replicated)
}

// blamed is an error of a search; where the lock program is to blame, it says what to do.
func (l *realSearch) blamed(err error) error {
	var lock *explore.LockError
	if l == nil || !errors.As(err, &lock) {
		return err
	}
	if l.program == nil {
		return Usagef("there is nothing to search: %w", err).
			Hint("sim run shows such a run; the scenario, its faults or --kinds do not go with the lock")
	}
	return &trial.EnvironmentError{Err: err, Hint: trial.HintFor(l.program, err)}
}

// shrunk shrinks what was found. What was found in real time is repeated for that, and with a lock of ours it is looked for in the virtual
// world: what repeats there for certain comes first.
func (l *realSearch) shrunk(ctx context.Context, s explore.Search, list []explore.Found) (all []*explore.Shrunk, err error) {
	if s.Live == nil {
		return s.ShrinkBest(ctx, list)
	}
	found, err := s.ShrinkLive(ctx, list)
	if err != nil || l.twin == nil {
		return found, err
	}
	for _, k := range found {
		if ctx.Err() != nil {
			break
		}
		setup := scenario.Variant{Setup: k.Setup}.With(l.twin).Setup
		s.Phase(fmt.Sprintf("%s: in the virtual world", k.Property))
		certain, err := explore.InVirtual(ctx, &setup, k.Found)
		if err != nil && ctx.Err() == nil {
			return all, err
		}
		if certain != nil {
			all = append(all, certain)
		}
	}
	return append(all, found...), nil
}

// ofLock reports that a search asks for a lock, and not for what a scenario shows: then what counts, and what is drawn, is what a lock is
// meant for.
func ofLock(r *request.Search, s *scenario.Setup) bool { return r.Lock != "" || withReal(r, s) }

// withReal reports that real servers take part in a search.
func withReal(r *request.Search, s *scenario.Setup) bool {
	return r.World == request.Live || server.Provider(r.Nodes) == server.Process || s.Lock.Program != nil
}

// waits reports that a search takes the lock for one that waits for replicas: it had them put into the scenario.
func waits(r *request.Search, s *scenario.Setup) bool {
	return r.Scenario == "" && s.Nodes.Topology == program.Replicated
}

// drawFor lets a search for a lock draw what the lock is meant to survive, where no kinds are named.
func drawFor(of *explore.Search, r *request.Search, s *scenario.Setup) {
	if len(r.Kinds) == 0 && ofLock(r, s) {
		of.Kinds, of.Allows = survivable(s, waits(r, s))
		if s.Lock.Program == nil || of.Ready == nil || !of.Ready.Has(program.Cancels) {
			of.Kinds = slices.DeleteFunc(of.Kinds, func(k string) bool { return k == nemesis.Cancel })
		}
	}
}

// survivable are the faults that are drawn where no kinds are named, those that a lock on Redis is meant to
// survive: no clock is moved, no node loses what it knew, and no replica is promoted unless the lock waits for it. Who searches in a Redis
// Cluster asks what becomes of the lock when another node has its slot.
func survivable(s *scenario.Setup, waits bool) (kinds []string, allows func(*scenario.Fault) bool) {
	kinds = slices.DeleteFunc(explore.Kinds(), func(k string) bool {
		return k == "clock" || k == "promote" && !waits && !s.Nodes.Clustered()
	})
	return kinds, func(f *scenario.Fault) bool {
		return !nemesis.Forgets(f.Params, s.Nodes.Persistence)
	}
}
