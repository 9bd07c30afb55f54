package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Guarantee is what a lock can promise its users, and what a scenario puts to the test.
type Guarantee string

// NoGuarantee is that of a scenario which is about something else than a lock's promise.
const NoGuarantee Guarantee = "none"

// guaranteeRow is all that there is to know of a guarantee.
type guaranteeRow struct {
	name  Guarantee
	title string
	// decides are the properties that speak for it. The first that a variant is judged by counts.
	decides []checker.Property
	// faults are the kinds of faults that it is about; none: all that a scenario has. faultless:
	// only variants without faults are about it.
	faults    []string
	faultless bool
	// on: only variants on such nodes are about it; nil: on whatever nodes.
	on func(Nodes) bool
	// byDesign says why locks cannot keep it of which it is not demanded. always: no scenario
	// names their classes, because it is true of all.
	byDesign string
	always   bool
	// givesUp is what may be to blame for that: what a design of such a class relies on.
	givesUp []checker.Blame
}

// guarantees are in the order of a report card.
var guarantees = []guaranteeRow{
	{name: "exclusive", title: "Without faults, two clients never hold the lock at once",
		decides: []checker.Property{checker.ExclusiveLease, checker.BackedGrant}, faultless: true},
	{name: "paused-holder", title: "A holder that is paused past its lease does no harm",
		decides: []checker.Property{checker.NoLateEffect}, always: true,
		byDesign: "A lease can end while its holder is paused, and the holder cannot notice in time. " +
			"Only a resource that checks fencing tokens can refuse its late write.",
		givesUp: []checker.Blame{checker.BlamesPace, checker.BlamesFence}},
	{name: "late-messages", title: "Messages that are late, lost or overtaken do not give the lock to two clients", decides: exclusion},
	{name: "unreachable-minority", title: "Nodes that cannot be reached do not give the lock to two clients", decides: exclusion},
	{name: "late-release", title: "The late release of an earlier attempt does not free the lock", decides: exclusion},
	{name: "memory-loss", title: "A node that lost its data does not give the lock to a second client",
		decides: exclusion, faults: []string{"kill", "evict", "flush"},
		byDesign: "The node that forgot the key gives the lock again. Only a lock whose store survives the loss of a node's data can refuse.",
		givesUp:  []checker.Blame{checker.BlamesMemory}},
	{name: "node-clock-jump", title: "A node whose clock jumps does not give the lock to a second client",
		decides: []checker.Property{checker.ExclusiveLease, checker.BackedGrant}, faults: []string{"clock"},
		byDesign: "The node's clock decides when the key expires. Only a lock whose lease no single clock ends can refuse.",
		givesUp:  []checker.Blame{checker.BlamesClocks}},
	{name: "node-clock-drift", title: "Clocks that run at slightly different rates do not give the lock to two clients",
		decides: exclusion, faults: []string{"clock"},
		byDesign: "The node's clock is wrong by more than the lock allows for, so the key expires before the promise ends.",
		givesUp:  []checker.Blame{checker.BlamesClocks}},
	{name: "client-clock", title: "A client whose clock is moved does not believe in a lease that has ended",
		decides: []checker.Property{checker.ExclusiveLease, checker.NoLateEffect, checker.BackedGrant}, faults: []string{"clock"}},
	{name: "failover", title: "A failover does not give the lock to a second client", decides: exclusion, faults: []string{"kill", "promote"},
		on:       Nodes.Replicated,
		byDesign: "Replication is asynchronous: a replica can be promoted that never got the key.",
		givesUp:  []checker.Blame{checker.BlamesReplication, checker.BlamesMemory}},
	{name: "sentinel", title: "A failover by Redis Sentinel does not give the lock to a second client", decides: exclusion,
		on:       Nodes.Watched,
		byDesign: "Redis Sentinel promises that there is a primary again, not that it has the key, and not that there is only one.",
		givesUp:  []checker.Blame{checker.BlamesReplication, checker.BlamesMemory}},
	{name: "cluster", title: "A failover by Redis Cluster does not give the lock to a second client", decides: exclusion,
		on:       Nodes.Clustered,
		byDesign: "Redis Cluster elects a replica that may never have got the key, and a primary that is cut off goes on granting for a while.",
		givesUp:  []checker.Blame{checker.BlamesReplication, checker.BlamesMemory}},
	{name: "owner-only", title: "Only the holder's own release or renewal touches its lock",
		decides: []checker.Property{checker.OwnerRelease}},
	{name: "no-resurrection", title: "A renewal does not bring back a lock that had expired",
		decides: []checker.Property{checker.NoResurrection, checker.ExclusiveLease}},
	{name: "stays-held", title: "A lock that renews itself is kept for as long as its holder works",
		decides: []checker.Property{checker.StaysHeld}, faultless: true},
	{name: "told-when-lost", title: "A holder is told that it has lost the lock", decides: []checker.Property{checker.ToldWhenLost}},
	{name: "no-false-alarm", title: "A holder that has its lock is not told that it has lost it",
		decides: []checker.Property{checker.NoFalseAlarm}},
	{name: "told-at-release", title: "A release tells its holder that the lock was gone, or is still there",
		decides: []checker.Property{checker.ToldAtRelease}},
	{name: "fencing", title: "Each grant's token is larger than the one before, so that a resource can refuse late writes",
		decides:  []checker.Property{checker.OrderedTokens, checker.HolderServed, checker.LinearizableResource},
		byDesign: "Tokens that are not larger than all before cannot tell the resource which write is late.",
		givesUp: []checker.Blame{checker.BlamesMemory, checker.BlamesReplication, checker.BlamesCounters,
			checker.BlamesFence, checker.BlamesPace}},
	{name: "dead-holder", title: "The lock of a dead client comes free",
		decides: []checker.Property{checker.DeadlockFree, checker.NoOrphanLock}},
	{name: "without-ttl", title: "A lock without a TTL stays its holder's until it is released, and comes free if the holder dies",
		decides: []checker.Property{checker.DeadlockFree, checker.ExclusiveLease},
		byDesign: "Nothing but its release ends a lock without a TTL: a holder that dies keeps it for ever, until somebody deletes its key. " +
			"Give the lock a TTL, and renew it while you work.",
		givesUp: []checker.Blame{checker.BlamesDeath}},
	{name: "semaphore", title: "A semaphore lets in no more clients than it has permits, and loses none",
		decides: []checker.Property{checker.DeadlockFree, checker.WithinPermits}},
	{name: "readers-writers", title: "Readers hold the lock beside one another, a writer holds it alone",
		decides: []checker.Property{checker.DeadlockFree, checker.WithinPermits}},
	{name: "fairness", title: "Clients that wait are served in the order in which they asked, and the dead keep no place",
		decides: []checker.Property{checker.DeadlockFree, checker.Fairness}},
	{name: "at-most-once",
		title:   "Of each tick of a scheduled job one client does the work, if the lock stays for longer than the clocks differ",
		decides: []checker.Property{checker.AtMostOnce}},
	{name: "dead-minority", title: "Dead nodes, fewer than half, do not keep clients from the lock",
		decides: []checker.Property{checker.MinorityTolerant}},
	{name: "hung-node", title: "A node that does not answer does not keep clients from the lock",
		decides: []checker.Property{checker.MinorityTolerant, checker.DeadlockFree}},
	{name: "comes-back", title: "A client whose open connections went silent has the lock again by new ones",
		decides: []checker.Property{checker.ComesBack}},
	{name: "keeps-running", title: "The program of a client does not end when its connections break or nodes are down",
		decides: []checker.Property{checker.KeepsRunning}},
	{name: "lost-release", title: "The lock comes free although a release was lost",
		decides: []checker.Property{checker.DeadlockFree, checker.NoOrphanLock}},
	{name: "nothing-stays", title: "Without faults, no key stays once the lock was given back",
		decides: []checker.Property{checker.NothingStays}, faultless: true},
	{name: "wakes-up", title: "A waiting client is woken when the lock comes free", decides: []checker.Property{checker.DeadlockFree}},
	{name: "progress", title: "Among clients that wait for the lock, one gets it", decides: []checker.Property{checker.DeadlockFree}},
	{name: NoGuarantee, title: "About something else than a lock's promise"},
}

