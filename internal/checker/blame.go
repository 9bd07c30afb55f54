package checker

import (
	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Blame is what a violation is put down to: what must not have failed for it.
type Blame string

const (
	// BlamesNothing: the history does not tell why.
	BlamesNothing Blame = ""
	// BlamesLock: what the lock itself did, whatever else failed.
	BlamesLock Blame = "the lock"
	// BlamesPace: the holder, or what it sent, was slower than its lease.
	BlamesPace Blame = "the pace of the holder"
	// BlamesClocks: a clock ran or jumped.
	BlamesClocks Blame = "a clock"
	// BlamesMemory: a node forgot a key or a token.
	BlamesMemory Blame = "the memory of a node"
	// BlamesReplication: a replica lacked what its primary had, or there were two primaries.
	BlamesReplication Blame = "replication"
	// BlamesCounters: tokens were counted in several places.
	BlamesCounters Blame = "tokens that are counted on several nodes"
	// BlamesDeath: the holder of a lock died that nothing but its release ends.
	BlamesDeath Blame = "the death of a holder of a lock without a TTL"
	// BlamesFence: the resource let a token pass that it should not have.
	BlamesFence Blame = "the resource's check of tokens"
)

// blames is what each assumption blames; those that are not here blame the lock.
var blames = map[cause]Blame{
	"": BlamesNothing, notSeen: BlamesNothing,
	actsInTime: BlamesPace, arrivesInTime: BlamesPace,
	samePace: BlamesClocks, permitClock: BlamesClocks,
	remembers: BlamesMemory, remembersCount: BlamesMemory,
	replicated: BlamesReplication, replicatedCount: BlamesReplication, onePrimary: BlamesReplication,
	oneCount:      BlamesCounters,
	releasedAlive: BlamesDeath,
	fenceOrders:   BlamesFence, tokensDiffer: BlamesFence,
}

func (c cause) blames() Blame {
	if b, ok := blames[c]; ok {
		return b
	}
	return BlamesLock
}

// Blamed is what a violation of a history is put down to. Where the lock did something wrong on some nodes, and what else failed
// gave the second client a quorum without these, that is blamed: say c1's keys expired too soon on three of five nodes, and
// c1 deleted the other two because of that. Where there is no counterexample, nothing is blamed.
func Blamed(h *history.History, p Property, c *Counterexample) Blame {
	if c == nil {
		return BlamesNothing
	}
	b := cause(c.Assumption).blames()
	if b != BlamesLock || p != ExclusiveLease {
		return b
	}
	j := newJudge(h)
	var two []*facts.Grant
	for i := range c.Operations {
		two = append(two, j.grantsShown(&c.Operations[i])...)
	}
	if len(two) != 2 {
		return b
	}
	first, second := two[0], two[1]
	if first.Return > second.Return {
		first, second = second, first
	}
	free, found := j.CountNodes(), BlamesNothing
	for _, n := range j.keyFates(first, second) {
		why, _ := j.whyKeyFailed(&n, first, second)
		if why == majoritiesMet { // the first never had it
			free.Add(n.node)
		} else if why.blames() != BlamesLock && why.blames() != BlamesNothing {
			free.Add(n.node)
			found = why.blames()
		}
	}
	if free.N >= j.Quorum() && found != BlamesNothing {
		return found
	}
	return b
}
