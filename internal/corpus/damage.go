package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// damage changes one thing in a copy of a history. It says what, in words; empty: there is no place for it in this history.
type damage struct {
	kind string
	// property is what it violates; empty: the history becomes undecided (ended, unanswered), or no history (text).
	property checker.Property
	change   func(r *rand.Rand, h *history.History) (what string)
	// text damages the JSON Lines instead; ofEDN: and the EDN.
	text  func(r *rand.Rand, lines [][]byte) (changed [][]byte, what string)
	ofEDN bool
}

// damages are all kinds, in the order in which they take turns.
func damages() []damage {
	return []damage{
		{kind: "answer-moved", property: checker.ExclusiveBelief, change: moveAnswer},
		{kind: "release-dropped", property: checker.ExclusiveBelief, change: dropRelease},
		{kind: "release-dropped-early", property: checker.ExclusiveLease, change: dropRelease},
		{kind: "permit-kept", property: checker.WithinPermits, change: dropRelease},
		{kind: "token-swapped", property: checker.OrderedTokens, change: swapTokens},
		{kind: "read-swapped", property: checker.LinearizableResource, change: swapRead},
		{kind: "effect-delayed", property: checker.NoLateEffect, change: delayEffect},
		{kind: "tick-swapped", property: checker.AtMostOnce, change: swapTick},
		{kind: "deleter-swapped", property: checker.OwnerRelease, change: swapDeleter},
		{kind: "keys-dropped", property: checker.BackedGrant, change: dropKeys},
		{kind: "answer-swapped", property: checker.ToldAtRelease, change: swapAnswer},
		{kind: "end-dropped", change: dropEnd},
		{kind: "answers-lost", change: loseAnswers},
		{kind: "event-dropped", text: dropLine},
		{kind: "time-back", text: turnTimeBack},
		{kind: "line-cut", text: cutLine, ofEDN: true},
		{kind: "version-unknown", text: changeVersion},
	}
}

// Kinds are the kinds of damage.
func Kinds() (list []string) {
	for _, d := range damages() {
		list = append(list, d.kind)
	}
	return list
}

// Violates is the property that a kind of damage violates; empty: none.
func Violates(kind string) checker.Property {
	for _, d := range damages() {
		if d.kind == kind {
			return d.property
		}
	}
	return ""
}

// copyOf is a history whose events can be changed; the groups of their values are shared, so they are changed by OwnGrant and its like.
func copyOf(h *history.History) *history.History {
	c := *h
	c.Events = slices.Clone(h.Events)
	return &c
}

// renumber numbers events anew.
func renumber(h *history.History) {
	for i := range h.Events {
		h.Events[i].Index = int32(i)
	}
}

// remove takes events away.
func remove(h *history.History, which ...int) {
	slices.Sort(which)
	for _, i := range slices.Backward(which) {
		h.Events = slices.Delete(h.Events, i, i+1)
	}
	renumber(h)
}

// operations are those of one kind.
func operations(h *history.History, f history.F) []history.Op {
	return slices.DeleteFunc(h.Ops(), func(o history.Op) bool { return o.F != f })
}

// answered are the operations that were answered so.
func answered(h *history.History, f history.F, typ history.Type) []history.Op {
	return slices.DeleteFunc(operations(h, f), func(o history.Op) bool { return o.Return < 0 || o.Type != typ })
}

