package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Power is something that faults do to a world.
type Power uint8

// The powers. A world prepares for those that a run needs.
const (
	// PausePower: stop a process and let it go on.
	PausePower Power = iota + 1
	// NodeClockPower and ClientClockPower: move clocks.
	NodeClockPower
	ClientClockPower
	// CrashPower: kill and restart.
	CrashPower
	// PowerCutPower: let a node lose what it had not fsynced.
	PowerCutPower
	// TearPower: tear the last write off a dead node's append-only file. FlipPower: change a bit of it.
	TearPower
	FlipPower
	// ReplicaPower: promote a replica, or move the slot of the lock in a cluster.
	ReplicaPower
	// PostgresPower: let PostgreSQL hold the resource. It runs on this machine,
	// wherever the nodes are.
	PostgresPower
	// SentinelPower: let sentinels watch the nodes.
	SentinelPower
	// MessagePower: wait for a message between a client and a node.
	MessagePower
	// MemoryPower: let a node lose keys, or lack memory.
	MemoryPower
	// Disturb links, a power for each kind of disturbance, in their order.
	LatencyPower
	BandwidthPower
	CutPower
	HoldPower
	StallPower
	ResetPower
	SlowClosePower
	LimitDataPower
	RefusePower
)

var powerNames = []string{PausePower: "pause", NodeClockPower: "node-clock", ClientClockPower: "client-clock", CrashPower: "crash",
	PowerCutPower: "power-cut", TearPower: "torn-file", FlipPower: "flipped-file", ReplicaPower: "replica",
	PostgresPower: "postgres", SentinelPower: "sentinel", MessagePower: "message",
	MemoryPower:  "memory",
	LatencyPower: "latency", BandwidthPower: "bandwidth", CutPower: "cut", HoldPower: "hold", StallPower: "stall",
	ResetPower: "reset", SlowClosePower: "slow-close", LimitDataPower: "limit-data", RefusePower: "refuse"}

func (p Power) String() string { return wordOf(powerNames, "power", p) }

// Pauser stops clients, nodes and the resource where they stand.
type Pauser interface {
	// Pause returns once the target has certainly stopped.
	Pause(target string) error
	// Resume lets it go on. Resuming what is not paused is no error.
	Resume(target string) error
}

// Canceller cancels attempts of clients to get the lock.
type Canceller interface {
	// Cancel has the client told that its attempt is cancelled; an error: it has none under way. What comes of the attempt is its answer.
	Cancel(client string) error
}

// NoAttempt is the error of Cancel where none is under way.
func NoAttempt(client string) error {
	return fmt.Errorf("%s had no attempt to get the lock under way", client)
}

// CancelledBefore is the error of Cancel where the attempt that is under way has been cancelled, and is still not answered.
func CancelledBefore(client string) error {
	return fmt.Errorf("the attempt of %s had been cancelled already, and was not answered", client)
}

// Link is the way from a client to a node or the resource, or from a replica to
// its primary.
type Link = history.Link

// Direction says which way along a link, seen from its beginning.
type Direction uint8

// Directions.
const (
	Both Direction = iota
	Requests
	Answers
)

var directionNames = []string{Both: "both", Requests: "requests", Answers: "answers"}

func (d Direction) String() string { return wordOf(directionNames, "direction", d) }

// MarshalText writes its name.
func (d Direction) MarshalText() ([]byte, error) { return marshal(directionNames, "direction", d) }

// UnmarshalText reads its name.
func (d *Direction) UnmarshalText(text []byte) error {
	return unmarshal(directionNames, "direction", text, d)
}

// Disturbance is what befalls a link.
type Disturbance struct {
	Kind      DisturbanceKind
	Direction Direction
	// Latency and Jitter: every message is late by Latency, give or take Jitter.
	Latency, Jitter time.Duration
	// Rate of Bandwidth, in bytes a second.
	Rate int64
	// Bytes after which LimitData closes the connection.
	Bytes int64
	// Delay of SlowClose before a close is passed on.
	Delay time.Duration
	// Closes is how long after the begin of Stall the connections that it strikes are closed
	// towards clients, if it is still in force; 0: never. What clients have sent stays there.
	Closes time.Duration
	// Error is what Refuse lets the node answer (command.Refuses).
	Error string
}

// Check refuses a disturbance whose kind or direction there is not.
func (d Disturbance) Check() error {
	return errors.Join(check(disturbanceNames, "disturbance", d.Kind), check(directionNames, "direction", d.Direction))
}

// DisturbanceKind is what a disturbance does.
type DisturbanceKind uint8

