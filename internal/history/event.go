package history

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Type says what an event tells about its operation. The words are Jepsen's.
type Type uint8

const (
	// Invoke: the operation is about to be asked for.
	Invoke Type = iota + 1
	// OK: the operation took effect; its value is known.
	OK
	// Fail: the operation certainly took no effect.
	Fail
	// Info: an operation whose outcome is unknown (it may take effect at any
	// time after its invocation), or an observation that is no operation.
	Info
)

var typeNames = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// MarshalText writes Jepsen's word for t.
func (t Type) MarshalText() ([]byte, error) {
	if t < Invoke || t > Info {
		return nil, fmt.Errorf("no such event type: %d", uint8(t))
	}
	return []byte(typeNames[t]), nil
}

// UnmarshalText reads Jepsen's word for a type.
func (t *Type) UnmarshalText(b []byte) error {
	for i, name := range typeNames {
		if name != "" && name == string(b) {
			*t = Type(i)
			return nil
		}
	}
	return fmt.Errorf("event type %q: want invoke, ok, fail or info", b)
}

// F names what an operation does or an observation shows.
type F string

// Operations of clients: an Invoke, then at most one OK, Fail or Info by the
// same process.
const (
	Acquire F = "acquire"
	Extend  F = "extend"
	Release F = "release"
	// Forget: the client drops its lock, and neither releases nor extends it.
	Forget F = "forget"
	Read   F = "read"
	Write  F = "write"
	CAS    F = "cas"
	// Transact appends a number to two lists that belong together; Snapshot
	// looks at both.
	Transact F = "txn"
	Snapshot F = "snapshot"
)

// Observations. Their Type is always Info.
const (
	// Point: a client passed the named point of its code (Value.Point).
	Point F = "point"
	// KeySet, KeyExtended, KeyDeleted, KeyExpired: a node's lock key changed.
	// Process is the node; Value has Key, Owner and, where it lives on, TTL. Of a lock
	// program it also has At, when the command left its client, and ValidUntil, till when
	// it asked for the key.
	KeySet      F = "key-set"
	KeyExtended F = "key-extended"
	KeyDeleted  F = "key-deleted"
	KeyExpired  F = "key-expired"
	// KeyUnclear: something was done to a node's lock key, or found, of which the
	// observer cannot tell what it left there. Value has Key, Client and, as Detail,
	// the command. It is over with the node's next word about the key. Stranger says that it
	// came over no link.
	KeyUnclear F = "key-unclear"
	// Lost: a client's lock told it that it had lost its grant (Value.Owner): at Value.At,
	// or at most Value.AtError before that.
	Lost F = "lost"
	// ProgramEnded: a client's lock program ended by itself, and the client with it. Value.Detail is how ("exit status 1"), Error
	// the end of what it had printed.
	ProgramEnded F = "program-ended"
	// Effect: the resource applied or refused an operation. Process is
	// ResourceProcess; Value has At, Client, Op, Accepted, Token, Highest.
	Effect F = "effect"
	// FaultBegin and FaultEnd: a nemesis event. Process is NemesisProcess;
	// Value has Fault, Target, Planned, Took and Detail. FaultFailed: the fault
	// was due and did not take effect; Error says why.
	FaultBegin  F = "fault-begin"
	FaultEnd    F = "fault-end"
	FaultFailed F = "fault-failed"
	// NodeDown and NodeUp: a node died, and came back with what Value.Detail
	// says of its disk. NodePromoted: a replica became the primary; NodeDemoted: a primary
	// became a replica.
	NodeDown     F = "node-down"
	NodeUp       F = "node-up"
	NodePromoted F = "node-promoted"
	NodeDemoted  F = "node-demoted"
	// Sentinel: a sentinel told of something. Process is the sentinel; Value.Detail is the word that
	// Redis has for it (+sdown, +switch-master, +vote-for-leader ...), Value.Target the server or the sentinel that it
	// is about (of +switch-master: the new primary), and Value.Epoch the epoch, where Redis tells it.
	Sentinel F = "sentinel"
	// Cluster: a node of a Redis Cluster knows something else than before. Process is the node, Value.Detail one of the words below,
	// Value.Target the node that it is about, and Value.Epoch the epoch of whoever has the lock's slot.
	Cluster F = "cluster"
	// Sent: a client sent a command to a node of the lock (Value.Command). It is recorded when
	// the answer has reached the client, or when none can come any more.
	Sent F = "command"
	// Unread: from here on nobody can tell the commands from a client to a node, or their
	// answers alone (Value.Unread); Error says why. Process is the client, or RunProcess for all.
	Unread F = "command-unread"
	// Stalled: a timer fired late, by Value.Took, up to now. Process is RunProcess. Clients and servers may not have run
	// meanwhile.
	Stalled F = "stalled"
	// Phase: the run entered the phase named in Value.Detail
	// (PhaseSafety, PhaseHealing, PhaseDone). A history without PhaseDone
	// belongs to a run that did not finish.
	Phase F = "phase"
)

