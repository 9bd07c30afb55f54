// Package naive says docs/reference/properties.md once more, as code: a judge for each property, as literal and as slow as the page,
// written without a look at the judges that people use (package checker). Each quotes the sentences that it stands for.
// TestDefinitions of package checker holds the two against each other, and sim corpus check does so for a corpus.
package naive

import (
	"maps"
	"math"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// answer is what a naive judge found.
type answer int

const (
	// noOpinion: the naive judge does not know, and nobody is held against it.
	noOpinion answer = iota
	// cannotTell: the page's "unknown if", or no chance to fail.
	cannotTell
	nothingFound
	broken
)

// naiveJudges are the definitions.
var naiveJudges = map[checker.Property]func(*terms) answer{
	checker.ExclusiveBelief:      (*terms).exclusiveBelief,
	checker.ExclusiveLease:       (*terms).exclusiveLease,
	checker.WithinPermits:        (*terms).withinPermits,
	checker.BackedGrant:          (*terms).backedGrant,
	checker.NoLateEffect:         (*terms).noLateEffect,
	checker.HolderServed:         (*terms).holderServed,
	checker.LinearizableResource: (*terms).linearizableResource,
	checker.AtMostOnce:           (*terms).atMostOnce,
	checker.OrderedTokens:        (*terms).orderedTokens,
	checker.OwnerRelease:         (*terms).ownerRelease,
	checker.DeadlockFree:         (*terms).deadlockFree,
	checker.MinorityTolerant:     (*terms).minorityTolerant,
	checker.ComesBack:            (*terms).comesBack,
	checker.Fairness:             (*terms).fairness,
	checker.NoOrphanLock:         (*terms).noOrphanLock,
	checker.NothingStays:         (*terms).nothingStays,
	checker.NoResurrection:       (*terms).noResurrection,
	checker.ToldWhenLost:         (*terms).toldWhenLost,
	checker.ToldAtRelease:        (*terms).toldAtRelease,
	checker.NoFalseAlarm:         (*terms).noFalseAlarm,
	checker.StaysHeld:            (*terms).staysHeld,
	checker.AsksItsTTL:           (*terms).asksItsTTL,
	checker.TrueValidity:         (*terms).trueValidity,
	checker.KeepsRunning:         (*terms).keepsRunning,
	checker.Atomic:               (*terms).atomic,
	checker.Isolated:             (*terms).isolated,
	checker.Durable:              (*terms).durable,
}

// aboutPromises are the properties that rest on promises: "If a promise is not known,
// exclusive-lease, within-permits, no-late-effect, holder-served, ordered-tokens, deadlock-free,
// minority-tolerant, comes-back and told-when-lost are `unknown`, even if they look violated."
var aboutPromises = []checker.Property{
	checker.ExclusiveLease, checker.WithinPermits, checker.NoLateEffect, checker.HolderServed,
	checker.OrderedTokens, checker.DeadlockFree, checker.MinorityTolerant,
	checker.ComesBack, checker.ToldWhenLost,
}

// naivelyLifted: there is a `fault-end` with the id before the phase `healing`.
func naivelyLifted(h *history.History, id int) bool {
	for _, e := range h.Events {
		if e.F == history.Phase && e.Value.Detail() == history.PhaseHealing {
			return false
		}
		if e.F == history.FaultEnd && e.Value.ID() == id {
			return true
		}
	}
	return false
}

// Properties are those that are defined here, sorted.
func Properties() []checker.Property { return slices.Sorted(maps.Keys(naiveJudges)) }

// Judge judges properties by the page alone. The verdict 0 says that there is no opinion: what the page asks for has too many
// possibilities to be tried one by one. Of the options it reads Faults, Until and GrantWithin. Its time grows with the cube of the
// events and faster: it is for histories of some hundred.
func Judge(h *history.History, properties []checker.Property, o checker.Options) map[checker.Property]checker.Verdict {
	verdicts := map[checker.Property]checker.Verdict{}
	ordered, finished := true, false
	took := map[int]bool{}
	for i, e := range h.Events {
		ordered = ordered && int(e.Index) == i && (i == 0 || e.Time >= h.Events[i-1].Time)
		finished = finished || e.F == history.Phase && e.Value.Detail() == history.PhaseDone
		if e.F == history.FaultBegin {
			took[e.Value.ID()] = true
		}
	}
	t := newTerms(h, o)
	stranger := false
	for i, e := range h.Events {
		stranger = stranger || e.F == history.KeyUnclear && e.Value.Stranger() && t.ofLock(i)
	}
	lasted := slices.ContainsFunc(o.Until, func(id int) bool { return took[id] && !naivelyLifted(h, id) })
	for _, p := range properties {
		said := cannotTell
		if !meaningless(h, string(p)) {
			said = naiveJudges[p](t)
		}
		if t.vague() && slices.Contains(aboutPromises, p) {
			said = cannotTell
		}
		verdict := map[answer]checker.Verdict{cannotTell: checker.Unknown, nothingFound: checker.Holds, broken: checker.Violated}[said]
		// "`holds` becomes `unknown` if the run did not finish (the history has no phase
		// `done`), fewer faults took effect than the scenario planned, a fault that was to last until something happens lasted until
		// everything healed, a key of the lock was changed by a stranger (a `key-unclear` with `stranger`), ..."
		if verdict == checker.Holds && (!finished || len(took) < o.Faults || lasted || stranger) {
			verdict = checker.Unknown
		}
		// "If the events of a history are not in the order of their times, or are not
		// numbered from 0 without gaps, every property is unknown."
		if !ordered {
			verdict = checker.Unknown
		}
		verdicts[p] = verdict
	}
	return verdicts
}

// meaningless: the property has no meaning for a semaphore, for a lock that stays after its release, or where keys were there
// from the start.
func meaningless(h *history.History, p string) bool {
	return (h.Header.Permits > 0 || h.Header.Modes) && slices.Contains(aboutOneHolder, p) ||
		h.Header.AtLeast > 0 && slices.Contains(aboutFreeLocks, p) || h.Header.Carried && slices.Contains(aboutKeys, p)
}

// found is what a judge says that found a violation or not, and chances to fail or none.
func found(violated, chances bool) answer {
	switch {
	case violated:
		return broken
	case chances:
		return nothingFound
	}
	return cannotTell
}

// forever stands for an instant that never comes. Nothing is added to it.
const forever = math.MaxInt64

// terms are a history in the page's terms.
type terms struct {
	events []history.Event
	header history.Header
	// bound is grant_within; last is when the history ends.
	bound, last int64
	ops         []*op
	grants      []*grant
	keysKnown   map[any]keyKnown
	whoseKnown  map[any]whose
	counting    map[any]bool
}

// op is an operation: "An invocation and the next completion of the same process and
// `f`. Its outcome is `ok`, `fail` or unknown (`info`, or never completed)."
type op struct {
	client, lock, owner, key string
	f                        history.F
	section                  int
	outcome                  history.Type
	// invoked and answered are events, call and ret their times; of an operation
	// that never completed answered is -1 and ret forever.
	invoked, answered int
	call, ret         int64
	// asked and said are the values of the two events.
	asked, said history.Value
	// ends are the grants whose belief a release or a forget ends.
	ends []*grant
	// reenters says that an acquire is a re-entry, outer is the grant that it re-enters.
	reenters bool
	// upgrades says that an acquire is an upgrade.
	upgrades bool
	outer    *grant
	// around is the client's latest open grant of the lock when it was answered.
	around *grant
}

// grant is "an `acquire` that was answered `ok`."
type grant struct {
	*op
	// ended is the event that ended the belief, or len(events); end is its time.
	ended    int
	end      int64
	renewals []*op
	// until is the end of the promise that it came with. unknown: nobody knows.
	until   history.Int
	unknown bool
	loss    *loss
}

func newTerms(h *history.History, o checker.Options) *terms {
	t := &terms{events: h.Events, header: h.Header, bound: int64(o.GrantWithin)}
	if t.bound == 0 {
		t.bound = int64(checker.DefaultGrantWithin)
	}
	if n := len(h.Events); n > 0 {
		t.last = int64(h.Events[n-1].Time)
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.IsOp() && e.Type == history.Invoke {
			t.ops = append(t.ops, t.operation(i))
		}
	}
	for i := range h.Events {
		t.believe(i)
	}
	t.promises()
	return t
}

func (t *terms) operation(i int) *op {
	e := &t.events[i]
	p := &op{client: e.Process, f: e.F, outcome: history.Info, invoked: i, answered: -1, call: int64(e.Time), ret: forever, asked: e.Value}
	for j := i + 1; j < len(t.events); j++ {
		if c := &t.events[j]; c.Process == e.Process && c.F == e.F {
			// "An invocation that another invocation of the same process and `f`
			// follows first is never completed."
			if c.Type != history.Invoke {
				p.outcome, p.answered, p.ret, p.said = c.Type, j, int64(c.Time), c.Value
			}
			break
		}
	}
	// "The lock of an operation is the `lock` of its invocation, or else of its
	// completion. The owner value of an operation is found in the same way. Its `section`
	// and `key` are those of its invocation."
	p.lock, p.owner = orElse(p.asked.Lock(), p.said.Lock()), orElse(p.asked.Owner, p.said.Owner)
	p.key, p.section = p.asked.Key, p.asked.Section
	return p
}

func orElse[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// believe lets event i begin, end or prolong beliefs.
func (t *terms) believe(i int) {
	// "The client is killed. It ends all open grants of the client."
	if killed := t.kills(i); len(killed) > 0 {
		for _, g := range t.grants {
			if g.ended > i && killed[g.client] {
				t.end(g, i)
			}
		}
	}
	for _, p := range t.ops {
		if p.invoked == i || p.answered == i {
			t.believeOp(p, i)
		}
	}
}

// kills are the clients that event i kills: "A client is *killed* by the begin of a fault that kills it (effect `kills`), and by the end of
// its lock program (a `program-ended` of the client)."
func (t *terms) kills(i int) map[string]bool {
	if e := &t.events[i]; e.F == history.ProgramEnded {
		return map[string]bool{e.Process: true}
	}
	return t.strikes(i, history.Kills).clients
}

// end: event i ends a grant.
func (t *terms) end(g *grant, i int) { g.ended, g.end = i, int64(t.events[i].Time) }

// believeOp lets the invocation or the answer of an operation, event i, begin, end or prolong beliefs.
func (t *terms) believeOp(p *op, i int) {
	open := t.open(p, i)
	switch {
	case (p.f == history.Release || p.f == history.Forget) && p.invoked == i:
		// "The invocation of a `release` or a `forget`. It ends one open grant: the latest one with its owner
		// value, or else the latest one."
		if named := withOwner(open, p.owner); len(named) > 0 {
			open = named
		}
		if len(open) > 0 {
			p.ends = open[len(open)-1:]
			t.end(p.ends[0], i)
		}
	case p.f == history.Acquire && p.invoked == i:
		t.replace(p, open, i)
	case p.f == history.Acquire && p.answered == i && p.outcome == history.OK:
		// "Its outer grant is the latest one that is still open when the re-entry is answered.
		// If none is, it is a grant of its own."
		if len(open) > 0 {
			if p.around = open[len(open)-1]; p.reenters {
				p.outer = p.around
			}
		}
		// "If none of them comes, the grant stays open for ever."
		t.grants = append(t.grants, &grant{op: p, ended: len(t.events), end: forever})
	case p.f == history.Extend && p.answered == i && p.outcome == history.OK && p.said.ValidUntil().IsSet():
		for _, g := range open {
			if g.isRenewedBy(p) {
				g.renewals = append(g.renewals, p)
			}
		}
	}
}

// replace lets the invocation of an acquire, event i, end what is open.
func (t *terms) replace(p *op, open []*grant, i int) {
	// "A re-entry: an `acquire` of a client that has an open grant of the same
	// lock when it is invoked, answered `ok` with the same owner value (not empty)
	// as its latest open grant. So is one that says `inner`, if it or that grant has no owner value. An upgrade is none."
	p.upgrades = len(open) > 0 && t.header.Modes && p.asked.Inner() && !p.asked.Shared() && open[len(open)-1].reads()
	if p.outcome == history.OK && len(open) > 0 && !p.upgrades && !t.anew(p) {
		latest := open[len(open)-1].owner
		p.reenters = p.owner != "" && latest == p.owner || p.asked.Inner() && (p.owner == "" || latest == "")
	}
	// "The invocation of the client's next `acquire` of the same lock, whatever its
	// outcome. It ends all open grants of that client and lock. There are two exceptions: a re-entry, and an `acquire` that says `inner`."
	if p.reenters || p.asked.Inner() {
		return
	}
	for _, g := range open {
		t.end(g, i)
	}
}

// anew: "In a history of a lock program it is none, and the client is granted the lock anew, if on a quorum of nodes the client set a key
// of the lock with that owner value (if there is one, else with any) between the two, and the last that the node had told of this key
// before was that it had expired or was deleted."
func (t *terms) anew(p *op) bool {
	nodes := make(map[string]bool)
	for i := p.invoked + 1; i <= p.answered; i++ {
		e := &t.events[i]
		its := e.Value.Client == p.client && (p.owner == "" || e.Value.Owner == p.owner)
		if e.F == history.KeySet && its && t.ofLock(i) && t.goneBefore(i) {
			nodes[e.Process] = true
		}
	}
	return t.header.Quorum > 0 && len(nodes) >= t.header.Quorum
}

// goneBefore: before event i the last that the node had told of its key "was that it had expired or was deleted."
func (t *terms) goneBefore(i int) bool {
	of := &t.events[i]
	for j := i - 1; j >= 0; j-- {
		e := &t.events[j]
		if e.Process == of.Process && e.Value.Key == of.Value.Key && (aboutKey(e.F) || e.F == history.KeyUnclear) {
			return e.F == history.KeyExpired || e.F == history.KeyDeleted
		}
	}
	return false
}

// isRenewedBy: "At its answer it belongs to those open grants of its client and lock that were asked
// for before it was. If both the renewal and the grant have an owner value, these must be equal."
func (g *grant) isRenewedBy(p *op) bool {
	return g.invoked < p.invoked && (p.owner == "" || g.owner == "" || p.owner == g.owner)
}

// open are the grants of the client and lock of an operation that are open before
// event i has its say, in the order of their answers.
func (t *terms) open(p *op, i int) (open []*grant) {
	for _, g := range t.grants {
		if g.client == p.client && g.lock == p.lock && g.answered < i && g.ended > i {
			open = append(open, g)
		}
	}
	return open
}

func withOwner(grants []*grant, owner string) (named []*grant) {
	for _, g := range grants {
		if owner != "" && g.owner == owner {
			named = append(named, g)
		}
	}
	return named
}

// actsUnder: "A client does an operation under its latest grant that was answered before
// the operation was invoked. If that is a re-entry, or its `acquire` says `inner`, and its belief has ended by then, it
// acts under the grant that was the client's latest open one of the lock when it was answered. If the client was granted
// several locks before, it acts under such a grant of each of them whose belief is open when the operation is invoked.
// If none of them is open, it acts under
// all of them." Empty: under none.
func (t *terms) actsUnder(p *op) (under []*grant) {
	latest := map[string]*grant{}
	for _, g := range t.grants {
		if g.client == p.client && g.answered < p.invoked {
			latest[g.lock] = g
		}
	}
	var ended []*grant
	for _, g := range latest {
		for g.around != nil && g.ended < p.invoked { // others have none: they end what is open
			g = g.around
		}
		if ended = append(ended, g); g.ended > p.invoked {
			under = append(under, g)
		}
	}
	if len(under) == 0 {
		return ended
	}
	return under
}

// asked are the operations that an effect can belong to: "the operation with the same
// client, `section`, `key` and `f` (`op` of the effect). Several operations can have the
// same name. The effect can then belong to any of them whose invocation stands before it.
// If there is none, no operation has the name."
func (t *terms) asked(e *history.Event) (list []*op) {
	for _, p := range t.ops {
		if p.client == e.Value.Client && p.section == e.Value.Section && p.key == e.Value.Key && p.f == e.Value.Op() && p.invoked < int(e.Index) {
			list = append(list, p)
		}
	}
	return list
}

// instants are the earliest and the latest at which an effect can have happened, if it
// belongs to one of these operations; false: the instant is unknown.
func instants(e *history.Event, by []*op) (earliest, latest int64, known bool) {
	// "The earliest instant of an effect is the later of two: `at - at_error`, and the first
	// invocation of these operations. The latest instant is the earlier of two: `at +
	// at_error`, and their last completion. A completion of unknown outcome, or none, is no
	// bound, because the effect can come after it. If neither is known, the instant is
	// unknown."
	earliest, latest = math.MinInt64, forever
	if len(by) > 0 {
		earliest, latest = forever, math.MinInt64
	}
	for _, p := range by {
		earliest = min(earliest, p.call)
		if latest = max(latest, p.ret); p.outcome == history.Info {
			latest = forever
		}
	}
	if at := e.Value.At(); at.IsSet() {
		earliest, latest = max(earliest, at.V()-e.Value.AtError()), min(latest, at.V()+e.Value.AtError())
	}
	return earliest, latest, e.Value.At().IsSet() || len(by) > 0
}

// struck is whom a fault strikes.
type struck struct {
	clients, nodes map[string]bool
	links          []history.Link
	// other: the resource, or something that nobody knows.
	other bool
}

// strikes is whom the fault that begins in event i strikes in a certain way: "A fault's
// begin says what the fault does (`impact.effects`) and to which clients, nodes and links.
// If it does not say so, or says something that is not in this list, the fault may have
// done anything: to its target if that is a client or a node, otherwise to something
// else."
func (t *terms) strikes(i int, does history.Does) (s struck) {
	e := &t.events[i]
	if e.F != history.FaultBegin {
		return s
	}
	s = struck{clients: map[string]bool{}, nodes: map[string]bool{}}
	strange := func(f history.Strike) bool { return !slices.Contains(Effects, f.Does) }
	if m := e.Value.Impact(); m == nil || len(m.Effects) == 0 || slices.ContainsFunc(m.Effects, strange) {
		switch target := e.Value.Target(); {
		case slices.Contains(t.header.Clients, target):
			s.clients[target] = true
		case slices.Contains(t.header.Nodes, target):
			s.nodes[target] = true
		default:
			s.other = true
		}
		return s
	}
	for _, f := range struckBy(e) {
		if does == butRefusals && f.Does == history.Refuses || does != anything && does != butRefusals && f.Does != does {
			continue
		}
		for _, c := range f.Clients {
			s.clients[c] = true
		}
		for _, n := range f.Nodes {
			s.nodes[n] = true
		}
		s.other = s.other || f.Resource
		s.links = append(s.links, f.Links...)
	}
	return s
}

// struckBy are the effects of a fault that says what it does: "To cancel an attempt (`cancels`) strikes nobody."
func struckBy(e *history.Event) (list []history.Strike) {
	for _, f := range e.Value.Impact().Effects {
		if f.Does != history.Cancels {
			list = append(list, f)
		}
	}
	return list
}

// anything asks for whatever a fault does.
const anything = history.Does("")

// butRefusals asks for whatever else it does than to refuse commands.
const butRefusals = history.Does("but refusals")

// Effects are what faults do, as the page lists it.
var Effects = []history.Does{history.Stops, history.Kills,
	history.Forgets, history.Delays, history.Silences, history.Drops, history.Breaks,
	history.Refuses, history.BendsClock, history.Promotes, history.Cancels}
