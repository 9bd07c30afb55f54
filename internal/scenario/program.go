package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Demanding is the variant as it counts for another lock in the place of its own: what the
// scenario demands of any lock of its class. Of what the lock says of itself, its class and its store count, and whether it tells
// until when its grants are valid.
func (v Variant) Demanding(r *program.Ready) Variant {
	v.Expect = v.demanded(r)
	return v
}

// PropertyDemand is what the scenario's file demands of any lock that is put in the place of its
// own.
type PropertyDemand struct {
	Property checker.Property
	// Holds: it must hold. Otherwise anything will do.
	Holds bool
	// Of are the classes of locks of which that is demanded; none: all.
	Of []program.Class
}

// demanded is what counts for a lock of a class. Where nothing is demanded, that must hold
// which holds of the scenario's own lock.
func (v *Variant) demanded(r *program.Ready) []ExpectedVerdict {
	class, dated := r.Class, r.Has(program.TellsValidity)
	var list []ExpectedVerdict
	add := func(e ExpectedVerdict) {
		if e.Verdict == checker.Holds && e.Property == checker.NoLateEffect && class == program.Session && !dated {
			e.Verdict, e.ByDesign = 0, true // it promises no end, so nothing can be late
		}
		list = append(list, e)
	}
	for _, p := range checker.Properties() {
		e := ExpectedVerdict{Property: p}
		if v.Expected(p) == checker.Holds || p == checker.BackedGrant && v.grants() {
			e.Verdict = checker.Holds
		}
		if p == checker.BackedGrant && class != program.Quorum && class != program.Single { // it may keep no key on the nodes
			e.Verdict = 0
		}
		at := slices.IndexFunc(v.Demand, func(d PropertyDemand) bool { return d.Property == p })
		if at < 0 {
			if v.mentions(p) {
				add(e)
			}
			continue
		}
		d := v.Demand[at]
		e.ByDesign = len(d.Of) > 0 && (!slices.Contains(d.Of, class) || v.wipes(r))
		if e.Verdict = 0; d.Holds && !e.ByDesign {
			e.Verdict = checker.Holds
		}
		add(e)
	}
	return list
}

// wipes reports that a fault takes the data from the store of a lock that is in the place of the only node. What is demanded of
// sessions because they keep nothing on the nodes is then not demanded of it.
func (v *Variant) wipes(r *program.Ready) bool {
	return r.Elsewhere() && slices.ContainsFunc(v.Setup.Faults.List, func(f Fault) bool { return nemesis.Wipes(f.Params) })
}

// grants reports that another lock is granted to somebody, by what the file expects and demands. What its grants rest on is asked
// of any lock, also where the scenario's own is not exclusive.
func (v *Variant) grants() bool {
	named := slices.ContainsFunc(v.Expect, func(e ExpectedVerdict) bool { return e.Property == checker.BackedGrant })
	demanded := slices.ContainsFunc(v.Demand, func(d PropertyDemand) bool { return d.Property == checker.ExclusiveLease && d.Holds })
	return !named && !v.Setup.Workload.Workload().Pair && (demanded || v.Expected(checker.ExclusiveLease) == checker.Violated)
}

// ByDesign reports that nothing is expected of a property, because it is demanded of other
// classes of locks alone.
func (v *Variant) ByDesign(p checker.Property) bool {
	return slices.ContainsFunc(v.Expect, func(e ExpectedVerdict) bool { return e.Property == p && e.ByDesign })
}

// mentions reports that the file says what it expects of a property, or that every lock
// is asked for it.
func (v *Variant) mentions(p checker.Property) bool {
	return slices.Contains(v.Setup.Demanded(), p) ||
		slices.ContainsFunc(v.Expect, func(e ExpectedVerdict) bool { return e.Property == p })
}

// Abilities are those that a lock program must have.
type Abilities []program.Ability

// Tag has the words for them, as the tags of a Setup do.
func (Abilities) Tag() string {
	return fmt.Sprintf("values:%q", strings.Join(namesOf(program.Abilities(), func(a program.Ability) string { return string(a) }), ","))
}

