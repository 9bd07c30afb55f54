// Package program speaks with lock programs: programs in any language that know how to
// lock, and nothing else. docs/reference/lock-protocol.md describes the messages.
package program

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Version is that of the protocol.
const Version = 1

// MaxLine is the longest line, in bytes.
const MaxLine = 1 << 20

// Type names a message.
type Type string

// Messages to the program.
const (
	Hello       Type = "hello"
	SetupType   Type = "setup"
	AcquireType Type = "acquire"
	ReleaseType Type = "release"
	ExtendType  Type = "extend"
	ForgetType  Type = "forget"
	CancelType  Type = "cancel" // an open acquire, which has the same id
	ClocksType  Type = "clocks" // and back
	Go          Type = "go"
)

// Messages from the program.
const (
	ReadyType Type = "ready"
	SetUp     Type = "set-up"
	Acquired  Type = "acquired"
	Released  Type = "released"
	Extended  Type = "extended"
	Forgotten Type = "forgotten"
	Refused   Type = "refused"
	Unknown   Type = "unknown"
	Renewed   Type = "renewed"
	Lost      Type = "lost"
	Point     Type = "point"
	Error     Type = "error"
	// Unsupported answers setup: the lock refuses by design what it is asked for, as this topology.
	Unsupported Type = "unsupported"
)

// answers are the messages from the program that answer one to it; events those that it
// sends by itself.
var (
	answers = []Type{ReadyType, SetUp, Acquired, Released, Extended, Forgotten, Refused, Unknown, ClocksType, Unsupported, Error}
	events  = []Type{Renewed, Lost, Point}
)

// Ability is something that not every lock can do.
type Ability string

// Abilities.
const (
	// TellsValidity: an answer to acquire says how long the lock is valid.
	TellsValidity Ability = "validity"
	// Renews: the lock renews itself. If the library tells, the program says so.
	Renews Ability = "renew"
	// TellsLoss: the program says when it sees that it has lost a lock.
	TellsLoss Ability = "lost"
	// Extends: the request extend.
	Extends Ability = "extend"
	// Forgets: the request forget.
	Forgets Ability = "forget"
	// TellsToken: an answer to acquire has a fencing token.
	TellsToken Ability = "token"
	// TellsOwner: an answer to acquire has the value that the lock wrote into its key.
	TellsOwner Ability = "owner"
	// KeepsBusy: the program can keep its own thread or event loop occupied.
	KeepsBusy Ability = "busy"
	// AsksSentinels: the program asks Redis Sentinel where the primary is.
	AsksSentinels Ability = "sentinel"
	// AsksCluster: the program has a client for Redis Cluster, which goes where the slot of a key is.
	AsksCluster Ability = "cluster"
	// SetsUpAgain: the program takes another setup when nothing is asked of it, and it keeps nothing by itself, and is then as after its
	// first.
	SetsUpAgain Ability = "setup-again"
	// DoesWithoutTTL: setup may be without a TTL, and the lock's key has no end then.
	DoesWithoutTTL Ability = "no-ttl"
	// KeepsOneObject: the program can ask each time with the lock object of the library with which it asked first.
	KeepsOneObject Ability = "one-object"
	// HasPermits: the lock can be a semaphore: setup may say how many clients may hold it at once.
	HasPermits Ability = "permits"
	// HasModes: the lock can have readers and writers: setup may say that the client is a reader.
	HasModes Ability = "modes"
	// CanUpgrade: a reader can ask to write before it has left.
	CanUpgrade Ability = "upgrade"
	// KeepsOrder: the lock serves clients in the order in which they ask.
	KeepsOrder Ability = "fair"
	// StaysAtLeast: setup may say for how long the lock stays at least, also where it is released before.
	StaysAtLeast Ability = "at-least"
	// Wakes: a release wakes those who wait.
	Wakes Ability = "wakes"
	// Cancels: the request cancel.
	Cancels Ability = "cancel"
	// IsSeveral: the program can be several clients at once, each a thread or task of its process.
	IsSeveral Ability = "clients"
)

