package lock

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Config is what a lock needs to know, the same for every client of a run. It
// travels to client processes as JSON; durations are in ns.
type Config struct {
	// Algorithm is a name that Algorithms lists.
	Algorithm string `json:"algorithm"`
	// Key is the lock's key on every node.
	Key string `json:"key"`
	// TTL is the lease asked for.
	TTL time.Duration `json:"ttl"`
	// NodeTimeout bounds each request to a node; 0: none.
	NodeTimeout time.Duration `json:"node_timeout"`
	// FanOut says how several nodes are asked.
	FanOut FanOut `json:"fan_out,omitempty"`
	// DriftFactor and DriftConstant make up the allowance for clock error that
	// Redlock subtracts from the validity: TTL x factor + constant.
	DriftFactor   float64       `json:"drift_factor"`
	DriftConstant time.Duration `json:"drift_constant"`
	// Clock is the clock the lock measures validity by.
	Clock Clock `json:"clock,omitempty"`
	Retry Retry `json:"retry"`
	// Tokens says where fencing tokens come from.
	Tokens Tokens `json:"tokens,omitempty"`
	// Mistakes are made on purpose.
	Mistakes Mistakes `json:"mistakes"`
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
	// Attempts is how often at most; at least 1.
	Attempts int `json:"attempts"`
	// Delay is the wait between attempts; Jitter a random addition of at most
	// that much.
	Delay  time.Duration `json:"delay"`
	Jitter time.Duration `json:"jitter"`
	// Backoff is how Delay grows.
	Backoff Backoff `json:"backoff,omitempty"`
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
	New       func(Config, Env) Lock
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
	list := make([]Algorithm, 0, len(algorithms))
	for _, a := range algorithms {
		list = append(list, a)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
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
	return c.Tokens == Consensus || algorithms[c.Algorithm].Consensus
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
