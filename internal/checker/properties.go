package checker

import (
	"context"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// row is all that there is to know of a property.
type row struct {
	name  Property
	title string
	judge func(context.Context, *judge, Options) Finding
	// judgedFor: everything with such a workload is judged by it; nil: only what asks for it.
	judgedFor func(workload.Workload) bool
	// demanded: where it is asked of a lock and a scenario says nothing of it, it is
	// expected to hold.
	demanded bool
	// program: it is judged of lock programs alone.
	program bool
	// shared: it is judged of locks alone that several clients may hold at once. oneHolder: of those it has no meaning, or speaks of keys
	// with one owner.
	shared, oneHolder bool
	// inOrder: it is judged of locks alone that serve clients in their order, or are to.
	inOrder bool
	// freed: it says that a lock which was given back is free.
	freed bool
	// ifSeen: it is demanded only where the nodes show it. Where it is unknown, and a scenario says nothing of it, nothing was expected.
	ifSeen bool
	// ifTried: the same where it had no chance to fail.
	ifTried bool
	// probed: it needs clients that try for the lock once everything has healed.
	probed bool
	// timely: it bounds how long something may take, so a machine that is too slow breaks it, too.
	timely bool
	// brokenByStalls: where the machine lets a client stand still past its lease, it is broken, whatever the lock does.
	brokenByStalls bool
	// keyed: it is judged by what the nodes' keys were seen to be.
	keyed bool
	// promised: it is judged by what locks promised.
	promised bool
	// logged: it is judged of a lock log, by what applications wrote.
	logged bool
	// distance from the cause, as its counterexample tells it: a lock that broke its
	// promise comes before the damage that followed, and that before a mere belief, which
	// any lease with a slow holder leaves behind.
	distance int
}

// rows are the properties, in the order in which a report shows them.
var rows = []row{
	// It is not demanded: no lease can keep it.
	{name: ExclusiveBelief, title: "no two clients believe at once that they hold the lock",
		judge: judgeBelief, logged: true, brokenByStalls: true, judgedFor: locked, oneHolder: true, distance: 130},
	{name: ExclusiveLease, title: "no two clients are at once inside the validity that their lock promised them",
		judge: judgeLease, logged: true, promised: true, judgedFor: locked, demanded: true, oneHolder: true, distance: 10},
	{name: WithinPermits, title: "no more clients than a lock has permits, and no writer beside anybody, are at once inside the validity " +
		"that it promised them",
		judge: judgePermits, promised: true, shared: true, judgedFor: locked, demanded: true, distance: 11},
	{name: BackedGrant, title: "whoever is told that he has the lock has set its keys on enough nodes",
		judge: judgeBacked, ifSeen: true, judgedFor: locked, demanded: true, oneHolder: true, distance: 5},
	{name: NoLateEffect, title: "nothing a client does to the resource takes effect after its validity ended",
		judge: judgeLateEffects, logged: true,
		promised: true, ifTried: true, brokenByStalls: true, judgedFor: locked, demanded: true, distance: 60},
	{name: LinearizableResource, title: "the guarded sections are linearizable as atomic read-modify-writes",
		judge: judgeResource, judgedFor: unticked, demanded: true, oneHolder: true, distance: 20},
	{name: AtMostOnce, title: "of each tick at most one client does the work",
		judge: judgeOnce, judgedFor: ticked, demanded: true, oneHolder: true, distance: 21},
	{name: HolderServed, title: "the fence refuses nothing that a client does inside its own validity",
		judge: judgeHolderServed, promised: true, oneHolder: true, distance: 70},
	{name: OrderedTokens, title: "a later grant has a strictly larger token",
		judge: judgeTokens, logged: true, promised: true, keyed: true, oneHolder: true, distance: 80},
	{name: OwnerRelease, title: "nobody's release or renewal touches another owner's key",
		judge: judgeOwners, keyed: true, oneHolder: true, distance: 90},
	{name: DeadlockFree, title: "once the faults are lifted, somebody gets the lock within a stated bound",
		judge: judgeDeadlock, freed: true, promised: true, probed: true, timely: true, distance: 120},
	{name: MinorityTolerant, title: "with a minority of nodes down, hung or slow, the lock is still granted within a bound",
		judge: judgeMinority, freed: true, promised: true, timely: true, distance: 110},
	{name: ComesBack, title: "a client whose connections went silent, while new ones work, gets the lock again within a bound",
		judge: judgeComesBack, freed: true, promised: true, probed: true, timely: true, distance: 107},
	{name: Fairness, title: "nobody who waits for a lock that serves in order is overtaken, or more often than is allowed",
		judge: judgeFairness, timely: true, inOrder: true, judgedFor: locked, demanded: true, distance: 108},
	{name: NoOrphanLock, title: "no key stays for longer than the TTL after its owner no longer wants it",
		judge: judgeOrphans, keyed: true, oneHolder: true, distance: 100},
	{name: NothingStays, title: "without a fault no key of an attempt stays once the attempt is over",
		judge: judgeNothingStays, freed: true, keyed: true, timely: true, oneHolder: true, distance: 105},
	{name: NoResurrection, title: "no renewal brings back a lock that was gone from the nodes",
		judge: judgeResurrections, keyed: true, oneHolder: true, distance: 140},
	{name: ToldWhenLost, title: "a holder whose lock is gone from the nodes is told so within one TTL",
		judge: judgeToldWhenLost, logged: true, promised: true, keyed: true, timely: true, oneHolder: true, distance: 150},
	{name: ToldAtRelease, title: "a release does not say that it gave back a lock which was gone, or is still there",
		judge: judgeToldAtRelease, logged: true, freed: true, keyed: true, timely: true, oneHolder: true, distance: 160},
	{name: NoFalseAlarm, title: "a holder that has its lock is not told that it has lost it",
		judge: judgeFalseAlarms, keyed: true, timely: true, oneHolder: true, distance: 155},
	{name: StaysHeld, title: "a lock that renews stays its holder's for as long as the holder works and the nodes answer",
		judge: judgeStaysHeld, keyed: true, timely: true, oneHolder: true, distance: 16},
	{name: AsksItsTTL, title: "a lock program asks its nodes for the TTL that it was given",
		judge: judgeAsksItsTTL, program: true, ifSeen: true, keyed: true, timely: true, judgedFor: locked, demanded: true,
		oneHolder: true, distance: 8},
	{name: TrueValidity, title: "a validity that is told is not over, and no longer than the TTL that the lock was asked for",
		judge: judgeTrueValidity, program: true, ifSeen: true, keyed: true, timely: true, judgedFor: locked, demanded: true,
		oneHolder: true, distance: 9},
	{name: KeepsRunning, title: "a lock program does not end by itself",
		judge: judgeKeepsRunning, program: true, ifSeen: true, judgedFor: locked, demanded: true, distance: 7},
	{name: Atomic, title: "what belongs together is done as a whole or not at all",
		judge: judgeAtomic, judgedFor: func(w workload.Workload) bool { return w.Pair || len(w.Together) > 0 }, distance: 30},
	{name: Isolated, title: "nobody sees a change that is only half done", judge: judgeIsolated, judgedFor: paired, distance: 40},
	{name: Durable, title: "all that was acknowledged is there at the end", judge: judgeDurable, judgedFor: paired, distance: 50},
}

func paired(w workload.Workload) bool { return w.Pair }

func locked(w workload.Workload) bool { return !w.Pair }

func ticked(w workload.Workload) bool { return w.Ticks }

func unticked(w workload.Workload) bool { return locked(w) && !w.Ticks }

// properties are those whose rows are so.
func properties(so func(*row) bool) (list []Property) {
	for i := range rows {
		if so(&rows[i]) {
			list = append(list, rows[i].name)
		}
	}
	return list
}

// Properties lists all properties, the order in which a report shows them.
func Properties() []Property { return properties(func(*row) bool { return true }) }

// Subject is what is judged, as far as it decides by which properties.
type Subject struct {
	Workload workload.Name
	// Program: the lock is a program. Shares: several clients may hold it at once.
	Program, Shares bool
	// InOrder: it is judged in which order clients are served.
	InOrder bool
	// Log: it is a lock log.
	Log bool
}

// SubjectOf is what a history is about.
func SubjectOf(h *history.History) Subject {
	return Subject{workload.Name(h.Header.Workload), h.Header.Quorum > 0, h.Header.Shares(), h.Header.InOrder(), h.Clocks != nil}
}

// fits reports that a property can be judged of a subject.
func (s Subject) fits(r *row) bool {
	return (s.Program || !r.program) && (s.InOrder || !r.inOrder) && (s.Shares && !r.oneHolder || !s.Shares && !r.shared)
}

// Fits reports that a property can be judged of a subject, whatever its workload.
func (s Subject) Fits(p Property) bool {
	r := p.row()
	return s.fits(&r)
}

// SafetyProperties are those that everything of this kind is asked for.
func SafetyProperties(s Subject) []Property {
	if s.Log {
		return properties(func(r *row) bool { return r.logged })
	}
	w := workload.Of(s.Workload)
	return properties(func(r *row) bool { return r.judgedFor != nil && r.judgedFor(w) && s.fits(r) })
}

// Demanded are the properties that are expected to hold where a scenario says
// nothing of them.
func Demanded(s Subject) []Property {
	w := workload.Of(s.Workload)
	return properties(func(r *row) bool { return r.demanded && r.judgedFor(w) && s.fits(r) })
}

// whatShares says why several clients may hold the lock at once.
func (j *judge) whatShares() string {
	if j.History.Header.Modes {
		return "the lock has readers"
	}
	return "the lock is a semaphore"
}

// row is what there is to know of the property; of one that there is not, nothing.
func (p Property) row() row {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.name == p }); i >= 0 {
		return rows[i]
	}
	return row{distance: 1000}
}