// Abilities are all of them.
func Abilities() []Ability {
	return []Ability{TellsValidity, Renews, TellsLoss, Extends, Forgets, TellsToken, TellsOwner, AsksSentinels, AsksCluster, KeepsBusy,
		SetsUpAgain, DoesWithoutTTL, KeepsOneObject, HasPermits, HasModes, CanUpgrade, KeepsOrder, StaysAtLeast, Wakes,
		Cancels, IsSeveral}
}

// Mode says how a client takes a lock that has readers and writers.
type Mode string

// Modes.
const (
	// Exclusive: it writes, and has the lock alone.
	Exclusive Mode = "exclusive"
	// Shared: it reads, and can have the lock beside others who read.
	Shared Mode = "shared"
)

// Class says what keeps the lock.
type Class string

// Classes.
const (
	// Quorum: a majority of independent nodes, which may be one.
	Quorum Class = "quorum"
	// Single: one node, or the primary of several.
	Single Class = "single"
	// Session: a session with a store that agrees on it.
	Session Class = "session"
	// Other: anything else that grants to one client at a time, or to as many as there are permits.
	Other Class = "other"
)

// Classes are all of them.
func Classes() []Class { return []Class{Quorum, Single, Session, Other} }

// Store is the server on which a lock is kept.
type Store string

// Stores.
const (
	// Redis: the nodes. It may be left out.
	Redis Store = "redis"
	// Etcd, Postgres, Zookeeper and Nats: one server, which sim starts.
	Etcd      Store = "etcd"
	Postgres  Store = "postgres"
	Zookeeper Store = "zookeeper"
	Nats      Store = "nats"
)

// Stores are all of them.
func Stores() []Store { return []Store{Redis, Etcd, Postgres, Zookeeper, Nats} }

// InVirtualTimeAlone reports that such a server is not started in real time: it can listen on no socket that nobody else reaches.
func (s Store) InVirtualTimeAlone() bool { return s == Zookeeper || s == Nats }

// LeaseTTL says that the TTL of setup is the lease, whatever end the lock's key has.
const LeaseTTL = "ttl"

