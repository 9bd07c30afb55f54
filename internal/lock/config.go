package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Config is what a lock needs to know, the same for every client of a run but those that differ. A scenario
// reads and documents it by its tags (see scenario); it travels to client processes as
// JSON, with durations in ns.
type Config struct {
	// Algorithm is a name that Algorithms lists; empty where a program is the lock.
	Algorithm string        `json:"algorithm" yaml:"algorithm" doc:"which lock" required:"true"`
	Program   *Program      `json:"program,omitempty" yaml:"program" doc:"a program that is the lock, in the place of algorithm; it is started only with --allow-programs" instead:"algorithm"`
	Key       string        `json:"key" yaml:"key" doc:"the lock's key on the nodes" default:"lock" pattern:"^[A-Za-z0-9:._{}-]{1,100}$"`
	TTL       time.Duration `json:"ttl" yaml:"ttl" doc:"the lease asked for; none: the lock is held until it is released" min:"10ms" max:"1h" default:"1s" zero:"none"`
	// Permits is how many clients a semaphore lets in at once; 0: the lock is no semaphore.
	Permits int `json:"permits,omitempty" yaml:"permits" doc:"how many clients may hold a semaphore at once; other locks have no permits" min:"1" max:"1000"`
	// AtLeast is what ShedLock calls lockAtLeastFor.
	AtLeast time.Duration `json:"at_least,omitempty" yaml:"at_least" doc:"how long the lock stays from when it was asked for: a release before that leaves its key there for the rest of the time; 0s: a release frees the lock" max:"1h" default:"0s"`
	// Fair is what a scenario asks of the lock.
	Fair        bool          `json:"fair,omitempty" yaml:"fair" doc:"the lock is one that serves clients in the order in which they ask, and it is judged whether it does" default:"false"`
	NodeTimeout time.Duration `json:"node_timeout" yaml:"node_timeout" doc:"how long to wait for one node; 0s waits for ever" max:"1h" default:"50ms"`
	FanOut      FanOut        `json:"fan_out,omitempty" yaml:"fan_out" doc:"how several nodes are asked: one after the other, all at once, or all at once until a majority has granted" default:"in-turn" values:"in-turn,at-once,first-majority"`
	Drift       `yaml:"drift" doc:"the allowance for clock error that is subtracted from the validity: ttl x factor + constant"`
	Clock       Clock `json:"clock,omitempty" yaml:"clock" doc:"the client's clock that measures the validity" default:"monotonic" values:"monotonic,wall"`
	Retry       Retry `json:"retry" yaml:"retry" doc:"how a refused acquire is tried again"`
	// Tokens says where fencing tokens come from; a scenario says so beside their check.
	Tokens Tokens `json:"tokens,omitempty"`
	// Shared: the client is a reader; a scenario says so of its workload.
	Shared bool `json:"shared,omitempty"`
	// Busy is how long the client keeps its thread occupied after each grant; a scenario says so of its workload.
	Busy time.Duration `json:"busy,omitempty"`
	// OneObject: a lock program uses one lock object of its library for all that the client asks; a scenario says so of its workload.
	OneObject bool `json:"one_object,omitempty"`
	// Clients are those that differ; a client is told its own lock alone (For).
	Clients map[string]Difference `json:"-" yaml:"clients" doc:"clients whose lock differs from that of the others, and in what, as while a service is updated host by host" names:"^c[1-9][0-9]{0,2}$" most:"100"`
	// Mistakes are made on purpose.
	Mistakes Mistakes `json:"mistakes" yaml:"switches" doc:"safety rules of the lock; each is on by default, and switching one off makes a mistake that a real library shipped"`
}

// TTLText is the TTL for a person.
func (c *Config) TTLText() string {
	if c.TTL == 0 {
		return "no ttl"
	}
	return fmt.Sprintf("ttl %v", c.TTL)
}

// Span is the TTL, or a second without one: what is drawn or waited for in so many leases.
func (c *Config) Span() time.Duration { return cmp.Or(c.LongestTTL(), time.Second) }

// wait is how long to wait for the answer of a node; 0: for ever.
func (c *Config) wait() time.Duration {
	if c.Mistakes.WaitForEver {
		return 0
	}
	return c.NodeTimeout
}