// NotApplicable says why a lock program cannot be put on trial by this setup; empty: it
// can. It is judged by what the program says of itself.
func (s *Setup) NotApplicable(r *program.Ready) string {
	for _, client := range s.Lock.Differing() {
		one := *s
		if one.Lock = s.Lock.For(client); one.Lock.TTL != s.Lock.TTL {
			if text := one.wantsOtherTTL(r); text != "" {
				return client + ": " + text
			}
		}
	}
	for _, reason := range []func(*program.Ready) string{
		s.takesNoLock, s.wantsOtherNodes, s.wantsRedis, s.wantsOtherTTL,
		s.wantsTokens, s.wantsOwner, s.wantsBusy, s.wantsOneObject, s.wantsOneProcess, s.wantsPermits, s.wantsModes, s.wantsOrder, s.wantsPushes,
		s.wantsCancels,
		s.wantsAtLeast, s.wantsExtension,
		s.wantsLeaseToEnd, s.wantsForgetting,
		s.wantsMore, s.wantsClocks, s.wantsPoints, s.wantsMessages,
	} {
		if text := reason(r); text != "" {
			return text
		}
	}
	return ""
}

// LockKeys are patterns of the keys that the lock program writes.
func (s *Setup) LockKeys(r *program.Ready) []string {
	if named := s.Lock.Program; named != nil && len(named.Keys) > 0 {
		return named.Keys
	} else if len(r.Keys) > 0 {
		return r.Keys
	}
	return []string{program.KeyPattern}
}

func (s *Setup) takesNoLock(*program.Ready) string {
	if !s.Workload.Workload().Pair {
		return ""
	}
	return fmt.Sprintf("the workload %s takes no lock", s.Workload.Kind)
}

func (s *Setup) wantsOtherNodes(r *program.Ready) string {
	if s.Nodes.Watched() && !r.Elsewhere() && !r.Has(program.AsksSentinels) {
		return "sentinels tell where the primary is, and it does not ask them"
	}
	if s.Nodes.Clustered() && !r.Elsewhere() && !r.Has(program.AsksCluster) {
		return "the nodes are a Redis Cluster, and it has no client for one"
	}
	if s.Nodes.endpoints() > 1 && r.Class == program.Single {
		return fmt.Sprintf("there are %s, and it locks on one", s.Nodes.countEndpoints())
	}
	if s.Nodes.SeveralClusters() && s.Lock.Program != nil && !r.Elsewhere() {
		return fmt.Sprintf("there are %s, and a lock program is told of one", s.Nodes.countEndpoints())
	}
	return ""
}

// wantsRedis is about a lock on another server, of which there is one: in the place of the only
// node, behind the same links.
func (s *Setup) wantsRedis(r *program.Ready) string {
	if !r.Elsewhere() {
		return ""
	}
	switch n := s.Nodes.endpoints(); {
	case r.Store.InVirtualTimeAlone() && !r.AllServers:
		return fmt.Sprintf("%s runs in virtual time: --world virtual", r.Store)
	case n > 1:
		return fmt.Sprintf("there are %s, and it locks on one server of %s", s.Nodes.countEndpoints(), r.Store)
	case s.Nodes.Replicated():
		return fmt.Sprintf("there is a primary with replicas, and it locks on one server of %s", r.Store)
	case s.Resource.Shared():
		return fmt.Sprintf("the resource is on the lock's node, and it locks on %s", r.Store)
	}
	for _, d := range s.Demands() {
		switch {
		case d.Node == "":
		case r.Store == program.Postgres:
			return fmt.Sprintf("%s strikes the server, which cannot be done to %s yet", d.By, r.Store)
		case !r.AllServers:
			return fmt.Sprintf("%s strikes the server, which cannot be done to %s in real time", d.By, r.Store)
		}
	}
	return ""
}