// Ready is what a program says of itself.
type Ready struct {
	Protocol int    `json:"protocol"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Homepage string `json:"homepage,omitempty"`
	// About says which lock of the library it is, and what is behind it: its client library, its timeouts and retries.
	About string    `json:"about,omitempty"`
	Can   []Ability `json:"can,omitempty"`
	Class Class     `json:"class"`
	// Store is on what the lock is kept; empty: Redis.
	Store Store `json:"store,omitempty"`
	// Keys are patterns of the keys that the lock writes, with KeyPattern for the lock's key
	// and * for anything; none: the key alone.
	Keys []string `json:"keys,omitempty"`
	// Clock is LibcClock where the program reads its clocks by libc.
	Clock string `json:"clock,omitempty"`
	// ClockStays is why the program's wall clock cannot be moved; empty: it can. It is found by
	// trying.
	ClockStays string `json:"-"`
	// AllClocks: its monotonic clock can be moved, too. AllServers: faults strike the server of its store. Whoever runs it knows that.
	AllClocks, AllServers bool `json:"-"`
	// TTLMin is the shortest TTL, and TTLStep what each TTL is a multiple of, in ms. The lock's keys
	// live TTLExtra longer than the TTL.
	TTLMin   float64 `json:"ttl_min_ms,omitempty"`
	TTLStep  float64 `json:"ttl_step_ms,omitempty"`
	TTLExtra float64 `json:"ttl_extra_ms,omitempty"`
	// Lease is LeaseTTL where the lock keeps its lease in the value of its key; empty: the key's own end is the lease.
	Lease string `json:"lease,omitempty"`
	// Points are those that the program can report.
	Points []string `json:"points,omitempty"`
}

// Keeps reports that the program goes on by itself to keep a lock that was not given back: it renews it, or lives in a session.
func (r *Ready) Keeps() bool { return r.Has(Renews) || r.Class == Session }

// Has reports an ability.
func (r *Ready) Has(a Ability) bool { return slices.Contains(r.Can, a) }

// Elsewhere reports that the lock is kept on another server than Redis.
func (r *Ready) Elsewhere() bool { return r.Store != "" && r.Store != Redis }

// Bounds of what a program may say of itself.
const (
	maxName  = 100
	maxAbout = 300
	maxList  = 50
)

func (r *Ready) check() error {
	switch {
	case r.Protocol != Version:
		return fmt.Errorf("it speaks version %d of the protocol: want %d", r.Protocol, Version)
	case r.Name == "" || len(r.Name) > maxName || len(r.Version) > maxName:
		return fmt.Errorf("its name is %q, its version %q: want a name, each of at most %d bytes", r.Name, r.Version, maxName)
	case len(r.Homepage) > 10*maxName:
		return fmt.Errorf("its homepage is longer than %d bytes", 10*maxName)
	case len(r.About) > maxAbout || strings.ContainsFunc(r.About, unicode.IsControl):
		return fmt.Errorf("what it says about itself is %.100q: want one line of at most %d bytes", r.About, maxAbout)
	case !slices.Contains(Classes(), r.Class):
		return fmt.Errorf("its class is %q: want one of %q. (A semaphore has one of these, and can %q; a lock with readers and writers %q)",
			r.Class, Classes(), HasPermits, HasModes)
	case r.Store != "" && !slices.Contains(Stores(), r.Store):
		return fmt.Errorf("its store is %q: want one of %q", r.Store, Stores())
	case r.Elsewhere() && r.Class != Session:
		return fmt.Errorf("its store is %s, and its class %q: want %q", r.Store, r.Class, Session)
	case len(r.Can) > maxList || len(r.Keys) > maxList || len(r.Points) > maxList:
		return fmt.Errorf("a list in its message ready has more than %d entries", maxList)
	}
	if err := r.checkLease(); err != nil {
		return err
	}
	return r.checkLists()
}

// checkLists is about what it can, its keys and its points.
func (r *Ready) checkLists() error {
	for _, can := range r.Can {
		if !slices.Contains(Abilities(), can) {
			return fmt.Errorf("it says that it can %q: want some of %q", can, Abilities())
		}
	}
	for _, text := range slices.Concat(r.Keys, r.Points) {
		if text == "" || len(text) > maxName {
			return fmt.Errorf("%q in its message ready: want 1 to %d bytes", text, maxName)
		}
	}
	for _, point := range r.Points {
		if strings.HasSuffix(point, ":") { // in scenarios that stands for one point for each node
			return fmt.Errorf("its point %q ends in a colon", point)
		}
	}
	return nil
}

// LeaseInValue reports that the lock keeps its lease in the value of its key.
func (r *Ready) LeaseInValue() bool { return r.Lease == LeaseTTL }

// checkLease is about what it says of its leases.
func (r *Ready) checkLease() error {
	if r.TTLMin < 0 || r.TTLStep < 0 || r.TTLExtra < 0 {
		return fmt.Errorf("its ttl_min_ms is %v, its ttl_step_ms %v, its ttl_extra_ms %v: want none below 0", r.TTLMin, r.TTLStep, r.TTLExtra)
	}
	if r.Lease != "" && r.Lease != LeaseTTL {
		return fmt.Errorf("its lease is %q: want %q, or none", r.Lease, LeaseTTL)
	}
	return nil
}

// Setup says what the program is to lock, and where.
type Setup struct {
	Client string `json:"client"`
	// Process are the clients that the program is, if it is several: it is set up for each of them, in this order. Only programs that can
	// IsSeveral are told so.
	Process []string `json:"process,omitempty"`
	Seed    uint64   `json:"seed"`
	Lock    Lock     `json:"lock"`
	Nodes   []Node   `json:"nodes"`
	// Topology is one of those below.
	Topology string `json:"topology"`
	// Sentinels and Master are for the topology of Sentinel.
	Sentinels []Node `json:"sentinels"`
	Master    string `json:"master"`
	// Points are those to report.
	Points []string `json:"points"`
	// BusyMS is how long after each grant the program is to keep its own thread or event loop occupied.
	BusyMS float64 `json:"busy_ms,omitempty"`
	// OneObject: the program is to make one lock object of the library, and to ask with it each time.
	OneObject bool `json:"one_object,omitempty"`
}

// Joins reports that the program is this client beside others, for which it has been set up.
func (s *Setup) Joins() bool { return len(s.Process) > 1 && s.Client != s.Process[0] }

// Topologies.
const (
	// Independent nodes know nothing of each other.
	Independent = "independent"
	// Replicated: one address, behind which a primary with its replicas is.
	Replicated = "replicated"
	// Watched: sentinels tell where the primary is; there are no nodes to name.
	Watched = "sentinel"
	// Clustered: the nodes are a Redis Cluster; each of them tells where a slot is.
	Clustered = "cluster"
)

// Lock is the lock to take.
type Lock struct {
	Key string `json:"key"`
	// TTLMS is the lease to ask for; nil: the lock has no TTL.
	TTLMS         *float64 `json:"ttl_ms"`
	NodeTimeoutMS float64  `json:"node_timeout_ms"`
	// Permits is how many clients may hold the lock at once; 0, or not there: one, as any lock. Only programs that can HasPermits are told.
	Permits int `json:"permits,omitempty"`
	// Mode is Exclusive or Shared; empty: the lock is none with readers and writers. Only programs that can HasModes are told.
	Mode Mode `json:"mode,omitempty"`
	// AtLeastMS is how long the lock stays at least from when it was asked for, also where it is released before. 0, or not there: a
	// release frees it. Only programs that can StaysAtLeast are told.
	AtLeastMS float64 `json:"at_least_ms,omitempty"`
	// Options are further settings of the scenario's lock; a program may ignore them.
	Options json.RawMessage `json:"options,omitempty"`
}

// Node is a Redis server.
type Node struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Username string `json:"username"`
	Password string `json:"password"`
	TLS      *TLS   `json:"tls"`
}

// TLS says how to know a server.
type TLS struct {
	ServerName string `json:"server_name"`
	// CA is a file with the certificates to trust; empty: those of the machine.
	CA string `json:"ca"`
}

// Message is a message of either side. Which fields are set depends on Type.
type Message struct {
	Type  Type   `json:"type"`
	ID    uint64 `json:"id,omitempty"`
	Grant uint64 `json:"grant,omitempty"`
	// Client is whose request or point it is, where the program is several clients.
	Client string `json:"client,omitempty"`

	Protocols []int    `json:"protocols,omitempty"` // hello
	WaitMS    *float64 `json:"wait_ms,omitempty"`   // acquire
	// Upgrades is a reader's grant, beside which an acquire asks to write. Only programs that CanUpgrade are asked.
	Upgrades uint64 `json:"upgrades,omitempty"`

	// AtNS is an instant of the machine's CLOCK_MONOTONIC, in ns; ValidityMS counts from it.
	AtNS       int64    `json:"at_ns,omitempty"`
	ValidityMS *float64 `json:"validity_ms,omitempty"`
	Owner      []byte   `json:"owner_b64,omitempty"`
	Token      *int64   `json:"token,omitempty"`
	Why        string   `json:"why,omitempty"`

	WallMS      *float64 `json:"wall_ms,omitempty"` // clocks
	MonotonicMS *float64 `json:"monotonic_ms,omitempty"`

	Name string `json:"name,omitempty"` // point
}

// MS is a duration in ms.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TTLMS is a TTL in ms; nil: there is none.
func TTLMS(ttl time.Duration) *float64 {
	if ttl == 0 {
		return nil
	}
	ms := MS(ttl)
	return &ms
}

// TTL is the TTL of a lock; 0: it has none.
func (l *Lock) TTL() time.Duration {
	if l.TTLMS == nil {
		return 0
	}
	return Duration(*l.TTLMS)
}

// Duration is ms as a duration; what no duration can be is cut to what it can.
func Duration(ms float64) time.Duration {
	const most = float64(1 << 53) // in ns: 104 days
	return time.Duration(max(min(ms*float64(time.Millisecond), most), -most))
}
