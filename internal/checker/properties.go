package checker

// SafetyProperties are those that every lock is asked for.
func SafetyProperties() []Property {
	return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource}
}

var titles = map[Property]string{
	ExclusiveBelief:      "no two clients believe they hold the lock at once",
	ExclusiveLease:       "no two clients are inside the validity that their lock promised them at once",
	NoLateEffect:         "nothing a client does to the resource takes effect after its validity ended",
	LinearizableResource: "the guarded sections are linearizable as atomic read-modify-writes",
	OrderedTokens:        "a later grant has a strictly larger token",
	OwnerRelease:         "nobody's release or renewal touches another owner's key",
	DeadlockFree:         "once faults heal, somebody gets the lock within a stated bound",
	MinorityTolerant:     "with a minority of nodes down, hung or slow, the lock is still granted within a bound",
	NoOrphanLock:         "no key outlives its owner's interest by more than the TTL",
}

// Title is the property in one line of words.
func (p Property) Title() string { return titles[p] }