// What a node of a cluster knows from then on.
const (
	// ClusterSlot: Value.Target has the slot of the lock's key.
	ClusterSlot = "slot"
	// ClusterFailed: Value.Target has failed, as a majority of the primaries says; ClusterBack: it is there again.
	ClusterFailed = "failed"
	ClusterBack   = "back"
	// ClusterRefuses: the node refuses all commands on keys from here on, for it sees too little of the cluster; ClusterServes: it
	// carries them out again.
	ClusterRefuses = "refuses"
	ClusterServes  = "serves"
	// ClusterSends: the slot of the lock is open, and the node sends clients whose keys it has not to Value.Target (ASK). ClusterTakes: it
	// takes those whom Value.Target sends (ASKING).
	ClusterSends = "sends"
	ClusterTakes = "takes"
)

// Names of processes that are no clients. Clients and nodes are named by the
// scenario (c1, c2, ... and A, B, ... by default); the scenario refuses to
// give a client or a node one of these names.
const (
	NemesisProcess  = "nemesis"
	ResourceProcess = "resource"
	// PrimaryProcess is the name under which clients see a replicated set of nodes.
	PrimaryProcess = "primary"
	RunProcess     = "run"
)

// Phases of a run, as Value.Detail of a Phase event.
const (
	PhaseSafety  = "safety"  // faults strike
	PhaseHealing = "healing" // all faults are lifted, all nodes are up
	PhaseDone    = "done"    // the run ended by itself
)

// Event is one line of a history.
type Event struct {
	// Index is the event's place in the history, from 0, without gaps.
	Index int32 `json:"index"`
	Type  Type  `json:"type"`
	// Time is when the event was recorded, counted from the run's start. An
	// invocation is stamped before its request leaves, a completion after its
	// answer arrived, so the recorded interval contains the true one.
	Time time.Duration `json:"time"`
	// Process is a client, a node, or one of the process names above.
	Process string `json:"process"`
	F       F      `json:"f"`
	Value   Value  `json:"value,omitzero"`
	// Error says in words why an operation failed or is unknown.
	Error Text `json:"error,omitzero"`
}

// IsOp reports whether the event belongs to an operation of a client.
func (e *Event) IsOp() bool {
	switch e.F {
	case Acquire, Extend, Release, Forget, Read, Write, CAS, Transact, Snapshot:
		return true
	}
	return false
}

// Value carries what an event knows beyond its name. Which fields are set
// depends on F; docs/reference/history.md lists them. A long run has millions of events in memory, so what most of them do not know is
// kept apart, in groups: Grant, Extra, Outcome and Rare. They are read by methods, which know what to say where there is none.
// A copy of a value shares them.
type Value struct {
	// Owner is the value the client wrote into the lock's keys.
	Owner string `json:"owner,omitempty"`
	// Token is the fencing token of a grant, a read, a write or an effect.
	Token Int `json:"token,omitzero"`
	*Grant

	// Section numbers the guarded section of a client, from 1; the events of
	// one section of one client share it.
	Section int `json:"section,omitempty"`
	// Key names the part of the resource, or the key of a node.
	Key string `json:"key,omitempty"`
	// Number is the value read or written (register, increment), the units
	// left (stock), the element appended (append) or the tick run (jobs).
	Number Int `json:"number,omitzero"`
	*Extra

	// Client is who asked for an effect, or for what a node did to a key.
	Client string `json:"client,omitempty"`
	*Outcome

	*Rare
}

// Grant is what a lock promised: what a grant and a renewal know, and of a key how long it lives.
type Grant struct {
	// Validity is the duration the lock promised, counted from the instant
	// the lock computed it, on the client's own clock, in ns.
	Validity Int `json:"validity,omitzero"`
	// ValidUntil is the run time at which the promise ends, in ns.
	ValidUntil Int `json:"valid_until,omitzero"`
	// Nodes are the nodes that granted the lock.
	Nodes []string `json:"nodes,omitempty"`
	// TTL is how long a node's key still lives, in ns on the node's clock.
	TTL Int `json:"ttl,omitzero"`
}

// Outcome is what the resource tells of an effect.
type Outcome struct {
	// Op is the operation an effect belongs to.
	Op F `json:"op,omitempty"`
	// At is the run time, in ns, at which the effect took place, on the clock
	// of the resource. AtError bounds how far off that may be, in ns.
	At      Int   `json:"at,omitzero"`
	AtError int64 `json:"at_error,omitempty"`
	// Accepted says whether the resource let the effect happen.
	Accepted Bool `json:"accepted,omitzero"`
	// Highest is the highest token the resource knew before this effect.
	Highest Int `json:"highest,omitzero"`
}

