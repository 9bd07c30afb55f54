package history

import "time"

// Header is the first line of a history file: what it is and what made it.
type Header struct {
	// Format is always FormatName; Version is the version of the format.
	Format  string `json:"format"`
	Version int    `json:"version"`

	Scenario string `json:"scenario,omitempty"`
	Variant  string `json:"variant,omitempty"`
	// World is the world that produced the history: live or virtual.
	World string `json:"world,omitempty"`
	Seed  uint64 `json:"seed"`
	// Started is the wall time of the run's start (RFC 3339), where it has one.
	Started string `json:"started,omitempty"`

	// Lock names the algorithm; Workload what the clients did.
	Lock     string `json:"lock,omitempty"`
	Workload string `json:"workload,omitempty"`
	// Clients and Nodes in the scenario's order.
	Clients []string `json:"clients,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	// Processes are the clients of each process that several share.
	Processes [][]string `json:"processes,omitempty"`
	// Clusters are the nodes of the lock, where each of these is a Redis Cluster: Nodes are their servers then.
	Clusters []ClusterNodes `json:"clusters,omitempty"`
	// ChecksOrder: the resource is meant to refuse a token lower than the highest that
	// it has seen.
	ChecksOrder bool `json:"checks_order,omitempty"`
	// Permits: the lock is a semaphore, which so many clients may hold at once. 0: it is none.
	Permits int `json:"permits,omitempty"`
	// Modes: the lock has readers, who can hold it beside one another (Extra.Shared), and writers, who hold it alone.
	Modes bool `json:"modes,omitempty"`
	// Fair: the lock serves clients in the order in which they ask. MostOvertakes is how many grants to clients that asked later one who waits
	// bears at most; 0: it is not asked.
	Fair          bool `json:"fair,omitempty"`
	MostOvertakes int  `json:"most_overtakes,omitempty"`
	// AtLeast is for how long, in ns, the lock stays from when it was asked for, also where it is released before.
	AtLeast int64 `json:"at_least,omitempty"`
	// Carried: keys of the lock were on its nodes when the run began, which a run before it in the same world has left.
	Carried bool `json:"carried,omitempty"`
	// LockKey is the name of the lock's key on the nodes.
	LockKey string `json:"lock_key,omitempty"`
	// Program: the lock is a program, of this version. Where its grants tell no end, they promise the TTL
	// that it was given, from when a command asked Quorum nodes for it.
	Program string `json:"program,omitempty"`
	Quorum  int    `json:"quorum,omitempty"`
	// Renews: the lock renews itself in the background for as long as it is held.
	Renews bool `json:"renews,omitempty"`
	// Commands: what clients send to the nodes of the lock is recorded (Sent, Unread).
	Commands bool `json:"commands,omitempty"`
	// Initial is the resource's value before the run.
	Initial Int `json:"initial,omitzero"`
	// TTL is how long the lock's keys live, in ns. It is the TTL that the lock was given, and TTLExtra, which it adds by design.
	TTL      int64 `json:"ttl,omitempty"`
	TTLExtra int64 `json:"ttl_extra,omitempty"`
	// TTLStep is what each end of a key that the lock asks for is a multiple of, in ns.
	TTLStep int64 `json:"ttl_step,omitempty"`
	// Lease is LeaseTTL where the lock keeps its lease in the value of its key: TTL is the lease, whatever end the key has. It is
	// LeaseNone where the lock was given no TTL, and LeaseClock where a client's own clock may say when the lease ends.
	Lease string `json:"lease,omitempty"`
	// Differ are the clients whose lock is another one than that of the others, with what goes for it in the place of what is said above.
	Differ map[string]ClientLock `json:"differ,omitempty"`
}

// ClientLock is what a header says of the lock of one client, as the fields of Header of these names do.
type ClientLock struct {
	Lock     string `json:"lock,omitempty"`
	Program  string `json:"program,omitempty"`
	LockKey  string `json:"lock_key,omitempty"`
	Renews   bool   `json:"renews,omitempty"`
	TTL      int64  `json:"ttl,omitempty"`
	TTLExtra int64  `json:"ttl_extra,omitempty"`
	TTLStep  int64  `json:"ttl_step,omitempty"`
}

// GivenTTL is the TTL that the lock was given, in ns; 0: it is not said.
func (l ClientLock) GivenTTL() int64 {
	if l.TTLExtra < 0 || l.TTLExtra > l.TTL {
		return 0
	}
	return l.TTL - l.TTLExtra
}

// LockOf is the lock as a client has it.
func (h *Header) LockOf(client string) ClientLock {
	if l, differs := h.Differ[client]; differs {
		return l
	}
	return ClientLock{h.Lock, h.Program, h.LockKey, h.Renews, h.TTL, h.TTLExtra, h.TTLStep}
}

// ClusterNodes are the nodes of one of several Redis Clusters. Clients call it by its name.
type ClusterNodes struct {
	Name  string   `json:"name"`
	Nodes []string `json:"nodes"`
}

// Leases that a header names.
const (
	LeaseTTL   = "ttl"
	LeaseNone  = "none"
	LeaseClock = "clock"
)

// MostPermits is how many permits a semaphore has at most.
const MostPermits = 1000

// FormatName and FormatVersion name the format this package writes.
const (
	FormatName    = "redlock-sim-history"
	FormatVersion = 1
)

// History is a whole run in memory.
type History struct {
	Header Header
	Events []Event
	// Truncated says that the file ended in the middle of a line.
	Truncated bool
	// Clocks are those of the hosts that wrote it; nil: one clock stamped all events. No file of a history has them.
	Clocks *Clocks
}

// Shares reports that several clients may hold the lock at once: it is a semaphore, or has readers.
func (h *Header) Shares() bool { return h.Permits > 0 || h.Modes }

// InOrder reports that it is judged in which order clients are served.
func (h *Header) InOrder() bool { return h.Fair || h.MostOvertakes > 0 }

// Done reports whether the run that wrote the history ended by itself.
func (h *History) Done() bool {
	for i := len(h.Events) - 1; i >= 0; i-- {
		if e := &h.Events[i]; e.F == Phase && e.Value.Detail() == PhaseDone {
			return true
		}
	}
	return false
}

// End is the time of the last event.
func (h *History) End() time.Duration {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].Time
}

// Count is how many events tell of the same.
func (h *History) Count(f F) int {
	n := 0
	for i := range h.Events {
		if h.Events[i].F == f {
			n++
		}
	}
	return n
}

// Op is an operation of a client: its invocation and, unless the history ended
// first, its completion.
type Op struct {
	Process string
	F       F
	// Type is OK, Fail or Info; an operation that never completed is Info.
	Type Type
	// Call and Return are indices into History.Events. Return is -1 where the
	// operation never completed.
	Call, Return int
}

// Ops pairs invocations with completions, in the order of invocation. A client
// has one operation open at a time, save that a background activity of the
// client (a watchdog's Extend) may overlap; those pair by process and F.
// An invocation that is followed by another of the same process and F before
// any completion stays without one; a completion without an invocation is
// ignored here and reported by Validate.
func (h *History) Ops() []Op {
	type slot struct {
		process string
		f       F
	}
	open := make(map[slot]int)
	invoked := 0
	for i := range h.Events {
		if e := &h.Events[i]; e.Type == Invoke && e.IsOp() {
			invoked++
		}
	}
	ops := make([]Op, 0, invoked)
	for i := range h.Events {
		e := &h.Events[i]
		if !e.IsOp() {
			continue
		}
		s := slot{e.Process, e.F}
		if e.Type == Invoke {
			open[s] = len(ops)
			ops = append(ops, Op{Process: e.Process, F: e.F, Type: Info, Call: i, Return: -1})
			continue
		}
		if at, ok := open[s]; ok {
			ops[at].Type, ops[at].Return = e.Type, i
			delete(open, s)
		}
	}
	return ops
}