var exclusion = []checker.Property{checker.ExclusiveLease}

// guaranteeTitles has their words.
var guaranteeTitles = func() (list words.Titles[Guarantee]) {
	for _, g := range guarantees {
		list = append(list, struct {
			Word  Guarantee
			Title string
		}{g.name, g.title})
	}
	return list
}()

func (g Guarantee) row() guaranteeRow {
	return guarantees[slices.IndexFunc(guarantees, func(r guaranteeRow) bool { return r.name == g })]
}

// Guarantees lists them in the order of a report.
func Guarantees() []Guarantee { return guaranteeTitles.Words() }

// Title says it in one sentence.
func (g Guarantee) Title() string { return guaranteeTitles.Title(g) }

// Tag lists the words for the decoder and the schema.
func (Guarantee) Tag() string { return guaranteeTitles.Tag() }

// ByDesign says why locks cannot keep it of which it is not demanded; empty: there are none.
func (g Guarantee) ByDesign() string { return g.row().byDesign }

// Always reports that no lock can keep it, whatever its class, where it is not demanded.
func (g Guarantee) Always() bool { return g.row().always }

// GivesUp is what may be to blame where locks cannot keep it: what their design relies on. Whatever else is to blame is not by design.
func (g Guarantee) GivesUp() []checker.Blame { return g.row().givesUp }

