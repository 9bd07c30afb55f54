package scenario

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

var variantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// check makes sure that the parts of a setup fit each other.
func (d *decoder) check(s *Setup) {
	if s.Lock.Program == nil {
		d.checkAlgorithm(s)
	}
	d.checkReaders(s)
	d.checkProcesses(s)
	if w := &s.Workload; w.Apart > 0 && w.Start != workload.Together && d.Sound("workload.apart", "workload.start") {
		d.ProblemAt("workload.apart", "the clients do not start together").Hint = "workload: {start: together, apart: 500ms}"
	}
	d.checkElsewhere(&s.Nodes)
	d.checkWatch(&s.Nodes)
	if s.Lock.TTL > 0 && s.Lock.NodeTimeout >= s.Lock.TTL && d.Sound("lock.ttl") {
		d.ProblemAt("lock.node_timeout", "%v is not shorter than the ttl %v", s.Lock.NodeTimeout, s.Lock.TTL).Hint =
			"the timeout for one node should be small beside the ttl"
	}
	if s.Lock.AtLeast > s.Lock.TTL && d.Sound("lock.ttl", "lock.at_least") {
		d.ProblemAt("lock.at_least", "%v is longer than the ttl %v, after which the lock ends anyway", s.Lock.AtLeast, s.Lock.TTL)
	}
	d.checkEndless(s)
	d.checkDiffering(s)
	d.checkFit(s)
	d.checkExtension(s)
	d.checkLeave(s)
	d.checkNested(s)
	d.checkStore(s)
	d.checkFaults(s, 0)
	s.Faults.checkMix(d)
}

// checkAlgorithm makes sure that the lock is one of ours and can do what it is asked for.
// What a program can do it says itself (NotApplicable).
func (d *decoder) checkAlgorithm(s *Setup) {
	algorithm, ok := lock.Lookup(s.Lock.Algorithm)
	if !ok {
		d.ProblemAt("lock.algorithm", "no lock algorithm %q", yamlform.Clip(s.Lock.Algorithm)).Suggest(s.Lock.Algorithm, algorithmNames())
		d.Spoil("lock.algorithm")
		return
	}
	if n := s.Nodes.endpoints(); d.Sound("nodes.topology", "nodes.clusters", "lock.algorithm") &&
		(n < algorithm.MinNodes || algorithm.MaxNodes > 0 && n > algorithm.MaxNodes) {
		key := "nodes.count"
		if s.Nodes.Clustered() {
			key = "nodes.clusters"
		}
		d.ProblemAt(key, "%s uses %s, not %d", algorithm.Name, algorithm.NodeRange(), n)
	}
	d.checkPermits(s, algorithm)
	if s.Lock.Fair && !algorithm.Fair {
		d.ProblemAt("lock.fair", "%s serves clients in no order", algorithm.Name).Hint =
			"these serve them in the order in which they ask: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Fair }), ", ")
	}
	if s.Lock.AtLeast > 0 && !algorithm.StaysAtLeast {
		d.ProblemAt("lock.at_least", "%s is free once it is released", algorithm.Name).Hint =
			"these can stay: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.StaysAtLeast }), ", ")
	}
	if !slices.Contains(algorithm.Tokens, s.Fencing.Tokens) {
		d.ProblemAt("fencing.tokens", "%s has no tokens %q", algorithm.Name, s.Fencing.Tokens).Allowed =
			namesOf(algorithm.Tokens, func(t lock.Tokens) string { return string(t) })
	}
	d.checkSwitches(s.Lock.Mistakes, algorithm, "lock")
}

