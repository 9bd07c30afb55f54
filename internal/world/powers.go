package world

import "time"

// Power names something that faults do to a world.
type Power string

// The powers. A world prepares for those that a run needs.
const (
	// PausePower: stop a process and let it go on.
	PausePower Power = "pause"
	// NetworkPower: disturb links.
	NetworkPower Power = "network"
	// NodeClockPower and ClientClockPower: move clocks.
	NodeClockPower   Power = "node-clock"
	ClientClockPower Power = "client-clock"
	// CrashPower: kill and restart.
	CrashPower Power = "crash"
	// PowerCutPower: let a node lose what it had not fsynced.
	PowerCutPower Power = "power-cut"
	// ReplicaPower: promote a replica.
	ReplicaPower Power = "replica"
	// PostgresPower: let PostgreSQL hold the resource. It runs on this machine,
	// wherever the nodes are.
	PostgresPower Power = "postgres"
)

// Pauser stops clients, nodes and the resource where they stand.
type Pauser interface {
	// Pause returns once the target has certainly stopped.
	Pause(target string) error
	// Resume lets it go on. Resuming what is not paused is no error.
	Resume(target string) error
}

// Link is the way from a client to a node or the resource, or from a replica to
// its primary.
type Link struct{ From, To string }

// Direction says which way along a link, seen from its beginning.
type Direction string

// Directions.
const (
	Requests Direction = "requests"
	Answers  Direction = "answers"
	Both     Direction = "both"
)

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
}

// DisturbanceKind names a disturbance.
type DisturbanceKind string

// Disturbances.
const (
	// Latency delays messages, which stay in order.
	Latency DisturbanceKind = "latency"
	// Bandwidth limits how much passes.
	Bandwidth DisturbanceKind = "bandwidth"
	// Cut drops everything; connections stay open and silent.
	Cut DisturbanceKind = "cut"
	// Hold keeps everything back and passes it on when it is lifted.
	Hold DisturbanceKind = "hold"
	// Stall does so with the connections that are open when it begins, and spares
	// those opened later.
	Stall DisturbanceKind = "stall"
	// Reset breaks connections as soon as something is sent on them.
	Reset DisturbanceKind = "reset"
	// SlowClose delays the end of connections.
	SlowClose DisturbanceKind = "slow-close"
	// LimitData ends each connection after some bytes.
	LimitData DisturbanceKind = "limit-data"
)

// Network disturbs links.
type Network interface {
	// Links are all links of the world, in a fixed order.
	Links() []Link
	// Disturb returns once the disturbance is in force on all the links. lift
	// ends it there.
	Disturb(links []Link, d Disturbance) (lift func() error, err error)
}

// Which names a clock of a process.
type Which string

// Clocks of processes. Nodes have only the wall clock, by which Redis expires
// keys.
const (
	WallClock      Which = "wall"
	MonotonicClock Which = "monotonic"
)

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
type Persistence string

// Ways of persistence.
const (
	// NoPersistence keeps nothing.
	NoPersistence Persistence = "none"
	// RDB saves a snapshot now and then: here every second in which something
	// was written.
	RDB Persistence = "rdb"
	// AOFNo, AOFEverysec and AOFAlways append every write to a file and leave
	// the fsync to the kernel, do it once a second, or do it before the answer.
	AOFNo       Persistence = "aof-no"
	AOFEverysec Persistence = "aof-everysec"
	AOFAlways   Persistence = "aof-always"
)

// Keep says what a restarted node finds on its disk.
type Keep string

// What a crash leaves.
const (
	// KeepData: all that the process had handed to the kernel.
	KeepData Keep = "data"
	// KeepNothing: an empty disk.
	KeepNothing Keep = "nothing"
	// KeepSynced: what had been fsynced, as after a power cut.
	KeepSynced Keep = "synced"
)

// Crasher kills and restarts clients, nodes and the resource.
type Crasher interface {
	// Kill returns once the target is dead.
	Kill(target string) error
	// Restart starts what was killed and returns once it answers.
	Restart(target string, keep Keep) error
	// Alive reports whether the target runs (paused counts as running).
	Alive(target string) bool
}

// Replicator rules a replicated set of nodes.
type Replicator interface {
	// Promote makes a replica the primary and leads the clients there.
	Promote(node string) error
}