// Home is the guarantee that a property belongs to where it is violated without any fault; NoGuarantee: to none.
func Home(p checker.Property) Guarantee {
	switch p {
	case checker.DeadlockFree:
		return "progress"
	case checker.NoOrphanLock:
		return "lost-release"
	}
	if i := slices.IndexFunc(guarantees, decidedBy(p)); i >= 0 {
		return guarantees[i].name
	}
	if p == checker.AsksItsTTL || p == checker.TrueValidity { // a lease that is not kept, or not told truly, excludes nobody
		return "exclusive"
	}
	return NoGuarantee
}

func decidedBy(p checker.Property) func(guaranteeRow) bool {
	return func(g guaranteeRow) bool { return slices.Contains(g.decides, p) }
}

// DecidesAny reports that a property speaks for any guarantee.
func DecidesAny(p checker.Property) bool { return slices.ContainsFunc(guarantees, decidedBy(p)) }

// HomeWith is Home where some faults are left without which it was not seen. The guarantee that two clients never hold the lock is then one
// that is about such faults.
func HomeWith(p checker.Property, left Faults) Guarantee {
	home := Home(p)
	if home != "exclusive" || left.None() {
		return home
	}
	for _, f := range left.List {
		if !slices.Contains([]string{"cut", "reset", "stall"}, f.Kind) {
			return "late-messages"
		}
	}
	return "unreachable-minority"
}

// DecidedBy are the properties that speak for the guarantee. The first that a variant is judged by
// counts.
func (g Guarantee) DecidedBy() []checker.Property { return g.row().decides }

// Faults are the kinds of faults that it is about; none: all that a scenario has.
func (g Guarantee) Faults() []string { return g.row().faults }

// Faultless reports that only variants without faults are about it.
func (g Guarantee) Faultless() bool { return g.row().faultless }

// IsAbout reports that a variant with such faults, on such nodes, can be about it.
func (g Guarantee) IsAbout(s *Setup) bool {
	on := g.row().on
	return (!g.Faultless() || s.Faults.None()) && (on == nil || on(s.Nodes))
}

// Speaks reports that a property speaks for the guarantee.
func (g Guarantee) Speaks(p checker.Property) bool { return slices.Contains(g.row().decides, p) }

// Excludes reports that the guarantee is about who holds the lock beside whom.
func (g Guarantee) Excludes() bool {
	return g.Speaks(checker.ExclusiveLease) || g.Speaks(checker.NoLateEffect) || g.Speaks(checker.WithinPermits)
}

// Control is a variant without the faults that the guarantee is about, or without any, where the others cannot do without
// these; false: there is none, or what is left is no scenario. What shows in it shows for another reason. A variant without such faults is
// its own, if the guarantee is about certain kinds.
func (g Guarantee) Control(v Variant) (Variant, bool) {
	kinds, all := g.row().faults, v.Setup.Faults
	left := slices.DeleteFunc(slices.Clone(all.List), func(f Fault) bool {
		return len(kinds) == 0 || slices.Contains(kinds, f.Kind)
	})
	drops := len(kinds) == 0 && all.Mix != nil
	if len(left) == len(all.List) && !drops {
		return v, len(kinds) > 0
	}
	if v.Setup.Faults.List = left; drops {
		v.Setup.Faults.Mix = nil
	}
	if v.Setup.CheckFaults(0) == nil {
		return v, true
	}
	v.Setup.Faults = Faults{}
	return v, v.Setup.CheckFaults(0) == nil
}

// Decides is the property that speaks for the guarantee in a variant; empty: none does.
func (g Guarantee) Decides(v *Variant) checker.Property {
	if i := slices.IndexFunc(g.row().decides, v.mentions); i >= 0 {
		return g.row().decides[i]
	}
	return ""
}

// HasTag reports that the scenario carries a tag.
func (h *Head) HasTag(tag string) bool { return slices.Contains(h.Tags, tag) }
