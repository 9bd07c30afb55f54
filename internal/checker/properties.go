package checker

import "github.com/redlock-sim/redlock-sim/internal/workload"

// SafetyProperties are those that everything with this workload is asked for.
func SafetyProperties(name workload.Name) []Property {
	switch w := workload.Of(name); {
	case w.Pair:
		return []Property{Atomic, Isolated, Durable}
	case len(w.Together) > 0:
		return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource, Atomic}
	}
	return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource}
}

// Demanded are the properties that are expected to hold where a scenario says
// nothing of them. Belief is not among them: no lease can keep it.
func Demanded(name workload.Name) []Property {
	if w := workload.Of(name); w.Pair { // it needs no lock
		return nil
	}
	return []Property{ExclusiveLease, NoLateEffect, LinearizableResource}
}

var titles = map[Property]string{
	ExclusiveBelief:      "no two clients believe they hold the lock at once",
	ExclusiveLease:       "no two clients are inside the validity that their lock promised them at once",
	NoLateEffect:         "nothing a client does to the resource takes effect after its validity ended",
	HolderServed:         "the fence refuses nothing that a client does inside its own validity",
	LinearizableResource: "the guarded sections are linearizable as atomic read-modify-writes",
	OrderedTokens:        "a later grant has a strictly larger token",
	OwnerRelease:         "nobody's release or renewal touches another owner's key",
	DeadlockFree:         "once faults heal, somebody gets the lock within a stated bound",
	MinorityTolerant:     "with a minority of nodes down, hung or slow, the lock is still granted within a bound",
	NoOrphanLock:         "no key outlives its owner's interest by more than the TTL",
	Atomic:               "what belongs together is done as a whole or not at all",
	Isolated:             "nobody sees a change half done",
	Durable:              "what was acknowledged is there in the end",
}

// Title is the property in one line of words.
func (p Property) Title() string { return titles[p] }
