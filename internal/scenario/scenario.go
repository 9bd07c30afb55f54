package scenario

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// The tags of the types below are read by the decoder and by the schema alike:
// yaml is the key, doc the text for a person, default what stands where nothing
// is written; min and max bound numbers, durations and lengths, values lists
// the words allowed, pattern restricts texts. A list or a dictionary has at least and at
// most so many entries, to which the other bounds apply; names restricts a dictionary's
// keys. A key that stands instead of another excludes it. A field with mistake is a rule:
// it is true where a file has that value.

// Head is what a scenario says of itself.
type Head struct {
	Name   string `yaml:"name" doc:"the scenario's name, as in file names and reports" required:"true" pattern:"^[a-z0-9][a-z0-9-]{0,63}$"`
	Title  string `yaml:"title" doc:"one line that says what happens" max:"200"`
	Source string `yaml:"source" doc:"where the schedule comes from" max:"400"`
	// Guarantee is what the scenario puts to the test.
	Guarantee Guarantee `yaml:"guarantee" doc:"what a lock promises, and this scenario puts to the test; sim list guarantees" default:"none"`
	Tags      []string  `yaml:"tags" doc:"words to choose scenarios by: sim run --tag" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" most:"20"`
	Story     string    `yaml:"story" doc:"what happens, why, and what to do about it" max:"5000"`
}

// Setup is the part of a scenario that a variant can overlay.
type Setup struct {
	Nodes     Nodes         `yaml:"nodes" doc:"the Redis nodes that hold the lock"`
	Lock      lock.Config   `yaml:"lock" doc:"the lock on trial" required:"true"`
	Abilities Abilities     `yaml:"needs" doc:"what a lock program must be able to do here, beside what follows from the rest of the scenario"`
	Fencing   Fencing       `yaml:"fencing" doc:"fencing tokens: where they come from and how the resource checks them"`
	Resource  Resource      `yaml:"resource" doc:"what the lock protects"`
	Workload  workload.Plan `yaml:"workload" doc:"what the clients do"`
	Faults    Faults        `yaml:"faults" doc:"a list of faults, in the order in which reports number them; or {mix: ..., list: ...}"`
	Commands  bool          `yaml:"record_commands" doc:"the history has each command that a client sends to a node of the lock, and what the lock costs is measured" default:"false"`
	// CommandsWithin bounds a rate; no verdict follows from it.
	CommandsWithin int           `yaml:"commands_within" doc:"a client that sends more commands a second than this while it waits for the lock, or holds it, is called busy, where commands are recorded; 0: there is no bound" max:"1000000" default:"0"`
	MostOvertakes  int           `yaml:"most_overtakes" doc:"how many grants to clients that asked later a client that waits may bear at most, whatever the lock promises (property fairness); by default it is not asked, but none if lock.fair" max:"100000"`
	GrantWithin    time.Duration `yaml:"grant_within" doc:"the liveness properties demand that the lock is granted within this time; by default the longest ttl of a client and two seconds" max:"10m"`
	HealAfter      time.Duration `yaml:"heal_after" doc:"everything heals at this time of the run at the latest; without it, when no client can go on by itself" max:"1h"`
	TimeLimit      time.Duration `yaml:"time_limit" doc:"the run is ended, undecided, after this time" min:"100ms" max:"1h" default:"30s"`
}

// StandardLock is the lock of a scenario that says nothing of it but its algorithm.
func StandardLock(algorithm string) lock.Config {
	c := lock.Config{Algorithm: algorithm}
	yamlform.SetDefaults(reflect.ValueOf(&c).Elem())
	return c
}

// Nodes are the lock's nodes.
type Nodes struct {
	Count       int               `yaml:"count" doc:"how many; they are named A, B, C, ...; with topology: cluster that follows from clusters, primaries and replicas" min:"1" max:"25" default:"5"`
	Persistence world.Persistence `yaml:"persistence" doc:"what a node keeps on disk" default:"none" values:"none,rdb,aof-no,aof-everysec,aof-always"`
	Topology    string            `yaml:"topology" doc:"independent: each on its own, as Redlock wants them; replicated: the first is the primary, the others follow it, and clients see the primary alone; sentinel: so, and Redis Sentinel watches them, makes another the primary when that is down, and tells clients who it is; cluster: Redis Cluster, whose first primary has the slot of the lock; it needs real servers, live as processes or in virtual time" default:"independent" values:"independent,replicated,sentinel,cluster"`
	Watch       `yaml:",inline"`
	Shards      `yaml:",inline"`
	Elsewhere   `yaml:",inline"`
}