func (s *Setup) wantsOtherTTL(r *program.Ready) string {
	shortest, step := program.Duration(r.TTLMin), program.Duration(r.TTLStep)
	if s.Lock.TTL == 0 {
		if r.Has(program.DoesWithoutTTL) {
			return ""
		}
		return "the lock is to have no ttl, and it does not say that it can be without"
	}
	if ttl := s.Lock.TTL; ttl < shortest {
		return fmt.Sprintf("the ttl is %v, and its shortest is %v", ttl, shortest)
	} else if step > 0 && ttl%step != 0 {
		return fmt.Sprintf("the ttl is %v, and its own are multiples of %v", ttl, step)
	}
	return ""
}

// TellsNoToken is why what is about fencing tokens does not apply to a lock program that has none.
const TellsNoToken = "fencing tokens are wanted, and it tells none"

func (s *Setup) wantsTokens(r *program.Ready) string {
	if s.Fencing.Tokens == lock.NoTokens || r.Has(program.TellsToken) {
		return ""
	}
	return TellsNoToken
}

// wantsOwner is about a fence that compares the grant's owner value with the one in the
// lock's key.
func (s *Setup) wantsOwner(r *program.Ready) string {
	keys := s.LockKeys(r)
	if s.Fencing.Check != resource.LockOwner {
		return ""
	}
	switch {
	case r.Class == program.Session:
		return "the fence looks at the lock's key on the node, and it keeps none there"
	case !r.Has(program.TellsOwner):
		return "the fence compares the lock's value, and it does not tell its own"
	case !slices.Contains(keys, program.KeyPattern) && !slices.Contains(keys, s.Lock.Key):
		return fmt.Sprintf("the fence looks at the key %q, and it writes %s", s.Lock.Key, strings.Join(keys, ", "))
	}
	return ""
}

func (s *Setup) wantsBusy(r *program.Ready) string {
	if s.Workload.Busy == 0 || r.Has(program.KeepsBusy) {
		return ""
	}
	return "the lock program is to be busy, and it cannot keep itself so"
}

func (s *Setup) wantsOneObject(r *program.Ready) string {
	if s.Workload.Object != workload.OneObject || s.Lock.Program == nil || r.Has(program.KeepsOneObject) {
		return "" // a built-in lock has one object for each client
	}
	return "its client uses one lock object for all that it asks, and the program makes a new one each time, or knows none"
}

// wantsOneProcess is about clients that share a process.
func (s *Setup) wantsOneProcess(r *program.Ready) string {
	switch {
	case s.Workload.PerProcess < 2:
		return ""
	case len(s.Lock.Clients) > 0:
		return "clients that share a process have the same lock, and here one has another"
	case r.Has(program.IsSeveral):
		return ""
	}
	return fmt.Sprintf("%d clients are to share a process, and the program is one client alone", s.Workload.PerProcess)
}

func (s *Setup) wantsModes(r *program.Ready) string {
	switch {
	case s.Workload.Readers > 0 && !r.Has(program.HasModes):
		return "the lock is to have readers, and one client holds it at a time"
	case s.Workload.Upgrade && !r.Has(program.CanUpgrade):
		return "its readers are to ask to write before they have left, and it does not say that they can"
	}
	return ""
}

func (s *Setup) wantsOrder(r *program.Ready) string {
	if !s.Lock.Fair || r.Has(program.KeepsOrder) {
		return ""
	}
	return "the lock is to serve clients in the order in which they ask, and it does not promise that"
}

// wantsPushes is about messages that a node pushes to those who wait.
func (s *Setup) wantsPushes(r *program.Ready) string {
	for i := range s.Faults.List {
		if s.Faults.List[i].awaitsPush() && !r.Has(program.Wakes) {
			return fmt.Sprintf("fault %d waits for a message that wakes a client, and nobody wakes those who wait for it", i+1)
		}
	}
	return ""
}

