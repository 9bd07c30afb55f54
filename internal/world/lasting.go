package world

// Lasting is a world in which one run can follow another, on the same servers and with the same clients, each as the run before has left
// it.
type Lasting interface {
	// AwaitInstant lets time pass until a run could begin: runs begin at instants of the day that all worlds share.
	AwaitInstant()
	// Again makes this instant the time 0 of a further run, in which faults wait for these messages. Everything has healed, and no client
	// is asked for anything.
	Again(Patterns) error
}
