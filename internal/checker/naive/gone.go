package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// keyKnown is what is known of a key on a node.
type keyKnown struct {
	unknown bool
	// client set it with a value in the event set; no client: it is absent.
	client, owner string
	set           int
}

// known is what is known of a key on a node after event i. "At the beginning it is absent. It
// is from a `key-set` on the client's whose it is then. It is absent after a `key-deleted` or
// `key-expired`. It is also absent from a `node-down` on, if the node's next `node-up` says that
// it found `nothing`. In all other cases nobody knows: after a `key-set` without a client, after a
// `key-extended` of a key that no client was known to have set or that shows another owner
// value than its setting, after a `key-unclear`, when the node goes down otherwise, is promoted or is demoted,
// and when a fault begins that kills the node, makes it forget or promotes it. Such a fault, and a
// further `node-down`, changes nothing while the node is down."
func (t *terms) known(node, key string, i int) (now keyKnown) {
	down := false
	for j := range t.events[:i+1] {
		e := &t.events[j]
		mine := e.Process == node
		here := mine && e.Value.Key == key
		switch {
		case e.F == history.FaultBegin && !down && t.mayForget(j, node), (e.F == history.NodePromoted || e.F == history.NodeDemoted) && mine:
			now = keyKnown{unknown: true}
		case e.F == history.NodeUp && mine:
			down = false
		case e.F == history.NodeDown && mine && !down:
			down = true
			now = keyKnown{unknown: t.comesBackWith(j) != "nothing"}
		case e.F == history.KeySet && here:
			// "From a `key-set` on it is the client's whose it is then." Nobody knows after "a `key-set` without a
			// client, or after which it is not known whose the key is".
			w := t.whoseOnce(node, key, j+1)
			now = keyKnown{!w.known(), w.client, e.Value.Owner, w.set}
			if now.unknown {
				now.client = ""
			}
		case e.F == history.KeyExtended && here && (now.client == "" || now.owner != e.Value.Owner), e.F == history.KeyUnclear && here:
			now = keyKnown{unknown: true}
		case e.F == history.KeyDeleted && here, e.F == history.KeyExpired && here:
			now = keyKnown{}
		}
	}
	return now
}

// comesBackWith is what a node found that goes down in event i; empty: it never comes back.
func (t *terms) comesBackWith(i int) string {
	for _, e := range t.events[i:] {
		if e.F == history.NodeUp && e.Process == t.events[i].Process {
			return e.Value.Detail()
		}
	}
	return ""
}

// have counts the nodes that surely have a grant after event i, and those that may have it: "A
// node has a grant if a key of the lock on it is the client's, by a `key-set` that stands
// after the invocation of the `acquire`. It may have it if that is so, or if of a key of the lock
// on it nobody knows. (Keys of the lock are all that the history names.)"
func (t *terms) have(g *grant, i int) (surely, maybe int) {
	var sure, may []string
	for _, n := range t.headerNodes() {
		for _, key := range t.lockKeys() {
			if !t.countsFor(g, key) {
				continue
			}
			k := t.knownOnce(n, key, i)
			its := k.client == g.client && k.set > g.invoked
			if its {
				sure = append(sure, n)
			}
			if its || k.unknown {
				may = append(may, n)
			}
		}
	}
	return t.count(sure), t.count(may)
}

// count: "Wherever nodes are counted, a cluster counts once, if what is counted is true of one of its servers."
func (t *terms) count(nodes []string) int {
	var counted []string
	for _, n := range nodes {
		of := "node " + n
		for _, c := range slices.Backward(t.header.Clusters) {
			if slices.Contains(c.Nodes, n) {
				of = "cluster " + c.Name // the first one that lists it
			}
		}
		if !slices.Contains(counted, of) {
			counted = append(counted, of)
		}
	}
	return len(counted)
}

// total: "If the header has `clusters`, the nodes of the lock are these."
func (t *terms) total() int {
	if n := len(t.header.Clusters); n > 0 {
		return n
	}
	return len(t.header.Nodes)
}

// lockKeys: "The keys of the lock are all of those that the history names."
func (t *terms) lockKeys() (keys []string) {
	for j, e := range t.events {
		if (aboutKey(e.F) || e.F == history.KeyUnclear) && t.ofLock(j) && !slices.Contains(keys, e.Value.Key) {
			keys = append(keys, e.Value.Key)
		}
	}
	return keys
}