func (s *Setup) wantsCancels(r *program.Ready) string {
	if mix := s.Faults.Mix; mix != nil && !r.Has(program.Cancels) {
		if _, drawn := mix.Kinds[nemesis.Cancel]; drawn {
			return "the mix cancels attempts, and its attempts cannot be cancelled"
		}
	}
	for i := range s.Faults.List {
		if nemesis.Cancels(s.Faults.List[i].Params) && !r.Has(program.Cancels) {
			return fmt.Sprintf("fault %d cancels an attempt, and its attempts cannot be cancelled", i+1)
		}
	}
	return ""
}

func (s *Setup) wantsPermits(r *program.Ready) string {
	if s.Lock.Permits == 0 || r.Has(program.HasPermits) {
		return ""
	}
	return "the lock is to have " + words.Count(s.Lock.Permits, "permit") + ", and one client holds it at a time"
}

func (s *Setup) wantsAtLeast(r *program.Ready) string {
	if s.Lock.AtLeast == 0 || r.Has(program.StaysAtLeast) {
		return ""
	}
	return fmt.Sprintf("the lock is to stay for %v, also if it is released before, and its release frees it", s.Lock.AtLeast)
}

func (s *Setup) wantsExtension(r *program.Ready) string {
	if s.Workload.Extend == 0 || r.Has(program.Extends) {
		return ""
	}
	return "its client extends the lock, and it cannot be extended"
}

func (s *Setup) wantsLeaseToEnd(r *program.Ready) string {
	if s.Workload.Leave != workload.LeavesHeld || !r.Has(program.Renews) {
		return ""
	}
	return "its client does not release the lock, and waits until the lease is over, which the lock renews"
}

// wantsForgetting: a lock that its program goes on to keep by itself must be dropped there, too.
func (s *Setup) wantsForgetting(r *program.Ready) string {
	if s.Workload.Leave != workload.LeavesForgotten || !r.Keeps() || r.Has(program.Forgets) {
		return ""
	}
	return "its client forgets the lock, and the program cannot say that it drops it"
}

// wantsMore is about what the scenario asks for by name.
func (s *Setup) wantsMore(r *program.Ready) string {
	for _, need := range s.Abilities {
		if !r.Has(need) {
			return fmt.Sprintf("the scenario needs %q, which it cannot do", need)
		}
	}
	return ""
}

func (s *Setup) wantsClocks(r *program.Ready) string {
	if s.Lock.Program == nil {
		return ""
	}
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		if !slices.Contains(nemesis.PowersOf(f.Kind, f.Params), world.ClientClockPower) {
			continue
		}
		if nemesis.MovesMonotonic(f.Params) && !r.AllClocks {
			return fmt.Sprintf("fault %d moves the monotonic clock of a client, which cannot be done to a program in real time", i+1)
		}
		if r.ClockStays != "" {
			return fmt.Sprintf("fault %d moves the clock of a client, and the program's cannot be moved: %s", i+1, r.ClockStays)
		}
	}
	return ""
}

func (s *Setup) wantsMessages(r *program.Ready) string {
	if r.Class != program.Session {
		return ""
	}
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		of := func(p world.Power) bool {
			return r.Elsewhere() && slices.Contains(nemesis.PowersOf(f.Kind, f.Params), p)
		}
		if of(world.MemoryPower) || of(world.TearPower) || of(world.FlipPower) {
			return fmt.Sprintf("fault %d is about the memory of a Redis server, and it keeps its lock elsewhere", i+1)
		}
		if f.awaitsMessage() {
			return fmt.Sprintf("fault %d waits for a message to a node, and it keeps its lock elsewhere", i+1)
		}
		if f.refuses() {
			return fmt.Sprintf("fault %d lets nodes of Redis refuse commands, and it keeps its lock elsewhere", i+1)
		}
	}
	return ""
}

func (s *Setup) wantsPoints(r *program.Ready) string {
	points := s.points(r.Points)
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		for _, p := range nemesis.Points([]nemesis.Planned{f.planned()}) {
			if !slices.Contains(points, p) {
				return fmt.Sprintf("fault %d waits for the point %s, which it does not report", i+1, p)
			}
		}
	}
	return ""
}
