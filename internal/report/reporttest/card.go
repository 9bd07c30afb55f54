package reporttest

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// Cards are report cards by name: of one lock in all states, of several, and ones that attack
// their reader.
func Cards() map[string]*card.Card {
	return map[string]*card.Card{
		"card": Card(), "card-several": SeveralLocks(), "card-hostile": HostileCard(),
		"card-empty": {CardVersion: card.Version, World: "live",
			Guarantees: []card.Guarantee{}, Locks: []card.Lock{{Label: "nothing", Cells: []card.Cell{}}}},
	}
}

// cardGuarantees are the rows of these cards.
var cardGuarantees = []card.Guarantee{
	{Name: "exclusive", Title: "Without faults, two clients never hold the lock at once"},
	{Name: "paused-holder", Title: "A holder that is paused past its lease does no harm"},
	{Name: "late-messages", Title: "Messages that are late, lost or overtaken do not give the lock to two clients"},
	{Name: "unreachable-minority", Title: "Nodes that cannot be reached do not give the lock to two clients"},
	{Name: "late-release", Title: "The late release of an earlier attempt does not free the lock"},
	{Name: "memory-loss", Title: "A node that lost its data does not give the lock to a second client"},
	{Name: "node-clock-jump", Title: "A node whose clock jumps does not give the lock to a second client"},
	{Name: "node-clock-drift", Title: "Clocks that run at slightly different rates do not give the lock to two clients"},
	{Name: "client-clock", Title: "A client whose clock is moved does not believe in a lease that has ended"},
	{Name: "failover", Title: "A failover does not give the lock to a second client"},
	{Name: "owner-only", Title: "Only the holder's own release or renewal touches its lock"},
	{Name: "no-resurrection", Title: "A renewal does not bring back a lock that had expired"},
	{Name: "told-when-lost", Title: "A holder is told that it has lost the lock"},
	{Name: "fencing", Title: "Each grant's token is larger than the one before, so that a resource can refuse late writes"},
	{Name: "dead-holder", Title: "The lock of a dead client comes free"},
	{Name: "dead-minority", Title: "Dead nodes, fewer than half, do not keep clients from the lock"},
	{Name: "hung-node", Title: "A node that does not answer does not keep clients from the lock"},
	{Name: "lost-release", Title: "The lock comes free although a release was lost"},
	{Name: "progress", Title: "Among clients that wait for the lock, one gets it"},
}

// Card is the card of one lock with cells in all states.
func Card() *card.Card {
	c := cardFrame()
	c.Replay = "sim audit --lock 'python3 my_lock.py' --seed 42"
	c.Locks = []card.Lock{cardLock("my-lock", 0)}
	c.Locks[0].Version, c.Locks[0].Homepage, c.Locks[0].Command = "1.2", "https://example.com/my-lock", "python3 my_lock.py"
	c.Locks[0].Costs = cardCosts()
	return c
}

// SeveralLocks is a card of four locks, of which one does not conform and one has a long name.
func SeveralLocks() *card.Card {
	c := cardFrame()
	c.World, c.Nodes, c.Interrupted = "virtual", "", true
	c.Replay = "sim audit --lock redlock --lock set-nx-px --lock watchdog --world virtual --seed 42"
	for i, label := range []string{"redlock", "set-nx-px", "watchdog", "a-lock-with-a-label-as-long-as-any"} {
		c.Locks = append(c.Locks, cardLock(label, i))
	}
	c.Locks[2].NotConforming = "release: it answers before it has asked the node (sim conform 'python3 my_lock.py')"
	c.Locks[0].Costs, c.Locks[3].Costs = cardCosts(), cardCosts()[:1]
	return c
}