// checkReaders makes sure that readers are among the clients, and the lock knows readers.
func (d *decoder) checkReaders(s *Setup) {
	w := &s.Workload
	a, known := lock.Lookup(s.Lock.Algorithm)
	switch {
	case w.Readers == 0 || !d.Sound("workload.readers"):
	case w.Readers > w.Clients:
		d.ProblemAt("workload.readers", "%s of %s", words.Count(w.Readers, "reader"), words.Count(w.Clients, "client"))
	case s.Lock.Permits > 0:
		d.ProblemAt("workload.readers", "a lock has permits, or readers and writers, not both")
	case known && !a.Modes:
		d.ProblemAt("workload.readers", "%s knows no readers: one client holds it at a time", a.Name).Hint =
			"these do: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Modes }), ", ")
	}
	switch {
	case !w.Upgrade || !d.Sound("workload.upgrade", "workload.readers", "workload.leave"):
	case w.Readers == 0:
		d.ProblemAt("workload.upgrade", "there are no readers")
	case w.Leave != workload.LeavesReleased || w.Nested || w.Extend > 0:
		d.ProblemAt("workload.upgrade", "it goes with leave: released alone, and not with nested or extend")
	case known && !a.Upgrades():
		d.ProblemAt("workload.upgrade", "a reader of %s cannot ask to write before it has left", a.Name).Hint =
			"these can be asked: " + strings.Join(locksThat(lock.Algorithm.Upgrades), ", ")
	}
}

// checkProcesses makes sure that clients can share a process, and that it can be told what each of them does.
func (d *decoder) checkProcesses(s *Setup) {
	const key = "workload.per_process"
	w := &s.Workload
	if w.PerProcess < 2 || !d.Sound(key, "workload.kind") {
		return
	}
	if w.PerProcess > w.Clients && d.Sound("workload.clients") {
		d.ProblemAt(key, "there are %s, fewer than %d", words.Count(w.Clients, "client"), w.PerProcess)
	}
	if w.Workload().Pair {
		d.ProblemAt(key, "%s takes no lock", w.Kind)
	}
	const alone = "clients that share connections are judged of a lock that one client holds at a time"
	if s.Lock.Permits > 0 || s.Modes() {
		d.ProblemAt(key, "%s: leave out %s", alone, map[bool]string{true: "permits", false: "readers"}[s.Lock.Permits > 0])
	}
	if s.Resource.Guard == resource.Watching {
		d.ProblemAt("resource.guard", "WATCH is for a connection of the client's own, and clients that share a process share their connections")
	}
	if s.Commands {
		d.ProblemAt("record_commands",
			"clients that share a process share its connections, and nobody can tell which of them sent a command").Hint =
			"leave out workload.per_process"
	}
}

// checkPermits makes sure that a semaphore has permits, and no other lock.
func (d *decoder) checkPermits(s *Setup, a lock.Algorithm) {
	switch {
	case !d.Sound("lock.permits"):
	case a.Semaphore && s.Lock.Permits == 0:
		d.ProblemAt("lock.permits", "%s has permits, and nothing says how many", a.Name).Hint = "lock: {algorithm: " + a.Name + ", permits: 2}"
	case !a.Semaphore && s.Lock.Permits > 0:
		d.ProblemAt("lock.permits", "%s has none: one client holds it at a time", a.Name).Hint =
			"these have permits: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Semaphore }), ", ")
	}
}

// checkEndless makes sure that nothing is asked of a lock without a TTL that needs one.
func (d *decoder) checkEndless(s *Setup) {
	if s.Lock.TTL != 0 || !d.Sound("lock.ttl", "lock.algorithm", "workload.kind") {
		return
	}
	const without = "a lock without a ttl"
	if algorithm, ours := lock.Lookup(s.Lock.Algorithm); ours && !algorithm.Endless {
		d.ProblemAt("lock.ttl", "%s cannot do without one", algorithm.Name).Hint =
			"these can: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Endless }), ", ")
	}
	if s.Workload.Extend > 0 {
		d.ProblemAt("workload.extend", "%s has nothing to extend", without)
	}
	if s.Workload.Leave != workload.LeavesReleased {
		d.ProblemAt("workload.leave", "nobody gets the lock again: %s ends with its release alone", without)
	}
	for _, needs := range []program.Ability{program.TellsValidity, program.Renews, program.Extends} {
		if slices.Contains(s.Abilities, needs) {
			d.ProblemAt("needs", "%s has nothing that lasts so long: %q is of no use", without, needs)
		}
	}
}

