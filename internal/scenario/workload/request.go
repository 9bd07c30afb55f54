package workload

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// Request asks a client for one operation.
type Request struct {
	// F is acquire, read, write, cas, extend, release, forget, txn or snapshot. A cas takes Number units off the
	// resource where there are that many, in one step.
	F history.F `json:"f"`
	// Section numbers the guarded section, from 1.
	Section int `json:"section,omitempty"`
	// Inner: an acquire inside a section, by a client that has the lock.
	Inner bool `json:"inner,omitempty"`
	// Upgrade: it is one of a reader, which asks to write.
	Upgrade bool `json:"upgrade,omitempty"`
	// Number is what a write stores.
	Number history.Int `json:"number,omitzero"`
	// List is the whole that a write to a list stores; Number is its last element.
	List []int64 `json:"list,omitempty"`
	// How says how a txn keeps its two lists together.
	How resource.How `json:"how,omitempty"`
	// Cell is the part of the resource that a read or a write is about; empty:
	// the only one.
	Cell string `json:"cell,omitempty"`
	// Unfenced makes a write pass by the fence: its effect is on something that
	// cannot check tokens.
	Unfenced bool `json:"unfenced,omitempty"`
	// Check makes a write ask the lock first whether it is still valid, and
	// fail where it is not.
	Check bool `json:"check,omitempty"`
}

// Answer is what came of a request: the completion of the operation.
type Answer struct {
	// Type is history.OK, Fail or Info.
	Type history.Type `json:"result"`
	// Value is what the operation learned. Validity is the time that the
	// grant's promise still lasts when the client answers; ValidUntil is
	// filled in by the world, which knows the run time.
	Value history.Value `json:"value,omitzero"`
	Error string        `json:"error,omitempty"`
	// Instant is the true time from which a grant's Validity counts, on the
	// clock that the agent was given.
	Instant time.Duration `json:"-"`
	// Gone says that the client is dead or out of reach for good. The world
	// sets it.
	Gone bool `json:"-"`
}

// Points that a client comes to, beside those of its lock and of the fence.
const (
	BeforeAcquire = "before-acquire"
	// Acquired: the lock was granted and the client knows it.
	Acquired      = "acquired"
	BeforeRead    = "before-read"
	BeforeExtend  = "before-extend"
	BeforeCheck   = "before-check"
	BeforeWrite   = "before-write"
	BeforeRelease = "before-release"
	// Released: the release has been answered.
	Released          = "released"
	BeforeTransaction = "before-transaction"
	// BetweenCommands lies between two commands that go separately.
	BetweenCommands = "between-commands"
	BeforeSnapshot  = "before-snapshot"
)