// shuffled gives things in an order that the seed draws.
func shuffled[T any](r *rand.Rand, list []T) []T {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func instant(t time.Duration) string { return fmt.Sprintf("%.6f s", t.Seconds()) }

// moveAnswer moves the answer of a client's grant to when another client, which asked to release the lock later, had it.
func moveAnswer(r *rand.Rand, h *history.History) string {
	grants := answered(h, history.Acquire, history.OK)
	for _, release := range shuffled(r, operations(h, history.Release)) {
		holder := h.Events[release.Call].Process
		for _, held := range grants {
			if h.Events[held.Return].Process != holder || held.Return > release.Call || slices.ContainsFunc(grants, func(p history.Op) bool {
				return h.Events[p.Return].Process == holder && p.Return > held.Return && p.Return < release.Call
			}) {
				continue // not the grant that it gives back
			}
			for _, grant := range grants {
				asker := h.Events[grant.Call].Process
				if asker == holder || grant.Call > release.Call || grant.Return < release.Call {
					continue
				}
				from := max(held.Return, grant.Call)
				e, was, end := h.Events[grant.Return], h.Events[grant.Return].Time, h.Events[release.Call].Time
				if e.Time = (h.Events[from].Time + end) / 2; end-e.Time < 2 {
					continue
				}
				to := from + 1
				for h.Events[to].Time <= e.Time {
					to++
				}
				h.Events = slices.Insert(slices.Delete(h.Events, grant.Return, grant.Return+1), to, e)
				renumber(h)
				return fmt.Sprintf("the answer that gave %s the lock was moved from %s to %s, when %s still had it",
					asker, instant(was), instant(e.Time), holder)
			}
		}
	}
	return ""
}

// dropRelease takes away a release that was answered, with what it did to keys, so that the holder never gave the lock back.
func dropRelease(r *rand.Rand, h *history.History) string {
	for _, p := range shuffled(r, answered(h, history.Release, history.OK)) {
		e := h.Events[p.Call]
		if asks := slices.ContainsFunc(operations(h, history.Acquire), func(q history.Op) bool {
			return q.Return > p.Return && h.Events[q.Return].Type == history.OK && h.Events[q.Call].Process != e.Process
		}); !asks {
			continue
		}
		remove(h, p.Call, p.Return)
		return fmt.Sprintf("the release of %s at %s was dropped, with its answer", e.Process, instant(e.Time))
	}
	return ""
}

// swapTokens gives two grants, one of which was asked for after the other was answered, each the token of the other, with all that was
// done under them left.
func swapTokens(r *rand.Rand, h *history.History) string {
	grants := answered(h, history.Acquire, history.OK)
	for _, p := range shuffled(r, slices.Clone(grants)) {
		for _, q := range grants {
			a, b := &h.Events[p.Return], &h.Events[q.Return]
			if q.Call < p.Return || a.Process == b.Process || !a.Value.Token.IsSet() || !b.Value.Token.IsSet() || a.Value.Token == b.Value.Token {
				continue
			}
			a.Value.Token, b.Value.Token = b.Value.Token, a.Value.Token
			return fmt.Sprintf("the tokens of the grants of %s at %s and of %s at %s were swapped: %v and %v", a.Process, instant(a.Time), b.Process,
				instant(b.Time), a.Value.Token, b.Value.Token)
		}
	}
	return ""
}

// swapRead gives a read the value that another one saw.
func swapRead(r *rand.Rand, h *history.History) string {
	reads := answered(h, history.Read, history.OK)
	for _, p := range shuffled(r, slices.Clone(reads)) {
		e := &h.Events[p.Return]
		for _, q := range shuffled(r, slices.Clone(reads)) {
			other := &h.Events[q.Return]
			if other.Value.Number.IsSet() && e.Value.Number.IsSet() && other.Value.Number != e.Value.Number && e.Value.Key == other.Value.Key {
				was := e.Value.Number
				e.Value.Number = other.Value.Number
				return fmt.Sprintf("the read of %s that was answered at %s saw %v instead of %v", e.Process, instant(e.Time), e.Value.Number, was)
			}
		}
	}
	return ""
}

// delayEffect lets a write take effect after the promise of its client ended.
func delayEffect(r *rand.Rand, h *history.History) string {
	var ends []int64
	for i := range h.Events {
		if until := h.Events[i].Value.ValidUntil(); h.Events[i].IsOp() && until.IsSet() {
			ends = append(ends, until.V())
		}
	}
	effects := indices(h, func(e *history.Event) bool {
		return e.F == history.Effect && e.Value.Accepted().V && e.Value.Op() == history.Write
	})
	if len(ends) == 0 || len(effects) == 0 {
		return ""
	}
	e := &h.Events[effects[r.IntN(len(effects))]]
	x := e.Value.OwnOutcome()
	was := x.At
	x.At = history.Some(slices.Max(ends) + x.AtError + 1)
	return fmt.Sprintf("the write of %s took effect at %s instead of %s",
		e.Value.Client, instant(time.Duration(x.At.V())), instant(time.Duration(was.V())))
}

func indices(h *history.History, so func(*history.Event) bool) (list []int) {
	for i := range h.Events {
		if so(&h.Events[i]) {
			list = append(list, i)
		}
	}
	return list
}

// swapTick lets the work of one client have been that of a tick whose work another one did.
func swapTick(r *rand.Rand, h *history.History) string {
	writes := answered(h, history.Write, history.OK)
	for _, p := range shuffled(r, slices.Clone(writes)) {
		for _, q := range writes {
			a, b := &h.Events[p.Call], &h.Events[q.Call]
			if a.Process == b.Process || a.Value.Section == b.Value.Section || a.Value.Section == 0 || b.Value.Section == 0 {
				continue
			}
			was := a.Value.Section
			for _, i := range []int{p.Call, p.Return} {
				h.Events[i].Value.Section = b.Value.Section
			}
			return fmt.Sprintf("the write of %s at %s was for tick %d instead of %d", a.Process, instant(a.Time), b.Value.Section, was)
		}
	}
	return ""
}

// swapDeleter lets another client than its owner have deleted a key.
func swapDeleter(r *rand.Rand, h *history.History) string {
	for _, i := range shuffled(r, indices(h, func(e *history.Event) bool { return e.F == history.KeyDeleted && e.Value.Client != "" })) {
		e := &h.Events[i]
		for _, c := range shuffled(r, slices.Clone(h.Header.Clients)) {
			if c != e.Value.Client {
				was := e.Value.Client
				e.Value.Client = c
				return fmt.Sprintf("the key of %s on node %s was deleted at %s by %s", was, e.Process, instant(e.Time), c)
			}
		}
	}
	return ""
}

// dropKeys takes away all that nodes told of the keys of one grant.
func dropKeys(r *rand.Rand, h *history.History) string {
	for _, p := range shuffled(r, answered(h, history.Acquire, history.OK)) {
		e := h.Events[p.Return]
		which := indices(h, func(k *history.Event) bool {
			about := k.F == history.KeySet || k.F == history.KeyExtended || k.F == history.KeyDeleted || k.F == history.KeyExpired
			return about && k.Value.Owner != "" && k.Value.Owner == e.Value.Owner
		})
		if len(which) == 0 {
			continue
		}
		remove(h, which...)
		return fmt.Sprintf("what the nodes told of the keys of the grant of %s at %s was dropped: %d events",
			e.Process, instant(e.Time), len(which))
	}
	return ""
}

// swapAnswer lets a release say yes that had said no.
func swapAnswer(r *rand.Rand, h *history.History) string {
	for _, p := range shuffled(r, answered(h, history.Release, history.Fail)) {
		e := &h.Events[p.Return]
		e.Type, e.Error = history.OK, history.Text{}
		return fmt.Sprintf("the release of %s that was answered at %s said yes instead of no", e.Process, instant(e.Time))
	}
	return ""
}

// dropEnd takes away that the run came to its end.
func dropEnd(_ *rand.Rand, h *history.History) string {
	which := indices(h, func(e *history.Event) bool { return e.F == history.Phase && e.Value.Detail() == history.PhaseDone })
	if len(which) == 0 {
		return ""
	}
	remove(h, which...)
	return "the event that says that the run came to its end was dropped: what holds in it is undecided"
}

// loseAnswers makes what came of all that a client did to the resource unknown.
func loseAnswers(r *rand.Rand, h *history.History) string {
	for _, c := range shuffled(r, slices.Clone(h.Header.Clients)) {
		which := indices(h, func(e *history.Event) bool {
			return e.Process == c && e.Type == history.OK && (e.F == history.Read || e.F == history.Write || e.F == history.CAS)
		})
		if len(which) == 0 {
			continue
		}
		for _, i := range which {
			e := &h.Events[i]
			e.Type, e.Value, e.Error = history.Info, history.Value{Section: e.Value.Section, Key: e.Value.Key}, history.SomeText("timeout")
		}
		return fmt.Sprintf("what came of the reads and writes of %s is unknown: %d answers were lost", c, len(which))
	}
	return ""
}

// middle draws a line that is neither the first nor the last two.
func middle(r *rand.Rand, lines [][]byte) int {
	if len(lines) < 6 {
		return -1
	}
	return 2 + r.IntN(len(lines)-4)
}

// dropLine takes a line away and leaves the numbers of the others.
func dropLine(r *rand.Rand, lines [][]byte) (changed [][]byte, what string) {
	at := middle(r, lines)
	if at < 0 {
		return nil, ""
	}
	return slices.Delete(lines, at, at+1), fmt.Sprintf("line %d was dropped; the events are not numbered without a gap any more", at+1)
}

// turnTimeBack gives a line a time before that of the line before it.
func turnTimeBack(r *rand.Rand, lines [][]byte) (changed [][]byte, what string) {
	at := middle(r, lines)
	if at < 0 {
		return nil, ""
	}
	head, rest, ok := bytes.Cut(lines[at], []byte(`"time":`))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 || bytes.Equal(rest[:end], []byte("0")) {
		return nil, ""
	}
	if before := lines[at-1]; bytes.Contains(before, []byte(`"time":0,`)) {
		return nil, ""
	}
	lines[at] = slices.Concat(head, []byte(`"time":0`), rest[end:])
	return lines, fmt.Sprintf("the time in line %d is 0: it goes back", at+1)
}

// cutLine leaves half of a line in the middle of the file.
func cutLine(r *rand.Rand, lines [][]byte) (changed [][]byte, what string) {
	at := middle(r, lines)
	if at < 0 {
		return nil, ""
	}
	lines[at] = lines[at][:len(lines[at])/2]
	return lines, fmt.Sprintf("line %d was cut in half", at+1)
}

// changeVersion gives the header a version that nobody knows.
func changeVersion(_ *rand.Rand, lines [][]byte) (changed [][]byte, what string) {
	from, to := fmt.Appendf(nil, `"version":%d`, history.FormatVersion), []byte(`"version":999`)
	if !bytes.Contains(lines[0], from) {
		return nil, ""
	}
	lines[0] = bytes.Replace(lines[0], from, to, 1)
	return lines, "the header says that the version of the format is 999"
}
