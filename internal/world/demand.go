package world

// Demand is something that a scenario asks of the place where a node runs.
type Demand struct {
	Power Power
	// Node is whom it is asked of.
	Node string
	// By says in words what asks for it, as "fault 2 (clock of node C)".
	By string
}