// Watch is how sentinels watch the nodes.
type Watch struct {
	Sentinels       int           `yaml:"sentinels" doc:"with topology: sentinel: how many sentinels there are; they are named s1, s2, s3, ..." min:"1" max:"9" default:"3"`
	Quorum          int           `yaml:"quorum" doc:"with topology: sentinel: how many sentinels must find the primary down before one of them starts a failover, for which it needs the votes of a majority of all" min:"1" max:"9" default:"2"`
	DownAfter       time.Duration `yaml:"down_after" doc:"with topology: sentinel: after how long without an answer a sentinel takes a server for down (down-after-milliseconds)" min:"100ms" max:"1m" default:"2s"`
	FailoverTimeout time.Duration `yaml:"failover_timeout" doc:"with topology: sentinel: how long a step of a failover may take; a failed one is tried again after twice as long (failover-timeout)" min:"100ms" max:"10m" default:"3s"`
	MinReplicas     int           `yaml:"min_replicas_to_write" doc:"with topology: sentinel or cluster: a primary takes a write only while so many replicas have acknowledged within min_replicas_max_lag; 0: always (min-replicas-to-write)" max:"24" default:"0"`
	MaxLag          time.Duration `yaml:"min_replicas_max_lag" doc:"with topology: sentinel or cluster: see min_replicas_to_write; whole seconds (min-replicas-max-lag)" min:"1s" max:"1h" default:"10s"`
}

// Shards are the parts of a Redis Cluster, or of several.
type Shards struct {
	Clusters    int           `yaml:"clusters" doc:"with topology: cluster: how many Redis Clusters there are, all alike: the first nodes are one, the next ones another. With several each is one node of the lock, called cluster1, cluster2, cluster3, ...; lock programs are told of one alone" min:"1" max:"9" default:"1"`
	Primaries   int           `yaml:"primaries" doc:"with topology: cluster: how many primaries share the slots; they are the first nodes, and A has the slot of the lock" min:"1" max:"9" default:"3"`
	Replicas    int           `yaml:"replicas" doc:"with topology: cluster: how many replicas each primary has; they are the nodes behind the primaries, first one of each: with 3 primaries D follows A, E follows B, F follows C" max:"4" default:"1"`
	NodeTimeout time.Duration `yaml:"node_timeout" doc:"with topology: cluster: after how long without an answer a node takes another for down (cluster-node-timeout)" min:"100ms" max:"10m" default:"15s"`
}

// Watched reports whether sentinels watch the nodes, Clustered whether they are a Redis Cluster, or several.
func (n Nodes) Watched() bool   { return n.Topology == "sentinel" }
func (n Nodes) Clustered() bool { return n.Topology == "cluster" }

// Least is how many nodes there must be: a failover needs two. Those of a cluster are all needed.
func (n Nodes) Least() int {
	switch {
	case n.Clustered():
		return n.Clusters * n.Primaries * (1 + n.Replicas)
	case n.Watched():
		return 2
	}
	return 1
}

// Sentinel is who watches the nodes; nil: nobody does.
func (n Nodes) Sentinel() *world.Sentinel {
	if !n.Watched() {
		return nil
	}
	return &world.Sentinel{Names: SentinelNames(n.Sentinels), Quorum: n.Quorum, DownAfter: n.DownAfter, FailoverTimeout: n.FailoverTimeout,
		MinReplicas: n.MinReplicas, MaxLag: n.MaxLag}
}

// Cluster is the Redis Cluster that the nodes are, or several; nil: they are none.
func (n Nodes) Cluster() *world.Cluster {
	if !n.Clustered() {
		return nil
	}
	return &world.Cluster{Count: n.Clusters, Primaries: n.Primaries, NodeTimeout: n.NodeTimeout, MinReplicas: n.MinReplicas, MaxLag: n.MaxLag}
}

// SeveralClusters reports whether each node of the lock is a Redis Cluster.
func (n Nodes) SeveralClusters() bool { return n.Clustered() && n.Clusters > 1 }

// Replicated reports whether each node of the lock is a primary, which others follow.
func (n Nodes) Replicated() bool { return n.Topology == "replicated" || n.Watched() || n.Clustered() }

// endpoints is how many nodes clients see.
func (n Nodes) endpoints() int {
	switch {
	case n.Clustered():
		return n.Clusters
	case n.Replicated():
		return 1
	}
	return n.Count
}

// countEndpoints counts them in words.
func (n Nodes) countEndpoints() string {
	if n.Clustered() {
		return words.Count(n.Clusters, "Redis Cluster")
	}
	return words.Count(n.endpoints(), "independent node")
}

const primaryName = world.Primary

// Fencing says where tokens come from and how they are checked.
type Fencing struct {
	Tokens lock.Tokens    `yaml:"tokens" doc:"where fencing tokens come from" default:"none"`
	Check  resource.Fence `yaml:"check" doc:"how the resource checks tokens; by default none without tokens, compare-and-set for random-value, else strict"`
}

// Resource is what the lock protects, and where it lives.
type Resource struct {
	resource.Config `yaml:",inline"`
	Store           string            `yaml:"store" doc:"where it lives: in a Redis of its own, in the lock's Redis, or in PostgreSQL" default:"own" values:"own,lock-node,postgres"`
	Persistence     world.Persistence `yaml:"persistence" doc:"what the resource's store keeps on disk" default:"none" values:"none,rdb,aof-no,aof-everysec,aof-always"`
}

// Shared reports whether the resource lives on the lock's node.
func (r Resource) Shared() bool { return r.Store == "lock-node" }

