package checker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// judgeOrphans: no key of the lock stays for longer than the TTL after its owner
// no longer wants it. An owner stops wanting a key when a release is asked for, when an acquire fails or
// its outcome stays unknown, and when the client is killed. Only what is certain
// counts: a key is known to live until its own TTL has passed or it is seen to go,
// whichever is first, and where the node's clock was tampered with, only while
// something is done to it.
func judgeOrphans(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "keys no longer wanted"}, Method: "replay of the nodes' keys"}
	ttl := j.keysMayStay(o, "")
	lives := j.KeyLives()
	if len(lives) == 0 {
		return unknown("no node reported its keys", f.Effort)
	}
	if ttl <= 0 {
		return unknown(j.whyNoTTL(), f.Effort)
	}
	owners, isCopy, none := j.ClientByOwnerValue(), j.Copies(), "every owner still wanted its keys"
	for i := range lives {
		k := &lives[i]
		if isCopy(k) {
			continue
		}
		if k.Client == "" {
			k.Client = owners[k.Owner]
		}
		if k.Client == "" {
			continue
		}
		lost, event, dead := j.NoLongerWanted(k)
		if lost == facts.Forever {
			continue
		}
		ttl = j.keysMayStay(o, k.Client)
		none = fmt.Sprintf("no key was watched for longer than %s after it was no longer wanted", length(ttl))
		from := max(lost, j.At(k.Set))
		if k.Renewed >= 0 && j.At(k.Renewed) > from &&
			(j.RenewalUnderWay(k.Client, event) || j.LeftBefore(k.Renewed, lost) || j.lastOfRound(k, event)) {
			from = j.At(k.Renewed)
		}
		if known := min(j.End, j.At(k.Forgotten)); known > from+ttl || dead && k.Expires == facts.Forever && k.Forgotten < 0 {
			f.Effort.Chances++
		}
		last := min(k.Expires, j.At(k.End), j.End)
		endless := k.Expires == facts.Forever && k.End < 0
		if last > from+ttl || dead && endless {
			return j.orphanFinding(f, k, event, last-lost)
		}
	}
	return f.noViolation(none, "%d %s, none left for longer than %s", f.Effort.Chances, f.Effort.What(), length(ttl))
}

// lastOfRound reports that the last renewal of a key may belong to one that was under way on other nodes when its owner asked for the
// release: it is the first after that, and its command left before the release was answered.
func (j *judge) lastOfRound(k *facts.KeyLife, asked int) bool {
	set := j.Event(k.Set)
	if j.Quorum() < 2 || j.Event(asked).F != history.Release {
		return false
	}
	answered := facts.Forever
	for i := asked + 1; i < k.Renewed; i++ {
		e := j.Event(i)
		if e.Process == k.Client && e.F == history.Release {
			answered = min(answered, j.At(i))
		}
		if e.Process == set.Process && e.Value.Key == set.Value.Key && (e.F == history.KeySet || e.F == history.KeyExtended) {
			return false
		}
	}
	return j.SentAt(k.Renewed) <= answered
}

// keysMayStay is how long a key of a client may stay that nobody wants: its TTL; without one, as long as it may take until somebody is
// granted the lock.
func (j *judge) keysMayStay(o Options, client string) time.Duration {
	if j.Endless() {
		return o.GrantWithin
	}
	return j.TTL(client)
}

// whyNoTTL says why nothing can be measured by the TTL.
func (j *judge) whyNoTTL() string {
	if j.Endless() {
		return "the lock was given no TTL: nothing runs out, and nothing renews"
	}
	return "the history does not say the lock's TTL"
}

// whyEndless says why a key without an end stayed.
func (j *judge) whyEndless(k *facts.KeyLife) cause {
	switch _, _, dead := j.NoLongerWanted(k); {
	case !j.Endless():
		return hasTTL
	case dead:
		return releasedAlive
	}
	return keyGoes
}

func (j *judge) orphanFinding(f Finding, k *facts.KeyLife, lost int, outlived time.Duration) Finding {
	node := j.Event(k.Set).Process
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the key of %s on node %s was still there %s after its owner no longer wanted it", k.Client, node, length(outlived))
	if k.Expires == facts.Forever {
		f.Why = fmt.Sprintf("the key of %s on node %s has no TTL and stayed after its owner no longer wanted it", k.Client, node)
	}
	f.Events = sortedEvents(k.Set, k.Renewed, lost)
	why, late := comesInTime, k.Renewed >= 0 && j.At(k.Renewed) > j.At(lost)
	if k.Expires == facts.Forever {
		why = j.whyEndless(k)
	} else if late {
		why = notRenewed
	}
	c := &Counterexample{From: f.Effort.Chances, Impossible: -1, Assumption: string(why)}
	c.Operations = []CounterOp{{Client: k.Client, Op: "sets the key on node " + node, Events: f.Events,
		From: j.At(k.Set), To: -1, Believed: "the key is gone when it is no longer needed", True: "the key stayed"}}
	s := j.newStory()
	s.decidedBy(k.Set)
	if j.Event(lost).F == history.FaultBegin {
		s.decidedBy(lost)
	}
	s.tell(turning, k.Set, "%s set the key on node %s%s", k.Client, node, j.setForWords(k.Set))
	if late {
		s.decidedBy(k.Renewed)
	}
	if k.Renewed >= 0 {
		by := cmp.Or(j.Event(k.Renewed).Value.Client, k.Client)
		s.tell(turning, k.Renewed, "%s renewed the key on node %s%s", by, node, j.setForWords(k.Renewed))
	}
	s.tellFaults(j.At(k.Set), j.End, k.Client)
	if g := j.GrantBefore(k.Client, len(j.History.Events)); g != nil {
		s.tellGrant(g, j.End)
		if g.End >= 0 && g.Ending != facts.Killed {
			s.tellEnd(g, "")
		}
	}
	if j.Event(lost).F == history.Acquire {
		s.tell(turning, lost, "the attempt of %s failed or has an unknown outcome", k.Client)
	}
	s.tell(turning, len(j.History.Events)-1, "the key was still there %s after its owner no longer wanted it", length(outlived))
	c.setStory(s)
	f.Counterexample = c
	return f
}