// HostileCard is a card in which every text that others may write attacks its reader.
func HostileCard() *card.Card {
	c := cardFrame()
	c.Replay = "sim audit --lock '" + BreakOut + "' " + BreakTerm
	c.Versions = map[string]string{"sim": BreakOut + BreakTerm}
	c.Started, c.World, c.Nodes = BreakAttr+BreakOut, BreakOut, BreakMD
	c.Deployments = []string{BreakOut + BreakTerm, BreakMD}
	c.Guarantees = []card.Guarantee{{Name: BreakOut, Title: BreakCSS},
		{Name: BreakTerm, Title: BreakMD}, {Name: "javascript:alert(7)", Title: BreakAttr}}
	for _, label := range []string{BreakOut + BreakTerm, "javascript:alert(5)|" + BreakMD} {
		l := card.Lock{Label: label, Command: BreakCSS, NotConforming: BreakOut + BreakTerm + BreakMD,
			Lock: report.Lock{Name: BreakOut, Version: BreakTerm, Homepage: "javascript:alert(5)", Class: BreakAttr, Promise: BreakMD}}
		for i, g := range c.Guarantees {
			for _, s := range card.States() {
				l.Cells = append(l.Cells, card.Cell{ID: g.Name + "/" + BreakAttr + BreakOut,
					Title: BreakOut + BreakTerm, State: s, Why: BreakMD + BreakOut + BreakTerm + BreakCSS,
					Property: BreakOut, Variant: BreakTerm + BreakOut, Runs: 3, Violated: i,
					Deployments: []card.Deployed{{Deployment: c.Deployments[0], State: s}, {Deployment: c.Deployments[1], State: card.Kept}},
					Report:      "javascript:alert(6)", Scenario: BreakAttr + "//example.com/" + BreakOut, Replay: BreakOut + BreakTerm})
			}
		}
		for _, cost := range cardCosts() {
			cost.Scenario, cost.Variant, cost.Report = BreakOut+BreakTerm, BreakMD, "javascript:alert(8)"
			l.Costs = append(l.Costs, cost)
		}
		c.Locks = append(c.Locks, l)
	}
	return c
}

func cardFrame() *card.Card {
	return &card.Card{CardVersion: card.Version,
		World: "live", Nodes: "process", Seed: 42, Started: "2026-11-20T20:45:01Z", WallMS: 68_000,
		Versions: map[string]string{"sim": "0.1.0", "redis": "8.0.2"}, Guarantees: cardGuarantees,
		Deployments: []string{"one node", "one node, fsync each second", "one node, fsync always", "several nodes", "replicas"}}
}

func cardCosts() []card.Cost {
	var list []card.Cost
	for _, v := range Cost().Variants {
		list = append(list, card.Cost{Scenario: "cost-acquire",
			Variant: v.Name, Cost: *v.Cost, Report: "my-lock/cost-acquire/20261120-204501-42/report.html"})
	}
	return list
}