// Disturbances.
const (
	// Latency delays messages, which stay in order.
	Latency DisturbanceKind = iota + 1
	// Bandwidth limits how much passes.
	Bandwidth
	// Cut drops everything; connections stay open and silent.
	Cut
	// Hold keeps everything back and passes it on when it is lifted.
	Hold
	// Stall does so with the connections that are open when it begins, and spares
	// those opened later.
	Stall
	// Reset breaks connections as soon as something is sent on them.
	Reset
	// SlowClose delays the end of connections.
	SlowClose
	// LimitData ends each connection after some bytes.
	LimitData
	// Refuse lets the node answer commands with an error, in the place of carrying
	// them out: those that a node refuses in the state in which it answers so.
	Refuse
)

// Power is that of putting the disturbance on links; 0, where there is no such kind.
func (k DisturbanceKind) Power() Power {
	if !known(disturbanceNames, k) {
		return 0
	}
	return LatencyPower + Power(k-Latency)
}

var disturbanceNames = slices.Concat([]string{""}, powerNames[LatencyPower:])

func (k DisturbanceKind) String() string { return wordOf(disturbanceNames, "disturbance", k) }

// Network disturbs links.
type Network interface {
	// Links are all links of the world, in a fixed order.
	Links() []Link
	// Disturb returns once the disturbance is in force on all the links. lift
	// ends it there.
	Disturb(links []Link, d Disturbance) (lift func() error, err error)
}

// Which is a clock of a process.
type Which uint8

// Clocks of processes. Nodes have only the wall clock, by which Redis expires
// keys.
const (
	WallClock Which = iota
	MonotonicClock
)

var clockNames = []string{WallClock: "wall", MonotonicClock: "monotonic"}

// Check refuses a clock that there is not.
func (w Which) Check() error { return check(clockNames, "clock", w) }

func (w Which) String() string { return wordOf(clockNames, "clock", w) }

// MarshalText writes its name.
func (w Which) MarshalText() ([]byte, error) { return marshal(clockNames, "clock", w) }

// UnmarshalText reads its name.
func (w *Which) UnmarshalText(text []byte) error { return unmarshal(clockNames, "clock", text, w) }

// ClockFault says how a clock goes from now on: its reading jumps by Jump and
// then runs at Rate times the true rate; a rate of 0 stops it. With Strobe it
// jumps to and fro by Jump instead, once every Strobe.
type ClockFault struct {
	Jump   time.Duration
	Rate   float64
	Strobe time.Duration
}

// Clocks moves the clocks of nodes and clients.
type Clocks interface {
	// SetClock returns once the clock goes as told.
	SetClock(target string, which Which, f ClockFault) error
	// ResetClock sets the clock right again.
	ResetClock(target string, which Which) error
	// NodeTime reads the wall clock of a node's machine, counted from 1970. It
	// goes on while the node is down.
	NodeTime(node string) (time.Duration, error)
}

// Persistence says what a node keeps on disk.
type Persistence uint8

// Ways of persistence.
const (
	// NoPersistence keeps nothing.
	NoPersistence Persistence = iota
	// RDB saves a snapshot now and then: here every second in which something
	// was written.
	RDB
	// AOFNo, AOFEverysec and AOFAlways append every write to a file and leave
	// the fsync to the kernel, do it once a second, or do it before the answer.
	AOFNo
	AOFEverysec
	AOFAlways
)

var persistenceNames = []string{NoPersistence: "none", RDB: "rdb", AOFNo: "aof-no", AOFEverysec: "aof-everysec", AOFAlways: "aof-always"}

// AppendOnly reports that a node keeps an append-only file.
func (p Persistence) AppendOnly() bool { return p >= AOFNo }

// Ticks is how often a second a server that sim starts looks at what is due: Redis's own 10 times (its hz), and more often where it fsyncs
// or saves when it does so.
func (p Persistence) Ticks() int {
	if p == RDB || p == AOFEverysec {
		return 100
	}
	return 10
}

func (p Persistence) String() string { return wordOf(persistenceNames, "persistence", p) }

// MarshalText writes its name.
func (p Persistence) MarshalText() ([]byte, error) {
	return marshal(persistenceNames, "persistence", p)
}

// UnmarshalText reads its name.
func (p *Persistence) UnmarshalText(text []byte) error {
	return unmarshal(persistenceNames, "persistence", text, p)
}

// Keep says what a restarted node finds on its disk.
type Keep uint8

// What a crash leaves.
const (
	// KeepData: all that the process had handed to the kernel.
	KeepData Keep = iota
	// KeepNothing: an empty disk.
	KeepNothing
	// KeepSynced: what had been fsynced, as after a power cut.
	KeepSynced
	// KeepTorn: its data, but the last write in its append-only file ends in the middle.
	KeepTorn
	// KeepFlipped: its data, but a bit of that write is another one.
	KeepFlipped
)

// Damages reports that the append-only file is not what the node had written.
func (k Keep) Damages() bool { return k == KeepTorn || k == KeepFlipped }