// Extra is what few operations know, a point, and which of several locks it is.
type Extra struct {
	// Lock names the lock, where a run has several. Empty means the only one.
	Lock string `json:"lock,omitempty"`
	// Inner: an acquire inside a section of the client, which has the lock. A release inside the section gives this one back.
	Inner bool `json:"inner,omitempty"`
	// Shared: an acquire of a reader, who can have the lock beside other readers.
	Shared bool `json:"shared,omitempty"`
	// Expected is the value a cas demands.
	Expected Int `json:"expected,omitzero"`
	// List is what a read of an append resource saw.
	List []int64 `json:"list,omitempty"`
	// Other is the second list of a snapshot.
	Other []int64 `json:"other,omitempty"`

	// Point is the name of a point.
	Point string `json:"point,omitempty"`
}

// Rare is what few events of a long run know: those of faults, servers and commands, and phases.
type Rare struct {
	// Epoch is that of a sentinel, or of a node of a cluster.
	Epoch Int `json:"epoch,omitzero"`

	// Fault names the kind of a fault, ID which of the scenario's faults it is
	// (from 1) and Target whom it struck.
	Fault  string `json:"fault,omitempty"`
	ID     int    `json:"id,omitempty"`
	Target string `json:"target,omitempty"`
	// Planned is the fault's planned length, Took the measured one, in ns.
	Planned Int `json:"planned,omitzero"`
	Took    Int `json:"took,omitzero"`
	// Impact is what a fault does; a FaultBegin without it may have done anything.
	Impact *Impact `json:"impact,omitempty"`
	// Stranger: whoever changed the key came over a connection that is no client's link.
	Stranger bool `json:"stranger,omitempty"`
	// Detail is free text for a person.
	Detail string `json:"detail,omitempty"`
	// Command is one that a client sent to a node of the lock, Unread what nobody can tell of
	// such commands.
	Command *Command       `json:"command,omitempty"`
	Unread  *UnreadCommand `json:"unread,omitempty"`
}

// What is read where a value has no group of a kind, and never written to.
var (
	noGrant   Grant
	noExtra   Extra
	noOutcome Outcome
	noRare    Rare
)

func (v *Value) grant() *Grant     { return cmp.Or(v.Grant, &noGrant) }
func (v *Value) extra() *Extra     { return cmp.Or(v.Extra, &noExtra) }
func (v *Value) outcome() *Outcome { return cmp.Or(v.Outcome, &noOutcome) }
func (v *Value) rare() *Rare       { return cmp.Or(v.Rare, &noRare) }

// OwnGrant and those like it give the value a group that no other value shares, with what it had, and return it.
func (v *Value) OwnGrant() *Grant     { return own(&v.Grant) }
func (v *Value) OwnExtra() *Extra     { return own(&v.Extra) }
func (v *Value) OwnOutcome() *Outcome { return own(&v.Outcome) }
func (v *Value) OwnRare() *Rare       { return own(&v.Rare) }

func own[T any](group **T) *T {
	mine := new(T)
	if *group != nil {
		*mine = **group
	}
	*group = mine
	return mine
}

// IsZero reports that the value knows nothing, for `json:",omitzero"`.
func (v *Value) IsZero() bool {
	rest := *v
	rest.Grant, rest.Extra, rest.Outcome, rest.Rare = nil, nil, nil, nil
	return isZero(&rest) && isZero(v.grant()) && isZero(v.extra()) && isZero(v.outcome()) && isZero(v.rare())
}

func isZero[T any](v *T) bool { return reflect.ValueOf(v).Elem().IsZero() }

// What is in the groups.
func (v *Value) Validity() Int          { return v.grant().Validity }
func (v *Value) ValidUntil() Int        { return v.grant().ValidUntil }
func (v *Value) Nodes() []string        { return v.grant().Nodes }
func (v *Value) TTL() Int               { return v.grant().TTL }
func (v *Value) Op() F                  { return v.outcome().Op }
func (v *Value) At() Int                { return v.outcome().At }
func (v *Value) AtError() int64         { return v.outcome().AtError }
func (v *Value) Accepted() Bool         { return v.outcome().Accepted }
func (v *Value) Highest() Int           { return v.outcome().Highest }
func (v *Value) Epoch() Int             { return v.rare().Epoch }
func (v *Value) Lock() string           { return v.extra().Lock }
func (v *Value) Inner() bool            { return v.extra().Inner }
func (v *Value) Shared() bool           { return v.extra().Shared }
func (v *Value) Expected() Int          { return v.extra().Expected }
func (v *Value) List() []int64          { return v.extra().List }
func (v *Value) Other() []int64         { return v.extra().Other }
func (v *Value) Point() string          { return v.extra().Point }
func (v *Value) Fault() string          { return v.rare().Fault }
func (v *Value) ID() int                { return v.rare().ID }
func (v *Value) Target() string         { return v.rare().Target }
func (v *Value) Planned() Int           { return v.rare().Planned }
func (v *Value) Took() Int              { return v.rare().Took }
func (v *Value) Impact() *Impact        { return v.rare().Impact }
func (v *Value) Stranger() bool         { return v.rare().Stranger }
func (v *Value) Detail() string         { return v.rare().Detail }
func (v *Value) Command() *Command      { return v.rare().Command }
func (v *Value) Unread() *UnreadCommand { return v.rare().Unread }