// checkExtension makes sure that a client that is to extend its lock can do so, and comes to it.
func (d *decoder) checkExtension(s *Setup) {
	w := &s.Workload
	if w.Extend == 0 || !d.Sound("workload.kind", "workload.extend", "workload.think") {
		return
	}
	algorithm, ours := lock.Lookup(s.Lock.Algorithm)
	switch {
	case w.Workload().Pair:
		d.ProblemAt("workload.extend", "%s takes no lock", w.Kind)
	case w.Think <= w.Extend:
		d.ProblemAt("workload.extend", "never happens: the client works for %v (think)", w.Think)
	case ours && !algorithm.Extends:
		d.ProblemAt("workload.extend", "its user cannot extend %s", algorithm.Name).Hint =
			"these can be extended: " + strings.Join(locksThat(func(a lock.Algorithm) bool { return a.Extends }), ", ")
	}
}

// checkNested makes sure that a client which is to ask for its lock again can do so.
func (d *decoder) checkNested(s *Setup) {
	w := &s.Workload
	if !w.Nested || !d.Sound("workload.kind", "workload.leave") {
		return
	}
	if w.Workload().Pair {
		d.ProblemAt("workload.nested", "%s takes no lock", w.Kind)
	}
	if w.Leave != workload.LeavesReleased {
		d.ProblemAt("workload.nested", "its client releases each lock that it gets: it needs leave: released")
	}
}

// checkLeave makes sure that a client which is to leave a lock in another way than by a release can do so.
func (d *decoder) checkLeave(s *Setup) {
	w := &s.Workload
	if w.Leave == workload.LeavesReleased || !d.Sound("workload.kind", "workload.leave", "workload.sections") {
		return
	}
	switch algorithm, _ := lock.Lookup(s.Lock.Algorithm); {
	case w.Workload().Pair:
		d.ProblemAt("workload.leave", "%s takes no lock", w.Kind)
	case w.Leave == workload.LeavesForgotten: // whoever renews is to notice
	case algorithm.Renews():
		d.ProblemAt("workload.leave", "nobody gets the lock again: %s renews what is not released", algorithm.Name)
	case w.Sections == 1:
		d.ProblemAt("workload.leave", "never happens: each client goes through one section").Hint = "its last section is released"
	}
}

