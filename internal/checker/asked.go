package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Where a lock program tells no end of a grant, its promise is what its commands asked
// for: the nodes' keys say till when, counted from when each command left the client
// (Value.At, Value.ValidUntil). A quorum of nodes (Header.Quorum) has to hold it.

// askedFor is till when the commands of a grant asked for keys, by node and key.
type askedFor map[string]map[string]promise

// readAsked gives promises to the grants of a lock program that told none.
func (v *view) readAsked() {
	if v.h.Header.Quorum == 0 {
		return
	}
	changes := make(map[string][]int) // of keys, by client
	for i := range v.h.Events {
		switch e := v.event(i); e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted:
			changes[e.Value.Client] = append(changes[e.Value.Client], i)
		}
	}
	for i := range v.grants {
		g := &v.grants[i]
		if v.event(g.ret).Value.ValidUntil.Set {
			continue
		}
		list := changes[g.client]
		for len(list) > 0 && list[0] < g.call {
			list = list[1:]
		}
		changes[g.client] = list
		v.readGrant(g, list)
	}
}

// readGrant reads the promise of a grant from the changes of keys by its client since it
// asked. Those whose commands left later than the answer came are renewals.
func (v *view) readGrant(g *grant, changes []int) {
	asked, quorum := make(askedFor), v.h.Header.Quorum
	known := false
	give := func() {
		if g.until, known = asked.held(quorum); !known {
			v.isVague(g.ret, fmt.Sprintf("it is not known what %s was promised at %s: the keys of its lock were seen on %d of %s",
				g.client, instant(v.at(g.ret)), asked.nodes(), plural(quorum, "node")))
		}
	}
	given := false
	for _, i := range changes {
		e := v.event(i)
		left := time.Duration(e.Value.At.V)
		switch {
		case g.ends >= 0 && (e.F == history.KeyDeleted && i > g.ends || e.Value.At.Set && left >= v.at(g.ends)):
			continue
		case e.F == history.KeyDeleted:
			delete(asked[e.Process], e.Value.Key)
			continue
		case !e.Value.At.Set || left < v.at(g.call):
			continue
		case left > v.at(g.ret) && !given:
			given = true
			give()
		}
		before, _ := asked.held(quorum)
		asked.set(e)
		if after, ok := asked.held(quorum); given && known && ok && before != after && before.longer(after) == after {
			g.extends = append(g.extends, extension{i, i, after.cut(forever)})
		}
	}
	if !given {
		give()
	}
}

func (a askedFor) set(e *history.Event) {
	if a[e.Process] == nil {
		a[e.Process] = make(map[string]promise)
	}
	a[e.Process][e.Value.Key] = promised(e.Value.ValidUntil)
}

// nodes is how many of them have a key.
func (a askedFor) nodes() int {
	n := 0
	for _, keys := range a {
		n += min(len(keys), 1)
	}
	return n
}

// held is till when a quorum of the nodes was asked to hold all its keys; false: it was
// not.
func (a askedFor) held(quorum int) (promise, bool) {
	if a.nodes() < quorum {
		return promise{}, false
	}
	var ends []time.Duration // forever for none
	for _, keys := range a {
		end := forever
		for _, p := range keys {
			end = p.cut(end)
		}
		if len(keys) > 0 {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	end := ends[len(ends)-quorum]
	return promise{end, end < forever}, true
}

// lose takes note of an event in which a client's lock told that it had lost a grant.
func (v *view) lose(g *grant, event int) {
	if g.loss < 0 {
		g.loss = event
	}
}

// lostAt is when a grant was lost at the earliest, by what its lock told.
func (v *view) lostAt(g *grant) time.Duration {
	e := &v.event(g.loss).Value
	return max(time.Duration(e.At.V-e.AtError), v.at(g.ret))
}

// cutLosses ends promises where the lock has told that it lost the grant: at the instant
// that it told, or, where it only told that it was between two, at the first of them.
func (v *view) cutLosses() {
	for i := range v.grants {
		g := &v.grants[i]
		if g.loss < 0 {
			continue
		}
		from, to := v.lostAt(g), time.Duration(v.event(g.loss).Value.At.V)
		g.lease = g.lastPromise()
		g.until = promise{g.until.cut(from), true}
		g.extends = slices.DeleteFunc(g.extends, func(x extension) bool { return x.ret > g.loss })
		for n := range g.extends {
			g.extends[n].until = min(g.extends[n].until, from)
		}
		if from < to && v.mattersBetween(g, from, to) {
			v.isVague(g.loss, fmt.Sprintf("%s was told at %s that it had lost the lock, but not since when", g.client, instant(to)))
		}
	}
}

// mattersBetween reports that somebody else was granted the lock in a stretch in which it
// is not known whether a grant was lost, or that its client did something in it.
func (v *view) mattersBetween(g *grant, from, to time.Duration) bool {
	return slices.ContainsFunc(v.grants, func(o grant) bool {
		return o.client != g.client && o.lock == g.lock && v.at(o.ret) >= from && v.at(o.ret) <= to
	}) || slices.ContainsFunc(v.effects, func(x effect) bool { return x.client == g.client && x.to >= from && x.from <= to })
}

// isVague takes note that a promise is not known, and why.
func (v *view) isVague(event int, why string) {
	if v.vague < 0 {
		v.vague, v.vagueWhy = event, why
	}
}
