package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Guarantee is what a lock can promise its users, and what a scenario puts to the test.
type Guarantee string

// NoGuarantee is that of a scenario which is about something else than a lock's promise.
const NoGuarantee Guarantee = "none"

var guarantees = words.Titles[Guarantee]{
	{"exclusive", "Without faults, two clients never hold the lock at once"},
	{"paused-holder", "A holder that is paused past its lease does no harm"},
	{"late-messages", "Messages that are late, lost or overtaken do not give the lock to two clients"},
	{"unreachable-minority", "Nodes that cannot be reached do not give the lock to two clients"},
	{"late-release", "The late release of an earlier attempt does not free the lock"},
	{"memory-loss", "A node that lost its data does not give the lock to a second client"},
	{"node-clock-jump", "A node whose clock jumps does not give the lock to a second client"},
	{"node-clock-drift", "Clocks that run at slightly different rates do not give the lock to two clients"},
	{"client-clock", "A client whose clock is moved does not believe in a lease that has ended"},
	{"failover", "A failover does not give the lock to a second client"},
	{"owner-only", "Only the holder's own release or renewal touches its lock"},
	{"no-resurrection", "A renewal does not bring back a lock that had expired"},
	{"told-when-lost", "A holder is told that it has lost the lock"},
	{"fencing", "Each grant's token is larger than the one before, so that a resource can refuse late writes"},
	{"dead-holder", "The lock of a dead client comes free"},
	{"dead-minority", "Dead nodes, fewer than half, do not keep clients from the lock"},
	{"hung-node", "A node that does not answer does not keep clients from the lock"},
	{"lost-release", "The lock comes free although a release was lost"},
	{"wakes-up", "A waiting client is woken when the lock comes free"},
	{"progress", "Among clients that wait for the lock, one gets it"},
	{NoGuarantee, "About something else than a lock's promise"},
}

// Guarantees lists them in the order of a report.
func Guarantees() []Guarantee { return guarantees.Words() }

// Title says it in one sentence.
func (g Guarantee) Title() string { return guarantees.Title(g) }

// Tag lists the words for the decoder and the schema.
func (Guarantee) Tag() string { return guarantees.Tag() }

// HasTag reports that the scenario carries a tag.
func (h *Head) HasTag(tag string) bool { return slices.Contains(h.Tags, tag) }