// Program is a lock program, and how to start it.
type Program struct {
	Command []string          `json:"command" yaml:"command" doc:"the program and its arguments, as no shell would change them; paths are relative to the folder in which sim runs" required:"true" least:"1" most:"100" min:"1" max:"4096"`
	Env     map[string]string `json:"env,omitempty" yaml:"env" doc:"added to its environment" names:"^[A-Za-z_][A-Za-z0-9_]{0,99}$" most:"100" max:"4096"`
	Keys    []string          `json:"keys,omitempty" yaml:"keys" doc:"patterns of the keys that it writes, where it does not say so itself: {key} is the lock's key, * anything" most:"50" min:"1" max:"100"`
}

// Environ are the variables that it adds to its environment, as NAME=value.
func (p *Program) Environ() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		list = append(list, name+"="+p.Env[name])
	}
	return list
}

// Drift is the allowance for clock error.
type Drift struct {
	DriftFactor   float64       `json:"drift_factor" yaml:"factor" doc:"share of the ttl" min:"0" max:"1" default:"0.01"`
	DriftConstant time.Duration `json:"drift_constant" yaml:"constant" doc:"fixed part, for the resolution of Redis's expiry" max:"1h" default:"2ms"`
}

// FanOut says in which way several nodes are asked.
type FanOut string

const (
	// InTurn asks one node after the other, as the Redis documentation does.
	InTurn FanOut = "in-turn"
	// AtOnce asks all nodes concurrently and waits for all answers.
	AtOnce FanOut = "at-once"
	// FirstMajority asks all nodes concurrently and decides as soon as a
	// majority has granted.
	FirstMajority FanOut = "first-majority"
)

// Clock names the clock by which a client measures validity.
type Clock string

const (
	// Monotonic is not moved by setting the time of day.
	Monotonic Clock = "monotonic"
	// Wall is the time of day.
	Wall Clock = "wall"
)

// Retry says how often and how fast a refused acquire is tried again.
type Retry struct {
	Attempts int           `json:"attempts" yaml:"attempts" doc:"how often at most" min:"1" max:"100000" default:"200"`
	Delay    time.Duration `json:"delay" yaml:"delay" doc:"wait between attempts" max:"1h" default:"20ms"`
	Jitter   time.Duration `json:"jitter" yaml:"jitter" doc:"random addition to the delay, at most this much" max:"1h" default:"20ms"`
	Backoff  Backoff       `json:"backoff,omitempty" yaml:"backoff" doc:"fixed: all delays alike; linear: the k-th is k times as long" default:"fixed" values:"fixed,linear"`
}

// Backoff says how the delay between attempts grows.
type Backoff string

const (
	// Fixed: every delay is the same.
	Fixed Backoff = "fixed"
	// Linear: the k-th delay is k times as long.
	Linear Backoff = "linear"
)

// Algorithm is one kind of lock.
type Algorithm struct {
	Name string
	// Title is one line for a person.
	Title string
	// MinNodes and MaxNodes bound how many nodes it can use; MaxNodes 0: any.
	MinNodes, MaxNodes int
	// Tokens are the sources of tokens that it offers.
	Tokens []Tokens
	// Points are the points that it passes. One that ends in a colon goes on
	// with the number of a node.
	Points []string
	// Mistakes are those that it can be told to make.
	Mistakes Mistakes
	// Consensus: the lock itself is kept in the consensus store.
	Consensus bool
	// Keyless: it writes nothing to the nodes.
	Keyless bool
	// Replicas: it grants nothing on nodes without replicas.
	Replicas bool
	// Syncs: it grants nothing on nodes without an append-only file.
	Syncs bool
	// Pooled: it sends some commands over another connection of its pool.
	Pooled bool
	// Extends: its user can make a grant last longer (Extender).
	Extends bool
	// Needs are what its commands take that not every server has.
	Needs []command.Feature
	// Ownerless: its key does not say who holds it.
	Ownerless bool
	// Semaphore: it has permits (Config.Permits). Modes: it has readers and writers (Config.Shared).
	Semaphore, Modes bool
	// Fair: it serves clients in the order in which they ask.
	Fair bool
	// Wakes: a release wakes those who wait.
	Wakes bool
	// StaysAtLeast: it can stay after its release (Config.AtLeast).
	StaysAtLeast bool
	// Endless: it can be without a TTL.
	Endless bool
	New     func(Config, Env) Lock
}

// Renews reports that it renews its lease in the background.
func (a Algorithm) Renews() bool { return slices.Contains(a.Points, PointBeforeExtend) }

