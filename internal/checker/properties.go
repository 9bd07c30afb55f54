package checker

// Properties lists all properties, in the order in which reports show them.
func Properties() []Property {
	return []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource,
		OrderedTokens, OwnerRelease, DeadlockFree, MinorityTolerant, NoOrphanLock}
}