// countsFor reports that a key counts for a grant.
func (t *terms) countsFor(g *grant, key string) bool {
	type question struct {
		g   *grant
		key string
	}
	q := question{g, key}
	if t.counting == nil {
		t.counting = map[any]bool{}
	}
	if _, found := t.counting[q]; !found {
		keys := t.lockKeys()
		t.counting[q] = !t.auxiliary(key, keys) || !t.setsShared(g, keys)
	}
	return t.counting[q]
}

// auxiliary: "a key that one client alone ever sets keeps nobody out: it is auxiliary".
func (t *terms) auxiliary(key string, keys []string) bool {
	var setters []string
	for _, e := range t.events {
		if e.F == history.KeySet && e.Value.Key == key && e.Value.Client != "" {
			setters = append(setters, e.Value.Client)
		}
	}
	slices.Sort(setters)
	return slices.Contains(keys, key) && len(slices.Compact(setters)) < 2
}

// setsShared: "If the client of a grant sets a key that several clients set, by a `key-set` that stands after the
// invocation of the `acquire` and before the end of the belief, and that makes the key its own, then no auxiliary key counts."
func (t *terms) setsShared(g *grant, keys []string) bool {
	for i := g.invoked + 1; i < g.ended; i++ {
		e := &t.events[i]
		if e.F == history.KeySet && e.Value.Client == g.client && t.ofLock(i) && !t.stays(i) && !t.auxiliary(e.Value.Key, keys) {
			return true
		}
	}
	return false
}

// knownOnce keeps what known has found.
func (t *terms) knownOnce(node, key string, i int) keyKnown {
	type question struct {
		node, key string
		i         int
	}
	if t.keysKnown == nil {
		t.keysKnown = map[any]keyKnown{}
	}
	q := question{node, key, i}
	if _, found := t.keysKnown[q]; !found {
		t.keysKnown[q] = t.known(node, key, i)
	}
	return t.keysKnown[q]
}

// quorum: "A quorum is the header's `quorum`, or else the majority of its nodes."
func (t *terms) quorum() int {
	if t.header.Quorum > 0 {
		return t.header.Quorum
	}
	return t.total()/2 + 1
}

// gone: "The lock of a grant is gone while fewer than a quorum of nodes may have it, if at the
// answer or later a quorum surely had it."
func (t *terms) gone(g *grant, i int) bool {
	if _, maybe := t.have(g, i); maybe >= t.quorum() {
		return false
	}
	for j := g.answered; j <= i; j++ {
		if surely, _ := t.have(g, j); surely >= t.quorum() {
			return true
		}
	}
	return false
}

// oneLock: "Unknown if clients asked for more than one lock."
func (t *terms) oneLock() bool {
	var locks []string
	for _, p := range t.ops {
		if p.f == history.Acquire {
			locks = append(locks, p.lock)
		}
	}
	slices.Sort(locks)
	return len(slices.Compact(locks)) <= 1
}