// Forgets reports that it notices when its client forgets it (Forgetter).
func (a Algorithm) Forgets() bool {
	_, is := a.New(Config{}, nil).(Forgetter)
	return is
}

// NodeRange says how many nodes it uses: "at least one node".
func (a Algorithm) NodeRange() string {
	switch {
	case a.MaxNodes == a.MinNodes && a.MinNodes == 1:
		return "one node"
	case a.MaxNodes == 0 && a.MinNodes == 1:
		return "at least one node"
	case a.MaxNodes == 0:
		return fmt.Sprintf("at least %d nodes", a.MinNodes)
	}
	return fmt.Sprintf("%d to %d nodes", a.MinNodes, a.MaxNodes)
}

// Upgrades reports that its reader can ask to write before it has left (Upgrader).
func (a Algorithm) Upgrades() bool {
	_, is := a.New(Config{}, nil).(Upgrader)
	return is
}

// PointsOn are points with so many nodes: those that end in a colon are one for each.
func PointsOn(points []string, nodes int) (list []string) {
	for _, p := range points {
		if !strings.HasSuffix(p, ":") {
			list = append(list, p)
			continue
		}
		for i := range nodes {
			list = append(list, p+strconv.Itoa(i+1))
		}
	}
	return list
}

var algorithms = map[string]Algorithm{}

// register is called by the file of each algorithm.
func register(a Algorithm) {
	if _, twice := algorithms[a.Name]; twice {
		panic("lock: algorithm registered twice: " + a.Name)
	}
	algorithms[a.Name] = a
}

// Algorithms lists all algorithms by name.
func Algorithms() []Algorithm {
	return slices.SortedFunc(maps.Values(algorithms), func(a, b Algorithm) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup finds an algorithm by name.
func Lookup(name string) (Algorithm, bool) {
	a, ok := algorithms[name]
	return a, ok
}

// New makes one client's lock.
func New(c Config, env Env) (Lock, error) {
	a, ok := algorithms[c.Algorithm]
	if !ok {
		return nil, fmt.Errorf("no lock algorithm %q", c.Algorithm)
	}
	if n := len(env.Nodes()); n < a.MinNodes || a.MaxNodes > 0 && n > a.MaxNodes {
		return nil, fmt.Errorf("lock algorithm %q cannot use %s", c.Algorithm, words.Count(n, "node"))
	}
	if c.Tokens == "" {
		c.Tokens = NoTokens
	}
	if !slices.Contains(a.Tokens, c.Tokens) {
		return nil, fmt.Errorf("lock algorithm %q has no tokens %q", c.Algorithm, c.Tokens)
	}
	c.Retry.Attempts = max(c.Retry.Attempts, 1)
	return a.New(c, env), nil
}

// NeedsConsensus reports whether Env.Consensus is asked.
func (c Config) NeedsConsensus() bool {
	for _, one := range c.Clients {
		if algorithms[one.Algorithm].Consensus {
			return true
		}
	}
	return c.Tokens == Consensus || algorithms[c.Algorithm].Consensus
}

// Needs are what the locks' commands take that not every server has.
func (c Config) Needs() (list []command.Feature) {
	for _, one := range c.All() {
		list = append(list, algorithms[one.Algorithm].Needs...)
	}
	return list
}

// RefusedBy says why the lock cannot be on a server, and since when servers have what it needs; empty: it can.
func (c Config) RefusedBy(s command.Server) string {
	for _, one := range c.All() {
		if why := s.Refuses(one.Algorithm, algorithms[one.Algorithm].Needs...); why != "" {
			return why
		}
	}
	return ""
}

// Pooled reports whether commands ask for another connection (Command.OtherConnection).
func (c Config) Pooled() bool {
	return slices.ContainsFunc(c.All(), func(one Config) bool { return algorithms[one.Algorithm].Pooled })
}

// now reads the clock that the lock measures validity by.
func (c *Config) now(env Env) time.Duration {
	if c.Clock == Wall {
		return env.Wall()
	}
	return env.Now()
}

// until is the end of the promise of a lease that was asked for at start: the ttl
// less the allowance for clocks that run at different rates.
func (c *Config) until(start time.Duration) time.Duration {
	return start + c.TTL - time.Duration(float64(c.TTL)*c.DriftFactor) - c.DriftConstant
}

// counterKey is where a node keeps the counter that tokens come from.
func (c Config) counterKey() string { return c.Key + ":token" }