// Command is one that a client sent to a node of the lock.
type Command struct {
	// Name is its first word, in upper case.
	Name string `json:"name"`
	// Node is the node, by its name as clients use it, Connection the number of the connection.
	Node       string `json:"node"`
	Connection int    `json:"connection"`
	// Opens: it is one of those by which libraries open connections.
	Opens bool `json:"opens,omitempty"`
	// Left is when it left its client, Answered when its answer reached the client, in ns of
	// run time. Without Answered it was never answered.
	Left     int64 `json:"left"`
	Answered Int   `json:"answered,omitzero"`
}

// AnsweredAt takes note that the answer reached the client.
func (c *Command) AnsweredAt(at time.Duration) { c.Answered = Some(int64(at)) }

// UnreadCommand says which commands nobody can tell.
type UnreadCommand struct {
	// Node is where they went; empty: anywhere.
	Node string `json:"node,omitempty"`
	// Answers: the commands are known, and when they were answered is not.
	Answers bool `json:"answers,omitempty"`
}

// Impact says what a fault does and to whom. Checkers rely on Effects; Words
// are for people.
type Impact struct {
	// Words are a sentence without an end: "c1 was paused".
	Words   string   `json:"words,omitempty"`
	Effects []Strike `json:"effects,omitempty"`
	// Instant: it is over at once, or for good; that the fault ended later means nothing.
	Instant bool `json:"instant,omitempty"`
}

// ToldBySentinel is what a sentinel tells. target and epoch are empty where Redis tells none.
func ToldBySentinel(sentinel, word, target string, epoch uint64) Event {
	v := Value{Rare: &Rare{Detail: word, Target: target}}
	if epoch > 0 {
		v.Rare.Epoch = Some(int64(epoch))
	}
	return Event{Process: sentinel, Type: Info, F: Sentinel, Value: v}
}

// Strike is one thing that a fault does, and whom it strikes.
type Strike struct {
	Does     Does     `json:"effect"`
	Clients  []string `json:"clients,omitempty"`
	Nodes    []string `json:"nodes,omitempty"`
	Resource bool     `json:"resource,omitempty"`
	// Links are the ways between two processes.
	Links []Link `json:"links,omitempty"`
}

// Does names what a fault does.
type Does string

// What faults do. A checker takes any other word for all of them.
const (
	// Stops: a process stands still, and goes on later.
	Stops Does = "stops"
	// Kills: a process ends. It may be started again.
	Kills Does = "kills"
	// Forgets: a node loses some or all of what it knew.
	Forgets Does = "forgets"
	// Delays: messages arrive late.
	Delays Does = "delays"
	// Silences: connections that are open carry nothing any more; those that are opened later work.
	Silences Does = "silences"
	// Drops: messages are lost.
	Drops Does = "drops"
	// Breaks: connections end.
	Breaks Does = "breaks"
	// Refuses: commands are answered with an error, and not carried out.
	Refuses Does = "refuses"
	// BendsClock: a clock goes wrong.
	BendsClock Does = "bends-clock"
	// Promotes: a node becomes the primary.
	Promotes Does = "promotes"
	// Cancels: the attempt of a client to get the lock is cancelled. That strikes nobody.
	Cancels Does = "cancels"
)

// Link is the way from one process to another.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Bus: it is that of the bus of a Redis Cluster. The two have another for replication.
	Bus bool `json:"bus,omitempty"`
}

// OwnerText is an owner value as histories have it: as it is, or, where it is no text or
// has a backslash, with escapes, so that two different values stay different.
func OwnerText(raw string) string {
	if utf8.ValidString(raw) && !strings.ContainsFunc(raw, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }) {
		return raw
	}
	quoted := strconv.QuoteToASCII(raw)
	return quoted[1 : len(quoted)-1]
}

// TooLate begins the reason of a fault that did not strike because what it was to come before had happened.
const TooLate = "it came too late: "