// noResurrection: "No renewal brings back a lock that is gone."
func (t *terms) noResurrection() answer {
	if !t.oneLock() {
		return cannotTell
	}
	violated, doubtful, chances := false, false, false
	for _, g := range t.grants {
		// "until the client asks again, is killed, or is told that it lost the lock"
		until := t.answerFor(g)
		for i := g.answered; i < until; i++ {
			// "Chances: grants whose lock was gone while the client believed in them and had not been told of a
			// loss, if the client could have brought it back."
			surely, maybe := t.have(g, i)
			before := i < g.ended && (!t.leased() || t.time(i) < g.end)
			chances = chances || before && t.gone(g, i) && surely == maybe && t.couldBeBack(g, i) >= t.quorum() && !t.comesLate(g, i)
			if i > g.answered && t.bringsBack(g, i) {
				// "The command left its client after the answer (`at`). Without an `at`,
				// an `extend` of the client must be under way, and the header must have no `quorum`."
				e := &t.events[i]
				switch at := e.Value.At(); {
				case at.IsSet() && at.V() > g.ret, !at.IsSet() && t.header.Quorum == 0 && t.extending(g.client, i):
					violated = true
				case !at.IsSet():
					doubtful = true
				}
			}
		}
	}
	if !violated && doubtful {
		return cannotTell
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// answerFor is the event up to which a client answers for what it sets under a grant: it has not "asked for a lock
// again", and "has not been killed. Since the invocation of the `acquire` it has not been told that it lost this grant".
func (t *terms) answerFor(g *grant) int {
	for i := g.invoked + 1; i < len(t.events); i++ {
		e := &t.events[i]
		again := e.F == history.Acquire && e.Type == history.Invoke && e.Process == g.client
		if again || t.tells(g, i) || t.kills(i)[g.client] {
			return i
		}
	}
	return len(t.events)
}

// bringsBack: "A `key-set` of the client on a node, with an owner value that a `key-set` of the
// client of the same key on this node has already shown since the invocation of the `acquire`.
// Before it the lock was gone, after it a quorum surely has it. No `key-set` of the client stands
// after it whose `at` is between the invocation of the `acquire` and its answer."
func (t *terms) bringsBack(g *grant, i int) bool {
	e := &t.events[i]
	if e.F != history.KeySet || e.Value.Client != g.client || !t.ofLock(i) {
		return false
	}
	// "With a lease in the value [...] the owner values need not be equal, and may be empty, but the command must have left
	// the client (`at`, or else the stamp) before the end of the belief"
	if t.leased() && t.sent(i) >= g.end || !t.leased() && e.Value.Owner == "" {
		return false
	}
	again := false
	for _, before := range t.events[g.invoked+1 : i] {
		again = again || before.F == history.KeySet && before.Process == e.Process && before.Value.Client == g.client &&
			before.Value.Key == e.Value.Key && (before.Value.Owner == e.Value.Owner || t.leased())
	}
	surely, _ := t.have(g, i)
	return again && !t.comesLate(g, i) && t.gone(g, i-1) && surely >= t.quorum()
}

// couldBeBack counts the nodes on which a key is the client's, or "absent, and the client has set it, to an owner value
// (not empty), since the invocation of the `acquire`".
func (t *terms) couldBeBack(g *grant, i int) int {
	var nodes []string
	for _, n := range t.header.Nodes {
		back := false
		for j, e := range t.events[:i+1] {
			its := e.F == history.KeySet && e.Process == n && e.Value.Client == g.client && j >= g.invoked
			if !its || !t.ofLock(j) || !t.countsFor(g, e.Value.Key) {
				continue
			}
			now := t.knownOnce(n, e.Value.Key, i)
			back = back || !now.unknown && now.client == "" && (t.leased() || e.Value.Owner != "") || now.client == g.client && now.set > g.invoked
		}
		if back {
			nodes = append(nodes, n)
		}
	}
	return t.count(nodes)
}

// comesLate: a "`key-set` of the client stands after the event whose `at` lies between the invocation of the `acquire` and its answer".
func (t *terms) comesLate(g *grant, i int) bool {
	return slices.ContainsFunc(t.events[i+1:], func(after history.Event) bool {
		v := &after.Value
		return after.F == history.KeySet && v.Client == g.client && v.At().IsSet() && g.call <= v.At().V() && v.At().V() <= g.ret
	})
}

// toldWhenLost: "A client whose lock is gone is told so within one TTL in which it is not stopped."
func (t *terms) toldWhenLost() answer {
	if !t.oneLock() || t.ttl("") <= 0 {
		return cannotTell
	}
	violated, chances := false, false
	for _, g := range t.grants {
		if g.outer != nil || t.bentClock(g.client) {
			continue
		}
		told := t.told(g)
		since := -1
		for i := g.answered; i <= g.ended && i < len(t.events); i++ {
			if gone := t.gone(g, max(i-1, g.answered)); i > g.answered && gone {
				if since < 0 {
					since = i - 1
				}
				// "or from the end of the validity that it was told"
				from, to := t.time(since), min(t.time(i), t.knowsEnd(g))
				violated = violated || i <= told && to-from-t.stopped(g.client, from, to) > t.ttl(g.client)
				// "Chances: grants whose lock was gone when their client was told of the loss, while it
				// believed. Also grants whose lock was gone for longer than the TTL while the client believed: only
				// the end of its validity told it, or a loss that it was told of before the lock was gone."
				from, to = t.time(since), t.time(i)
				chances = chances || i == told || to-from-t.stopped(g.client, from, to) > t.ttl(g.client)
			} else {
				since = -1
			}
		}
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// told: "from an event `lost` on that stands after the invocation of the `acquire` and may be about this grant".
func (t *terms) told(g *grant) int {
	told := len(t.events)
	for i := len(t.events) - 1; i > g.invoked; i-- {
		if t.tells(g, i) {
			told = i
		}
	}
	return told
}

// wasThere: a quorum surely had the grant between its answer and event i.
func (t *terms) wasThere(g *grant, i int) bool {
	for j := g.answered; j < i; j++ {
		if surely, _ := t.have(g, j); surely >= t.quorum() {
			return true
		}
	}
	return false
}

// knowsEnd: "That of the grant's own `valid_until`, lengthened by the renewals that were answered before it had ended, or at its end. For a
// lock program that tells no `valid_until`, it is the given promise."
func (t *terms) knowsEnd(g *grant) int64 {
	lost := int64(forever)
	if g.loss != nil {
		lost = g.loss.from
	}
	if !g.said.ValidUntil().IsSet() {
		return t.knowsGiven(g, lost)
	}
	until := min(g.until.V(), lost)
	for _, r := range t.counted(g) {
		if r.ret > until {
			break
		}
		until = max(until, min(r.said.ValidUntil().V(), lost))
	}
	return until
}

// knowsGiven: "the client knows the TTL that it gave. Each `extend` of the grant by its client that was answered `ok` before this end, or
// at it, tells it the TTL once more, from the invocation of the `extend`. But if such a lock renews by itself (the header says `renews`, or
// a renewal of the grant was invoked outside the time from the invocation of such an `extend` to its completion), its holder cannot know
// how long the lock is held".
func (t *terms) knowsGiven(g *grant, lost int64) int64 {
	until, promised := g.promise(none)
	if !promised || t.renews(g.client) {
		return forever
	}
	var extends []*op
	for _, p := range t.ops {
		its := p.f == history.Extend && p.client == g.client && p.lock == g.lock && g.isRenewedBy(p)
		if its && p.invoked > g.answered && p.invoked <= g.ended {
			extends = append(extends, p)
		}
	}
	for _, r := range t.counted(g) {
		if !slices.ContainsFunc(extends, func(p *op) bool { return p.call <= r.call && r.call <= p.ret }) {
			return forever
		}
	}
	for _, p := range extends {
		if p.outcome == history.OK && p.answered >= 0 && p.ret <= until {
			until = max(until, min(p.call+t.givenTTL(g.client), lost))
		}
	}
	return until
}

// counted are the renewals before a loss.
func (t *terms) counted(g *grant) (list []*op) {
	for _, r := range g.renewals {
		if g.loss == nil || r.answered <= g.loss.event {
			list = append(list, r)
		}
	}
	return list
}

// stopped is how long between two instants a fault stopped a client.
func (t *terms) stopped(client string, from, to int64) (sum int64) {
	var stops [][2]int64
	for i := range t.events {
		if t.strikes(i, history.Stops).clients[client] {
			stops = append(stops, [2]int64{t.time(i), t.faultEnd(i)})
		}
	}
	marks := []int64{from, to}
	for _, s := range stops {
		marks = append(marks, s[0], s[1])
	}
	slices.Sort(marks)
	for n := 1; n < len(marks); n++ {
		a, b := marks[n-1], marks[n]
		if a >= from && b <= to && slices.ContainsFunc(stops, func(s [2]int64) bool { return s[0] <= a && b <= s[1] }) {
			sum += b - a
		}
	}
	return sum
}

// bentClock: "A client whose clock a fault bends is not judged."
func (t *terms) bentClock(client string) bool {
	for i := range t.events {
		if t.strikes(i, history.BendsClock).clients[client] {
			return true
		}
	}
	return false
}

// faultEnd is when the fault ends that begins in event i.
func (t *terms) faultEnd(i int) int64 {
	for j := i + 1; j < len(t.events); j++ {
		if !t.lasts(i, j) {
			return t.time(j)
		}
	}
	return forever
}