// cardLock is a column. Locks of different numbers differ in a few cells.
func cardLock(label string, number int) card.Lock {
	l := card.Lock{Label: label, Lock: report.Lock{Name: label, Class: "single", Promise: "the TTL that it asked for", InPlace: true}}
	add := func(id, title string, s card.State, p checker.Property, runs, violated int, why string) *card.Cell {
		guarantee, name, _ := strings.Cut(id, "/")
		c := card.Cell{ID: id, Title: title, State: s, Why: why,
			Property: string(p), Runs: runs, Violated: violated, Flaky: violated > 0 && violated < runs}
		if runs > 0 {
			c.Report = fmt.Sprintf("%s/%s/20261120-204501-42/report.html", label, name)
			c.Replay = fmt.Sprintf("sim run %s --seed 42 --lock 'python3 my_lock.py'", name)
		}
		if s == card.Broken {
			c.Scenario = fmt.Sprintf("%s/%s-%s.yaml", label, guarantee, name)
		}
		l.Cells = append(l.Cells, c)
		return &l.Cells[len(l.Cells)-1]
	}
	kept := func(id, title, why string) { add(id, title, card.Kept, checker.ExclusiveLease, 1, 0, why) }
	never := func(id, title, why string) { add(id, title, card.NotApplicable, "", 0, 0, why) }
	kept("exclusive/reentrant", "A client that takes the lock twice", "No two promises overlapped (4 grants, 2 contended).")
	kept("exclusive/set-nx-px", "Three clients, no faults", "No two promises overlapped (3 grants, 2 contended).")
	paused := "A lease can end while its holder is paused, and the holder cannot notice in time. " +
		"Only a resource that checks fencing tokens can refuse its late write."
	for i := range 6 {
		add(fmt.Sprintf("paused-holder/pause-%d", i), "A client is paused past its lease, then writes",
			card.ByDesign, checker.NoLateEffect, 1, 1,
			paused+card.HereWords+"a write of c1 took effect 347 ms after its validity had ended.")
	}
	kept("paused-holder/fenced", "The same, with a fence", "No write took effect too late (2 writes).")
	kept("late-messages/answer-lost", "The answer of an acquire is lost", "No two promises overlapped (2 grants, 1 contended).")
	never("unreachable-minority/found-reachable-quorum",
		"Two of three nodes cannot be reached", "The scenario needs 3 nodes, and it takes one.")
	late := add("late-release/value-per-client", "A late clean-up deletes the key that the same client set later",
		card.Broken, checker.ExclusiveLease, 10, 4,
		"2 holders at once for 699 ms (4 of 10 runs).")
	late.Variant = "per-client"
	if number == 1 {
		*late = card.Cell{ID: late.ID, Title: late.Title,
			State: card.Kept, Why: "No two promises overlapped (2 grants, 1 contended).", Runs: 1, Report: late.Report}
	}
	restart := add("memory-loss/one-node-restart", "A node comes back without its keys", card.ByDesign, checker.ExclusiveLease, 1, 1,
		"The node that forgot the key gives the lock again.")
	restart.Deployments = []card.Deployed{{Deployment: "one node", State: card.ByDesign},
		{Deployment: "one node, fsync each second", State: card.ByDesign}, {Deployment: "one node, fsync always", State: card.Kept}}
	never("node-clock-jump/clock-jump", "The clock of a node jumps", "The scenario needs 3 nodes, and it takes one.")
	never("node-clock-drift/fast-node-clock", "The clock of a node runs fast", "The scenario needs 3 nodes, and it takes one.")
	kept("client-clock/wall-clock-client", "The clock of a client is moved back", "No two promises overlapped (2 grants, 1 contended).")
	add("failover/failover", "A replica is promoted that never got the key", card.ByDesign, checker.ExclusiveLease, 1, 1,
		"Replication is asynchronous: a replica can be promoted that never got the key."+card.HereWords+"2 holders at once for 1.2 s.").
		Deployments = []card.Deployed{{Deployment: "replicas", State: card.ByDesign}}
	add("owner-only/constant-value", "All clients write the same value",
		card.Broken, checker.OwnerRelease, 3, 3, "The release of c1 deleted the key of c2 on A (3 of 3 runs).")
	never("no-resurrection/resurrected-lease", "A renewal comes after the key expired", `The scenario needs "renew", which it cannot do.`)
	never("told-when-lost/extension", "The key goes while the client believes in it", `The scenario needs "renew", which it cannot do.`)
	add("fencing/counter-restart", "The counter of tokens is lost",
		card.Unknown, checker.OrderedTokens, 3, 0, "Ordered-tokens is undecided: no grant came after another.").Undecided = 3
	add("dead-holder/setnx-del", "A client dies with the lock", card.Unknown, checker.DeadlockFree, 3, 3,
		"Look here: deadlock-free is violated by the lock's word, but not by what the nodes saw: "+
			"the lock keeps no key on the nodes, so they cannot confirm it.")
	never("dead-minority/dead-node-raises", "A dead node raises an error", "The scenario needs 3 nodes, and it takes one.")
	never("hung-node/hanging-node", "A node does not answer", "The scenario needs 3 nodes, and it takes one.")
	kept("lost-release/skip-release", "A client does not release", "The lock came free 3 times, the slowest after 1.1 s (bound 3.00 s).")
	kept("progress/retry", "Three clients wait for the lock", "4 grants, the slowest after 36.3 ms (bound 3.00 s).")
	return l
}