// locksThat are the names of the built-in locks that are so.
func locksThat(so func(lock.Algorithm) bool) (names []string) {
	for _, a := range lock.Algorithms() {
		if so(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// checkWatch makes sure that nodes can be watched, or be a cluster, and that nothing is said of what there is not.
func (d *decoder) checkWatch(n *Nodes) {
	if !d.Sound("nodes.topology") {
		return
	}
	if !n.Watched() {
		for _, key := range changed(n.Watch) {
			if n.Clustered() && strings.HasPrefix(key, "min_replicas") {
				continue
			}
			d.ProblemAt("nodes."+key, "there are no sentinels").Hint = "nodes: {topology: sentinel, ...}"
		}
	}
	if n.MaxLag%time.Second != 0 {
		d.ProblemAt("nodes.min_replicas_max_lag", "Redis counts it in whole seconds, not %v", n.MaxLag)
	}
	if n.Clustered() {
		d.checkCluster(n)
		return
	}
	for _, key := range changed(n.Shards) {
		d.ProblemAt("nodes."+key, "there is no Redis Cluster").Hint = "nodes: {topology: cluster, ...}"
	}
	if n.Watched() {
		d.checkSentinels(n)
	}
}

// changed are the keys of a part of the nodes that are not as usual.
func changed[T any](part T) (keys []string) {
	var standard T
	yamlform.SetDefaults(reflect.ValueOf(&standard).Elem())
	given, defaults := yamlform.FieldsOf(reflect.ValueOf(&part).Elem()), yamlform.FieldsOf(reflect.ValueOf(&standard).Elem())
	for _, key := range yamlform.KeysOf(given) {
		if !given[key].Value.Equal(defaults[key].Value) {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkCluster counts the nodes of a cluster.
func (d *decoder) checkCluster(n *Nodes) {
	const standard = 5 // nobody has said a number
	if !d.Sound("nodes.clusters", "nodes.primaries", "nodes.replicas", "nodes.count") {
		return
	}
	all, has := "a cluster", "has"
	if n.Clusters > 1 {
		all, has = words.Count(n.Clusters, "cluster"), "have"
	}
	if n.Count != n.Least() && n.Count != standard {
		d.ProblemAt("nodes.count", "%s of %s with %s each %s %s, not %d", all, words.Count(n.Primaries, "primary"),
			words.Count(n.Replicas, "replica"), has, words.Count(n.Least(), "node"), n.Count)
	}
	switch n.Count = n.Least(); {
	case n.Count > lock.MostNodes && n.Clusters > 1:
		d.ProblemAt("nodes.clusters", "%s have %s in all, which are too many: at most %d", all, words.Count(n.Count, "node"), lock.MostNodes)
	case n.Count > lock.MostNodes:
		d.ProblemAt("nodes.primaries", "a cluster of %s is too large: at most %d", words.Count(n.Count, "node"), lock.MostNodes)
	}
	if n.MinReplicas > n.Replicas {
		d.ProblemAt("nodes.min_replicas_to_write", "a primary has %s, fewer than %d", words.Count(n.Replicas, "replica"), n.MinReplicas)
	}
	if n.NodeTimeout%time.Millisecond != 0 {
		d.ProblemAt("nodes.node_timeout", "Redis counts it in whole milliseconds, not %v", n.NodeTimeout)
	}
}

// checkSentinels makes sure that sentinels can watch the nodes.
func (d *decoder) checkSentinels(n *Nodes) {
	if n.Count < n.Least() && d.Sound("nodes.count") {
		d.ProblemAt("nodes.count", "a failover needs at least %d nodes, not %d", n.Least(), n.Count)
	} else if n.MinReplicas >= n.Count && d.Sound("nodes.count") {
		d.ProblemAt("nodes.min_replicas_to_write", "%d nodes have %s, fewer than %d", n.Count, words.Count(n.Count-1, "replica"), n.MinReplicas)
	}
	if n.Quorum > n.Sentinels && d.Sound("nodes.sentinels") {
		d.ProblemAt("nodes.quorum", "%d is more than %s", n.Quorum, words.Count(n.Sentinels, "sentinel"))
	}
	if n.DownAfter%time.Millisecond != 0 || n.FailoverTimeout%time.Millisecond != 0 {
		d.ProblemAt("nodes.down_after", "Redis counts down_after and failover_timeout in whole milliseconds")
	}
}

// checkSwitches refuses to switch off a rule that the algorithm does not have. The switches stand below a path.
func (d *decoder) checkSwitches(made lock.Mistakes, a lock.Algorithm, below string) {
	if !d.Sound("lock.algorithm") {
		return
	}
	known := a.Mistakes.Rules()
	for _, rule := range made.Rules() {
		if !slices.Contains(known, rule) {
			d.ProblemAt(below+".switches."+rule, "%s has no such rule to switch off", a.Name).Allowed = known
		}
	}
}

// checkStore makes sure that a resource on the lock's node can be there.
func (d *decoder) checkStore(s *Setup) {
	if !d.Sound("resource.store") {
		return
	}
	if s.Resource.Store == "postgres" {
		d.checkPostgres(s)
	}
	if !s.Resource.Shared() {
		if s.Fencing.Check == resource.LockOwner {
			d.ProblemAt("fencing.check", "lock-owner looks at the lock's key, which is not where the resource is").Hint =
				"resource: {store: lock-node}"
		}
		return
	}
	if s.Nodes.Count != 1 && d.Sound("nodes.count") {
		d.ProblemAt("resource.store", "the lock has %d nodes, not one", s.Nodes.Count)
	}
	if s.Resource.Persistence != s.Nodes.Persistence && d.Sound("resource.persistence", "nodes.persistence") {
		d.ProblemAt("resource.store", "the resource keeps on disk what its node keeps (nodes.persistence: %s), not %q",
			s.Nodes.Persistence, s.Resource.Persistence)
	}
	if m := s.Faults.Mix; m != nil {
		if _, drawn := m.Kinds["clock"]; drawn {
			d.ProblemAt("faults.mix.kinds.clock", "the clock of A stamps the resource's effects, and must not be moved")
		}
	}
}

// checkStore makes sure that the fault spares what the resource's place does not
// allow to be struck.
func (f *Fault) checkStore(d *decoder, s *Setup) {
	if !d.Sound("resource.store") {
		return
	}
	switch target := f.Params.Target(); {
	case s.Resource.Store == "postgres" && target == history.ResourceProcess:
		d.ProblemAt(yamlform.Join(f.path, f.Kind), "PostgreSQL is many processes, and is not struck here; its links can be").Hint =
			"hold: {client: c1, resource: true}"
	case s.Resource.Shared() && target == history.ResourceProcess:
		d.ProblemAt(yamlform.Join(f.path, f.Kind), "the resource lives on node A: name that")
	case s.Resource.Shared() && f.Kind == "clock" && target == "A":
		d.ProblemAt(yamlform.Join(f.path, f.Kind), "the clock of A stamps the resource's effects, and must not be moved")
	}
	if f.Kind == "evict" && s.Nodes.Persistence == world.RDB && d.Sound("nodes.persistence") {
		d.ProblemAt(yamlform.Join(f.path, f.Kind), "what a node evicts that keeps snapshots alone cannot be seen").Hint =
			"nodes: {persistence: none}, or flush: {node: A}"
	}
}

// checkDisk makes sure that the file is there that the fault damages.
func (f *Fault) checkDisk(d *decoder, s *Setup) {
	powers := nemesis.PowersOf(f.Kind, f.Params)
	flips := slices.Contains(powers, world.FlipPower)
	if !flips && !slices.Contains(powers, world.TearPower) || !d.Sound("nodes.persistence") {
		return
	}
	path := yamlform.Join(f.path, f.Kind) + ".keep"
	if !s.Nodes.Persistence.AppendOnly() {
		d.ProblemAt(path, "it is about the append-only file of a node, and nodes.persistence is %s", s.Nodes.Persistence).Hint =
			"nodes: {persistence: aof-always, ...}"
	}
	if flips && s.Nodes.Clustered() {
		d.ProblemAt(path, "with a bit flipped a key can be one of another slot, and what a node of a cluster does then is not known").Hint =
			"keep: torn"
	}
}

// checkPostgres refuses what PostgreSQL cannot be asked for here.
func (d *decoder) checkPostgres(s *Setup) {
	if s.Resource.Guard == resource.Watching {
		d.ProblemAt("resource.guard", "PostgreSQL has no WATCH")
	}
	if s.Resource.Persistence != world.NoPersistence {
		d.ProblemAt("resource.persistence", "PostgreSQL has no such setting; it is not restarted during a run")
	}
	if s.Fencing.Check == resource.Forgetful {
		d.ProblemAt("fencing.check", "PostgreSQL is not restarted during a run, and so forgets nothing")
	}
	if w := s.Workload.Workload(); w.Pair {
		d.ProblemAt("workload.kind", "%s are those of Redis", w.Name)
	}
}

func algorithmNames() []string {
	return namesOf(lock.Algorithms(), func(a lock.Algorithm) string { return a.Name })
}

func propertyNames() []string {
	return namesOf(checker.Properties(), func(p checker.Property) string { return string(p) })
}
