package checker

// SafetyProperties are those that everything with this workload is asked for.
func SafetyProperties(workload string) []Property {
	switch workload {
	case "transactions": // they need no lock
		return []Property{Atomic, Isolated, Durable}
	case "two-cells":
		return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource, Atomic}
	}
	return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource}
}

// Demanded are the properties that are expected to hold where a scenario says
// nothing of them. Belief is not among them: no lease can keep it.
func Demanded(workload string) []Property {
	if workload == "transactions" { // they need no lock
		return nil
	}
	return []Property{ExclusiveLease, NoLateEffect, LinearizableResource}
}

var titles = map[Property]string{
	ExclusiveBelief:      "no two clients believe at once that they hold the lock",
	ExclusiveLease:       "no two clients are at once inside the validity that their lock promised them",
	NoLateEffect:         "nothing a client does to the resource takes effect after its validity ended",
	HolderServed:         "the fence refuses nothing that a client does inside its own validity",
	LinearizableResource: "the guarded sections are linearizable as atomic read-modify-writes",
	OrderedTokens:        "a later grant has a strictly larger token",
	OwnerRelease:         "nobody's release or renewal touches another owner's key",
	DeadlockFree:         "once the faults are lifted, somebody gets the lock within a stated bound",
	MinorityTolerant:     "with a minority of nodes down, hung or slow, the lock is still granted within a bound",
	NoOrphanLock:         "no key stays for longer than the TTL after its owner no longer wants it",
	Atomic:               "what belongs together is done as a whole or not at all",
	Isolated:             "nobody sees a change that is only half done",
	Durable:              "all that was acknowledged is there at the end",
}

// Title is the property in one line of words.
func (p Property) Title() string { return titles[p] }