// Title is the property in one line of words.
func (p Property) Title() string { return p.row().title }

// Probed reports that the property needs clients that try for the lock once everything
// has healed.
func (p Property) Probed() bool { return p.row().probed }

// OfPrograms reports that the property is judged of lock programs alone.
func (p Property) OfPrograms() bool { return p.row().program }

// OfOneHolder reports that the property has no meaning for such a lock, or speaks of keys with one owner.
func (p Property) OfOneHolder() bool { return p.row().oneHolder }

// ofKeys reports that the property is judged by whose keys of the lock are on the nodes.
func (p Property) ofKeys() bool { return p.row().keyed || p == BackedGrant }

// IfSeen reports that the property is demanded only where the nodes show it.
func (p Property) IfSeen() bool { return p.row().ifSeen }

// IfTried reports that the property is demanded only where it had a chance to fail: a lock that promises no end lets nothing be late.
func (p Property) IfTried() bool { return p.row().ifTried }

// Timely reports that the property bounds how long something may take: a machine that is too slow breaks it, too.
func (p Property) Timely() bool { return p.row().timely }

// SlowMachineBreaks reports that a machine that is too slow may be the reason why the property is violated in a
// history, whatever the lock does; violated says what else is. Updates are lost so only after a late write that no
// fence was there to refuse.
func (p Property) SlowMachineBreaks(h *history.History, violated func(Property) bool) bool {
	if p == LinearizableResource {
		return violated(NoLateEffect) && !h.Header.ChecksOrder
	}
	return p.row().timely || p.row().brokenByStalls
}

// Distance is how far from the cause its counterexample is; the smallest is closest.
func (p Property) Distance() int { return p.row().distance }