// Variant is a named overlay, merged into the scenario.
type Variant struct {
	Name string
	// Settings are what it sets, as "fencing.tokens: none".
	Settings []string
	Setup    Setup
	// Expect is what its file says; see Expected for the rest.
	Expect []ExpectedVerdict
	// Demand is what its file demands of any lock.
	Demand []PropertyDemand
	// settings are what it was read from, if some of its times are so many ttls; else nil.
	settings *yaml.Node
}

// AsksForLiveness reports that the variant expects something of the lock after
// everything has healed.
func (v *Variant) AsksForLiveness() bool {
	return slices.ContainsFunc(v.Expect, func(e ExpectedVerdict) bool { return e.Property.Probed() })
}

// Expected is the verdict that the variant expects of a property: what its file
// says, or else that what every lock is asked for holds. 0: any will do.
func (v *Variant) Expected(p checker.Property) checker.Verdict {
	for _, e := range v.Expect {
		if e.Property == p {
			return e.Verdict
		}
	}
	if slices.Contains(v.Setup.Demanded(), p) && (p != checker.BackedGrant || v.backed()) {
		return checker.Holds
	}
	return 0
}

// backed reports that grants are expected to rest on keys where the file does not say so: where the lock keeps some, and the
// file expects that no two clients hold it. Where nobody is granted it, for example, nothing can be said of either.
func (v *Variant) backed() bool {
	return v.Setup.asksNoNode() == "" && v.Expected(checker.ExclusiveLease) == checker.Holds
}

// Says reports that the variant's file says what it expects of a property, or demands.
func (v *Variant) Says(p checker.Property) bool {
	return slices.ContainsFunc(v.Expect, func(e ExpectedVerdict) bool { return e.Property == p }) ||
		slices.ContainsFunc(v.Demand, func(d PropertyDemand) bool { return d.Property == p })
}

// Demanded are the properties that are expected to hold where the scenario says nothing of them.
func (s *Setup) Demanded() []checker.Property {
	return checker.Demanded(s.Subject())
}

// Subject is what is judged, as far as it decides by which properties.
func (s *Setup) Subject() checker.Subject {
	return checker.Subject{Workload: s.Workload.Kind, Program: s.Lock.Program != nil, Shares: s.Shares(), InOrder: s.InOrder()}
}

// Modes reports that the lock has readers and writers.
func (s *Setup) Modes() bool {
	a, _ := lock.Lookup(s.Lock.Algorithm)
	return a.Modes || s.Workload.Readers > 0
}

// InOrder reports that it is judged in which order the lock serves clients.
func (s *Setup) InOrder() bool { return s.Lock.Fair || s.MostOvertakes > 0 }

// Shares reports that several clients may hold the lock at once: it is a semaphore, or has readers.
func (s *Setup) Shares() bool { return s.Lock.Permits > 0 || s.Modes() }

// ExpectedVerdict is what the scenario's file says of a property. The zero verdict
// stands for the word anything.
type ExpectedVerdict struct {
	Property checker.Property
	Verdict  checker.Verdict
	// ByDesign: nothing is expected, because it is demanded of other classes of locks alone.
	ByDesign bool
}

// ExpectAlone expects a verdict of one property, and nothing of those of which something would be
// expected by default.
func (s *Setup) ExpectAlone(property checker.Property, verdict checker.Verdict) []ExpectedVerdict {
	list := []ExpectedVerdict{{Property: property, Verdict: verdict}}
	for _, p := range s.Demanded() {
		if p != property {
			list = append(list, ExpectedVerdict{Property: p})
		}
	}
	return list
}

// anything is the word that opts a property out.
const anything = "anything"

// word is the expectation as a scenario writes it.
func (e ExpectedVerdict) word() string {
	if e.Verdict == 0 {
		return anything
	}
	return e.Verdict.String()
}

// expectations are the words that can stand behind a property.
func expectations() []string {
	return []string{checker.Holds.String(), checker.Violated.String(), checker.Unknown.String(), anything}
}

// DefaultVariant is the name of the only variant of a scenario without any.
const DefaultVariant = "default"

// ClientNames are the names of n clients.
func ClientNames(n int) []string {
	return names(n, func(i int) string { return "c" + strconv.Itoa(i+1) })
}

// SentinelNames are the names of n sentinels.
func SentinelNames(n int) []string {
	return names(n, func(i int) string { return "s" + strconv.Itoa(i+1) })
}

// NodeNames are the names of n nodes.
func NodeNames(n int) []string { return names(n, func(i int) string { return string(rune('A' + i)) }) }

// SureLateness is how late timers may fire in any run: on an idle machine they never do.
const SureLateness = 100 * time.Millisecond

// AllowedLateness is how late timers may fire in a run before the machine counts as too slow for it: a tenth of the TTL,
// and not more than twice what the lock waits for a node, for longer delays change what a lock does.
func (s *Setup) AllowedLateness() time.Duration {
	share := s.Lock.TTL / 10
	if s.Lock.NodeTimeout > 0 {
		share = min(share, 2*s.Lock.NodeTimeout)
	}
	return max(share, SureLateness)
}
