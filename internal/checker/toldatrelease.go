package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// giver is a client that was granted the lock and may give it back.
type giver struct {
	grant *facts.Grant
	facts.Presence
}

// judgeToldAtRelease: a holder whose lock is gone learns it when it gives the lock back.
func judgeToldAtRelease(ctx context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "releases that gave nothing back"}, Method: "replay of the nodes' keys"}
	if j.History.Clocks != nil {
		return j.judgeReleasesInLog(ctx, f)
	}
	if j.SeveralLocks() {
		return unknown("the history is about several locks", f.Effort)
	}
	keys, quorum := j.ReplayKeys(), j.Quorum()
	disturbances := j.NewDisturbances()
	var givers []*giver
	for i := range j.History.Events {
		changed := keys.Apply(i)
		var untrue *giver
		givers = slices.DeleteFunc(givers, func(b *giver) bool {
			g := b.grant
			if g.End == i {
				return g.Ending != facts.Released || b.GoneSince < 0 || j.ReleaseOf(g).Return < 0
			}
			release := j.ReleaseOf(g)
			if release == nil || release.Return != i {
				return false
			}
			if j.couldSayAtRelease(disturbances, g, release) {
				f.Effort.Chances++
				if release.Type == history.OK && untrue == nil && !j.wasAlarmed(g, i) {
					untrue = b
				}
			}
			return true
		})
		if untrue != nil {
			return j.untrueReleaseFinding(f, untrue)
		}
		if op := j.OpAt[i]; op >= 0 && j.Event(i).F == history.Acquire && j.Event(i).Type == history.OK {
			if g := j.GrantOf(int(op)); g.Outer < 0 {
				givers, changed = append(givers, &giver{g, facts.NotYetThere}), true
			}
		}
		if changed {
			givers = slices.DeleteFunc(givers, func(b *giver) bool {
				surely, maybe := keys.NodesWithKeyOf(b.grant)
				b.Update(surely >= quorum, maybe >= quorum, i)
				return !b.grant.OpenAt(i) && b.GoneSince < 0 // it came back while the release was under way
			})
		}
	}
	return j.judgeLeftAtRelease(f, disturbances, quorum, o)
}

// leftKeys are keys that a release has left where they were, each on another node.
type leftKeys struct {
	lives []*facts.KeyLife
	on    facts.NodeCount
}

