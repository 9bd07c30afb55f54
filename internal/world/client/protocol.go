package client

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// ProtocolVersion is the version of the line protocol.
const ProtocolVersion = 1

// MaxMessage is the longest line of the protocol, in bytes.
const MaxMessage = 1 << 20

// MessageType names a line of the protocol.
type MessageType string

// Messages to the client.
const (
	// Setup comes first, and after each Rest. More may follow, of other clients that share the process.
	Setup MessageType = "setup"
	// Ask carries a Request; the client answers with Answered.
	Ask MessageType = "request"
	// Go lets the client pass the point, or begin the background operation,
	// that it reported under the same ID.
	Go MessageType = "go"
	// Cancel cancels the acquire with this ID, which is answered as ever. If it has been answered, nothing happens.
	Cancel MessageType = "cancel"
	// SetClock bends one of the client's clocks; the client answers with
	// ClockSet. A client that has no such clocks may answer Failed.
	SetClock MessageType = "clock"
	// Rest ends the run: the client ends its lock and its connections, and answers with Rested. Then
	// another Setup may come. A client that knows none of this may end.
	Rest MessageType = "rest"
)

// Messages from the client.
const (
	// Ready answers Setup.
	Ready MessageType = "ready"
	// Answered carries the Answer to the request with the same ID.
	Answered MessageType = "answer"
	// AtPoint reports an armed point; the client waits there for Go.
	AtPoint MessageType = "point"
	// Invoked reports that a background operation is about to begin; the client
	// waits for Go. Completed carries its outcome.
	Invoked   MessageType = "invoke"
	Completed MessageType = "complete"
	// ClockSet answers SetClock.
	ClockSet MessageType = "clock-set"
	// Lost says that the client's lock told of a loss: at the instant Monotonic, or at
	// most Uncertain before it. Answer has the owner.
	Lost MessageType = "lost"
	// Ended says that the client's lock program ended by itself, and that the client ends with it. Error is how it ended, Printed the
	// last lines that it printed.
	Ended MessageType = "ended"
	// Rested answers Rest.
	Rested MessageType = "rested"
	// Failed says that the client cannot go on; Error says why.
	Failed MessageType = "error"
)

// Message is one line of the protocol, in either direction. Type says which of
// the other fields speak.
type Message struct {
	Type MessageType `json:"type"`
	// Client is which client of the process it is about; empty: the one that was set up first.
	Client string `json:"client,omitempty"`
	// ID ties answers to requests. The runner numbers its requests, the client
	// its points and background operations, each from 1.
	ID uint64 `json:"id,omitempty"`
	// Setup belongs to Setup, Request to Ask.
	Setup   *SetupMessage `json:"setup,omitempty"`
	Request *Request      `json:"request,omitempty"`
	// Clock belongs to SetClock.
	Clock *ClockMessage `json:"clock,omitempty"`
	// Answer belongs to Answered and Completed.
	Answer *Answer `json:"answer,omitempty"`
	// Monotonic is CLOCK_MONOTONIC in ns at the instant from which the
	// Validity of a grant counts. A client that cannot read it leaves it out;
	// its validity then counts from the invocation.
	Monotonic int64 `json:"monotonic,omitempty"`
	// Uncertain belongs to Lost, in ns.
	Uncertain int64 `json:"uncertain,omitempty"`
	// Point belongs to AtPoint, Operation to Invoked.
	Point     string `json:"point,omitempty"`
	Operation string `json:"operation,omitempty"`
	// Protocol is the client's version, in Ready.
	Protocol int    `json:"protocol,omitempty"`
	Error    string `json:"error,omitempty"`
	// Printed belongs to Ended.
	Printed []string `json:"printed,omitempty"`
	// OutOfTime belongs to Failed: it is the bound, in ns, if something took longer than it may.
	OutOfTime time.Duration `json:"out_of_time,omitempty"`
	// Unsupported belongs to Failed: it is what the lock program refuses by design.
	Unsupported string `json:"unsupported,omitempty"`
}

// SetupMessage tells a client all it needs to know.
type SetupMessage struct {
	Protocol int    `json:"protocol"`
	Client   string `json:"client"`
	// Process are the clients of the process, where it has several: each is set up, in this order.
	Process  []string        `json:"process,omitempty"`
	Seed     uint64          `json:"seed"`
	Lock     lock.Config     `json:"lock"`
	Resource resource.Config `json:"resource"`
	// Nodes and Store say where the lock's nodes and the resource listen.
	Nodes []Address `json:"nodes"`
	// Replicated: what listens there is the primary of several.
	Replicated bool `json:"replicated,omitempty"`
	// Clusters are the Redis Clusters that the nodes are, one after the other.
	Clusters []history.ClusterNodes `json:"clusters,omitempty"`
	// Sentinels know the primary as Master, in the place of Nodes.
	Sentinels []Address `json:"sentinels,omitempty"`
	Master    string    `json:"master,omitempty"`
	Store     Address   `json:"store"`
	// Consensus is a store that no fault strikes, where the lock needs one (see
	// lock.Config.NeedsConsensus).
	Consensus *Address `json:"consensus,omitempty"`
	// Modes: the lock has readers and writers.
	Modes bool `json:"modes,omitempty"`
	// WarmUp is a key that the lock program takes and gives back before it is set up for the run, if it can be set up again; empty: none.
	WarmUp string `json:"warm_up,omitempty"`
	// Environ is added to the environment of the lock program.
	Environ []string `json:"environ,omitempty"`
	// StoreTimeout bounds requests to the resource, in ns; 0: none.
	StoreTimeout time.Duration `json:"store_timeout,omitempty"`
	// Points are the points at which the client has to report and wait.
	Points []string `json:"points,omitempty"`
}

// ClockMessage bends a clock of the client, as the lock reads it: its reading
// jumps by Jump (ns) and then runs at Rate times the true rate. Reset sets it
// right.
type ClockMessage struct {
	// Which is WallClock or MonotonicClock.
	Which string        `json:"which"`
	Jump  time.Duration `json:"jump"`
	Rate  float64       `json:"rate"`
	Reset bool          `json:"reset,omitempty"`
}

// The clocks of a client.
const (
	WallClock      = "wall"
	MonotonicClock = "monotonic"
)