var keepNames = []string{KeepData: "data", KeepNothing: "nothing", KeepSynced: "synced", KeepTorn: "torn", KeepFlipped: "flipped"}

// Check refuses what cannot be kept.
func (k Keep) Check() error { return check(keepNames, "keep", k) }

func (k Keep) String() string { return wordOf(keepNames, "keep", k) }

// MarshalText writes its name.
func (k Keep) MarshalText() ([]byte, error) { return marshal(keepNames, "keep", k) }

// UnmarshalText reads its name.
func (k *Keep) UnmarshalText(text []byte) error { return unmarshal(keepNames, "keep", text, k) }

// Freezer is a world in which it takes time until a client is dead. Freeze stops it before that, for good.
type Freezer interface {
	Freeze(client string) error
}

// Crasher kills and restarts clients, nodes and the resource.
type Crasher interface {
	// Kill returns once the target is dead.
	Kill(target string) error
	// Restart starts what was killed and returns once it answers.
	Restart(target string, keep Keep) error
	// Alive reports whether the target runs (paused counts as running).
	Alive(target string) bool
}

// Keeper rules the memory of nodes.
type Keeper interface {
	// Reaches reports that a node runs, and would do what is asked for here.
	Reaches(node string) bool
	// Wipe removes all keys of a node, as FLUSHALL does; Evict those that have a TTL,
	// as the node itself does where it lacks memory.
	Wipe(node string) error
	Evict(node string) error
	// Fill lets a node refuse what takes memory, until empty is called.
	Fill(node string) (empty func() error, err error)
}

// Failover is how a replica becomes the primary.
type Failover uint8

// Ways of a failover.
const (
	// Takeover: it asks nobody, and has become it when it was told to.
	Takeover Failover = iota
	// ForcedFailover: a replica of a cluster asks the primaries for their votes, whatever its own primary does, and whatever it has itself.
	ForcedFailover
	// PlainFailover: it asks its primary first, which stands still until the replica has all that it has.
	PlainFailover
)

var failoverNames = []string{Takeover: "takeover", ForcedFailover: "force", PlainFailover: "plain"}

// Check refuses what there is not.
func (f Failover) Check() error { return check(failoverNames, "failover", f) }

func (f Failover) String() string { return wordOf(failoverNames, "failover", f) }

// Command is the command by which a replica becomes the primary so.
func (f Failover) Command() []string {
	words := []string{"cluster", "failover"}
	if f != PlainFailover {
		words = append(words, f.String())
	}
	return words
}

// MarshalText writes its name.
func (f Failover) MarshalText() ([]byte, error) { return marshal(failoverNames, "failover", f) }

// UnmarshalText reads its name.
func (f *Failover) UnmarshalText(text []byte) error {
	return unmarshal(failoverNames, "failover", text, f)
}

// SlotKeys says when the keys of a slot move with it from one primary of a cluster to another.
type SlotKeys uint8

// When the keys move.
const (
	// KeysFirst: as soon as the slot is open; till the end clients that ask the old primary are sent on (ASK).
	KeysFirst SlotKeys = iota
	// KeysLast: at the end; meanwhile the new primary has only what is new (ASK where the old one has no key).
	KeysLast
	// KeysLeft: never; the new primary takes the slot, and the old one drops the keys when it hears of that.
	KeysLeft
	// KeysAtomic: with the slot, by the servers themselves (CLUSTER MIGRATESLOTS): nobody is asked to follow an open slot.
	KeysAtomic
)

var slotKeysNames = []string{KeysFirst: "first", KeysLast: "last", KeysLeft: "left", KeysAtomic: "atomic"}

// Check refuses what there is not.
func (k SlotKeys) Check() error { return check(slotKeysNames, "keys", k) }

func (k SlotKeys) String() string { return wordOf(slotKeysNames, "keys", k) }

// MarshalText writes its name.
func (k SlotKeys) MarshalText() ([]byte, error) { return marshal(slotKeysNames, "keys", k) }

// UnmarshalText reads its name.
func (k *SlotKeys) UnmarshalText(text []byte) error { return unmarshal(slotKeysNames, "keys", text, k) }

// Replicator rules a replicated set of nodes.
type Replicator interface {
	// Promote makes a replica the primary and leads the clients there.
	Promote(node string) error
	// Failover tells a replica of a cluster to become the primary in another way than to take over. It returns when the replica has said
	// that it will try.
	Failover(node string, how Failover) error
	// MoveSlot begins to move the slot of the lock to another primary of a cluster, as redis-cli does. It returns when the slot is open
	// between the two, and its keys are where they are to be then; finish ends the move. Where one of the two is dead by then, it stays as
	// it is.
	MoveSlot(to string, keys SlotKeys) (finish func() error, err error)
}