// judgeLeftAtRelease: a release that left the lock on a quorum of nodes does not say that it gave it back.
func (j *judge) judgeLeftAtRelease(f Finding, d *facts.Disturbances, quorum int, o Options) Finding {
	left := make(map[int]*leftKeys) // by the answer to the release
	var lives []facts.KeyLife
	if j.keysMayStay(o, "") > 0 && !j.LeaseInValue() { // else nothing is known of keys that stay
		lives = j.KeyLives()
	}
	for i := range lives {
		k := &lives[i]
		ttl := j.keysMayStay(o, k.Client)
		since, over, ok := j.undisturbedEnd(d, k, ttl, demanded{not: history.Refuses, however: true})
		if !ok || j.Event(over).F != history.Release || j.lastsTo(k) <= since+ttl/2 {
			continue
		}
		if left[over] == nil {
			left[over] = &leftKeys{on: j.CountNodes()}
		}
		same := func(o *facts.KeyLife) bool { return j.Event(o.Set).Process == j.Event(k.Set).Process }
		if l := left[over]; !slices.ContainsFunc(l.lives, same) {
			l.lives = append(l.lives, k)
			l.on.Add(j.Event(k.Set).Process)
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(left)) {
		if left[answer].on.N < quorum {
			continue
		}
		if f.Effort.Chances++; j.Event(answer).Type == history.OK {
			return j.leftFinding(f, answer, left[answer].lives)
		}
	}
	return f.noViolation("no release of a lock that was gone, or that stayed for half a TTL, was seen", "%d %s, none untrue",
		f.Effort.Chances, f.Effort.What())
}

func (j *judge) leftFinding(f Finding, answer int, keys []*facts.KeyLife) Finding {
	first := slices.MinFunc(keys, func(a, b *facts.KeyLife) int { return cmp.Compare(j.lastsTo(a), j.lastsTo(b)) })
	client, stayed := first.Client, j.lastsTo(first)-j.At(answer)
	call := j.Ops[j.OpAt[answer]].Call
	nodes := make([]string, len(keys))
	for i, k := range keys {
		nodes[i] = j.Event(k.Set).Process
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s was told that it had given the lock back, which stayed %s for another %s", client, onNodes(nodes), length(stayed))
	c := &Counterexample{From: f.Effort.Chances, Impossible: answer, Assumption: string(saysAtRelease)}
	c.Operations = []CounterOp{{Client: client, Op: "gives the lock back", Events: sortedEvents(first.Set, call, answer, first.End),
		From: j.At(call), To: j.At(answer), Believed: "it had given the lock back", True: "its lock was still there"}}
	s := j.newStory()
	s.decidedBy(answer)
	s.tell(turning, first.Set, "%s set the key on node %s%s", client, j.Event(first.Set).Process, j.setForWords(first.Set))
	s.tell(turning, call, "%s asked to release", client)
	s.tellFaults(j.At(call), j.At(answer), client)
	s.tell(decisive, answer, "the release was answered with a yes")
	s.tellAt(turning, j.At(answer)+stayed, len(j.History.Events)-1, "the key had stayed for %s", length(stayed))
	c.setStory(s)
	return f.withCounterexample(c)
}

// wasAlarmed reports that the client of a grant had been told that the lock is lost when an event came.
func (j *judge) wasAlarmed(g *facts.Grant, event int) bool {
	for i := g.Call + 1; i < event; i++ {
		if j.IsAlarm(g, i) {
			return true
		}
	}
	return false
}

// couldSayAtRelease reports that a release of a lock that was gone could know that.
func (j *judge) couldSayAtRelease(d *facts.Disturbances, g *facts.Grant, release *history.Op) bool {
	asked, answered := j.At(release.Call), j.At(release.Return)
	for i := release.Return + 1; i < len(j.History.Events); i++ {
		e := j.Event(i)
		if e.F == history.KeySet && e.Value.Client == g.Client && j.ConcernsLock(e) && j.LeftBefore(i, answered) && j.LeftAt(i) >= j.At(g.Call) {
			return false // it came late
		}
	}
	return !d.Struck(g.Client, asked, answered) && !d.BetweenAny(g.Client, j.At(g.Call), answered)
}

func (j *judge) untrueReleaseFinding(f Finding, b *giver) Finding {
	g := b.grant
	release := j.ReleaseOf(g)
	gone := j.At(release.Call) - j.At(b.GoneSince)
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s was told that it had given the lock back, which had been gone for %s", g.Client, length(gone))
	c := &Counterexample{From: f.Effort.Chances, Impossible: release.Return, Assumption: string(saysAtRelease)}
	c.Operations = []CounterOp{{Client: g.Client, Op: "holds the lock and gives it back",
		Events: sortedEvents(g.Call, g.Return, b.GoneSince, release.Call, release.Return), From: j.At(g.Return), To: j.At(release.Return),
		Believed: "it had the lock until it gave it back", True: "its lock was gone at " + words.Instant(j.At(b.GoneSince))}}
	s := j.newStory()
	s.decidedBy(release.Return)
	s.tellGrant(g, j.At(b.GoneSince))
	s.tellFaults(j.At(g.Return), j.At(release.Return), g.Client)
	s.tell(turning, b.GoneSince, "the lock of %s was gone: %s", g.Client, j.goneWords(b.GoneSince))
	s.tellEnd(g, "")
	s.tell(decisive, release.Return, "the release was answered with a yes")
	c.setStory(s)
	return f.withCounterexample(c)
}
