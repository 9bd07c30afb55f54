package observe

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// keyWatch follows the lock's key on one node: it replays the node's commands,
// which MONITOR shows without their results, and records who holds the key. It
// relies on the order of the stream and on the node's own clock in it. Where the
// replay cannot tell what the key holds it says so, and asks the node.
type keyWatch struct {
	keylog.Log
	// ask asks the node for the key's state; nil: it cannot be asked.
	ask func(number int) *keyQuery
	// after calls a function later.
	after func(time.Duration, func()) *time.Timer

	mu    sync.Mutex // guards what follows
	begun bool
	// queries are the questions whose answers have not shown in the stream.
	queries []*keyQuery
	number  int
	doubt   *doubt
	// open is what the latest step did so far, where more of it may follow; nil: nothing.
	open *openStep
	// evicts: the node may evict the key. It had evicted this many keys at first, and at the latest answer.
	evicts                bool
	evictedFirst, evicted int64
	// setBy is the client that wrote the key, touched the step of the latest command that concerned it.
	setBy   string
	touched int
	// due is the end at which, and a little later, the node is asked whether the key has gone.
	due   int64
	timer *time.Timer
	// hopeless: a client waits, and will write the key unseen.
	hopeless bool
	// last is the time of the last line, came when it came on our own clock. behind:
	// the node's clock has gone back, and may have been beyond the key's end before.
	last, came time.Duration
	behind     bool
}

// openStep is a step whose first line came at an instant.
type openStep struct {
	keylog.Step
	at time.Duration
}

// slack is how long before its line in the stream a command may have begun.
const slack = 500 * time.Microsecond

// span is when a command began that had begun by from, at the latest by to.
func span(from, to time.Duration) command.Span {
	return command.Span{From: (from - slack).Milliseconds(), To: to.Milliseconds()}
}

// see takes in a line of the stream. What comes before the answer to the first
// question is past.
func (k *keyWatch) see(c monitored) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Follow(c.at, machine.Monotonic())
	if k.open != nil && k.open.Number != c.step {
		k.finish()
	}
	if l := k.answeredBy(c); l != nil {
		<-l.done
		k.takeAnswer(l, c.Span)
	}
	k.replayLine(c)
	if open := k.open; !c.more {
		k.finish()
	} else if open != nil && open.at == c.at && k.after != nil {
		k.after(stepWithin, func() { k.finishLater(open) })
	}
	k.awaitEnd(c.Span)
	if k.Replay.Concerns(c.Executed()) {
		k.touched = c.step
	}
}

// awaitEnd asks the node for the key's end, if it is not known to the millisecond, and once more when it has come. What comes then
// is known to come after the end, however late its line shows it.
func (k *keyWatch) awaitEnd(now command.Span) {
	end := k.Replay.Expires
	if end.To == k.due {
		return
	}
	if k.due = end.To; k.timer != nil {
		k.timer.Stop()
	}
	if end.From < end.To {
		k.askNode()
	}
	if end.To > 0 && k.after != nil {
		k.timer = k.after(time.Duration(end.To-now.To+1)*time.Millisecond, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.askNode()
		})
	}
}

// stepWithin is how long the lines of a step may come after the first that changed a key: the server sends them together.
const stepWithin = 5 * time.Millisecond

// finishLater records what a step did, unless that is done.
func (k *keyWatch) finishLater(s *openStep) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == s {
		k.finish()
	}
}

// finish records what the open step did.
func (k *keyWatch) finish() {
	s := k.open
	if s == nil {
		return
	}
	k.open = nil
	change, _ := k.RecordStep(&s.Step)
	if change.Did == command.Wrote {
		k.setBy = s.Line.Caller
	}
	k.behind = k.behind && change.Did != command.Wrote
}

// clockPace is how many times as fast as ours a node's clock may have run before it
// went back.
const clockPace = 10

// Follow takes note of the node's clock, as a line shows it that comes now.
func (k *keyWatch) Follow(at, now time.Duration) {
	if at < k.last {
		peak := k.last + clockPace*(now-k.came) + slack
		k.behind = k.behind || k.Replay.Expires.From < peak.Milliseconds()
	}
	k.last, k.came = at, now
}

// answeredBy is the question whose answer a line shows, and nil for other lines.
func (k *keyWatch) answeredBy(c monitored) *keyQuery {
	for i, l := range k.queries {
		if c.Args[len(c.Args)-1] == l.mark {
			k.queries = append(k.queries[:i:i], k.queries[i+1:]...)
			return l
		}
	}
	return nil
}

// replayLine replays a command.
func (k *keyWatch) replayLine(c monitored) {
	if !k.begun || k.hopeless {
		return
	}
	before := k.Replay.Key
	k.Now = c.Line
	k.NoteFields(&c.Line)
	if k.doubt != nil && k.followPossibilities(c) {
		return
	}
	change := k.Replay.See(c.Executed(), k.behind)
	if k.open != nil && (change.Did == command.Obscured || change.Lasting) { // so far it is known
		after := k.Replay.Key
		k.Replay.Key = before
		k.finish()
		k.Replay.Key = after
	}
	if change.Did != command.Kept || change.Lasting {
		k.recordDoubt() // it came before the answer
	}
	if change.Lasting {
		k.hopeless, k.Replay.Key = true, command.Key{Holds: command.Unclear}
		k.RecordUnknown(c.Args[0], c.Caller)
		return
	}
	if change.Did != command.Kept && c.Stranger {
		k.RecordStranger(&c.Line)
		return
	}
	d, is := deed{line: c, before: before}, k.Replay.Key
	forgotten := k.ifEvicted(possibility{after: before}, d, change)
	if k.ask != nil && (change.Either != nil || len(forgotten) > 0) {
		results := change.Either
		if results == nil {
			results = []command.Result{{Change: change, After: is}}
		}
		k.doubt = &doubt{command: c.Args[0], caller: c.Caller, possibilities: append(possibility{}.andThen(d, results...), forgotten...)}
		k.Replay.Key = command.Key{Holds: command.Unclear}
		k.askNode()
		return
	}
	k.Replay.Key = is
	k.addToStep(change, before, c)
}

// addToStep takes what a command did to the key, which was as before says, for what its step did. It is recorded at the end of that.
func (k *keyWatch) addToStep(change command.Change, before command.Key, line monitored) {
	if change.Did == command.Obscured {
		k.RecordChange(change, before, line.Args[0], line.Caller, line.Span)
		return
	}
	if change.Did == command.Kept && !change.Expired {
		return
	}
	if k.open == nil {
		k.open = &openStep{keylog.Step{Number: line.step, Before: before, Expired: change.Expired, Line: line.Line, At: line.Span}, line.at}
	}
	if k.open.Add(change, k.Replay.Key); change.Ends {
		k.open.Line.Text = line.Text // it says whether the end is one that the client named
	}
}

// known is what is known of the key.
func (k *keyWatch) known() command.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.doubt
	if d == nil {
		return k.Replay.Key
	}
	if d.replicated != nil && len(d.possibilities) == 1 {
		return d.possibilities[0].after
	}
	return command.Key{Holds: command.Unclear}
}

// goOn goes on from what was known of the key before replication may have changed it unseen.
func (k *keyWatch) goOn(before command.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finish()
	if before.Holds == command.Unclear {
		k.RecordUnclear(history.Value{Rare: &history.Rare{Detail: "connections that the server closed"}})
	} else if k.ask != nil {
		k.number++
		l := k.ask(k.number)
		k.queries = append(k.queries, l)
		k.begun, k.Replay.Key = true, command.Key{Holds: command.Unclear}
		k.doubt = &doubt{command: "replication", possibilities: []possibility{{after: before}}, replicated: l}
	}
}

// askIfEvicted asks the node for the key's state, if it is known to have the key, and has evicted others than when it was asked last.
// It reports that there is nothing to ask.
func (k *keyWatch) askIfEvicted(evicted int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.evicted == evicted || k.Replay.Holds == command.Absent || k.Replay.Holds == command.Unclear {
		return true
	}
	k.askNode() // an answer that is under way may be older
	return false
}

// askNode asks the node for the key's state, unless an answer is under way.
func (k *keyWatch) askNode() {
	if k.ask == nil || k.hopeless {
		return
	}
	for _, l := range k.queries {
		select {
		case <-l.done:
			if l.err == nil {
				return
			}
		default:
			return
		}
	}
	k.number++
	k.queries = append(k.queries, k.ask(k.number))
}

// takeAnswer takes in the answer to a question, which shows in the stream at an instant.
func (k *keyWatch) takeAnswer(l *keyQuery, at command.Span) {
	d := k.doubt
	replicated := d != nil && d.replicated != nil
	if replicated && d.replicated != l {
		return
	}
	seen, behind, evicted := command.Key{Holds: command.Unclear}, k.behind, false
	if l.err == nil {
		at.To = max(at.To, l.state.till)
		seen, k.behind = l.state.key(at), false
		if evicted = l.state.evicted != k.evicted; !k.begun {
			k.evictedFirst, evicted = l.state.evicted, false
		}
		k.evicted = l.state.evicted
	}
	if k.doubt = nil; d != nil && k.decide(d, seen, at, evicted) {
		k.agrees(seen, at, behind)
		return
	}
	if d != nil && !replicated {
		k.RecordUnknown(d.command, d.caller)
	}
	if k.begun && (k.Replay.Holds != command.Unclear || k.hopeless) {
		if l.err != nil || k.hopeless || k.agrees(seen, at, behind) {
			return
		}
		if evicted && seen.Holds == command.Absent {
			k.RecordKey(history.KeyDeleted, k.Replay.Key, "", nil)
			k.Replay.Key = command.Key{}
			return
		}
		k.RecordUnclear(history.Value{Rare: &history.Rare{Detail: unseenChange}})
	}
	k.goOnFrom(seen, l, d != nil, replicated)
}

// goOnFrom goes on from what a node has said of the key. doubted: what had become of it was in doubt.
func (k *keyWatch) goOnFrom(seen command.Key, l *keyQuery, doubted, replicated bool) {
	k.begun, k.Replay.Key = true, seen
	switch {
	case seen.Holds == command.Unclear && !doubted && !k.Unclear:
		k.Record(history.Event{Process: k.Node, Type: history.Info, F: history.KeyUnclear, Value: history.Value{
			Key: k.Shown, Rare: &history.Rare{Detail: "a " + l.state.kind + " found"},
		}})
		k.Unclear = true
	case seen.Holds != command.Unclear && seen.Holds != command.Absent:
		k.RecordKey(history.KeySet, seen, "", grantOfTTL(l.state.ttl))
	case (k.Unclear || replicated) && seen.Holds == command.Absent:
		k.RecordKey(history.KeyDeleted, command.Key{}, "", nil)
	}
}

// unseenChange is what a key was changed by that is not what its commands say.
const unseenChange = "a change that MONITOR did not show"

// agrees compares what was known of the key with what the node says, takes from that when it ends, or that it has, and reports
// whether there is nothing else between the two.
func (k *keyWatch) agrees(seen command.Key, at command.Span, behind bool) bool {
	is := k.Replay.Key
	end := is.Expires
	switch none := (command.Span{}); {
	case is.Holds == command.Absent:
		return seen.Holds == command.Absent
	case seen.Holds == command.Absent && (fits(is, seen, at) || behind && end != none):
		k.RecordKey(history.KeyExpired, is, "", nil)
		k.Replay.Key = command.Key{}
		return true
	case !holdsTheSame(is, seen) || (end == none) != (seen.Expires == none):
		return false
	case fits(is, seen, at):
		k.Replay.Expires = command.Span{From: max(end.From, seen.Expires.From), To: min(end.To, seen.Expires.To)}
	default: // a command took longer than any was thought to
		k.Replay.Expires = seen.Expires
	}
	return true
}

func (k *keyWatch) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ask = nil
	if k.timer != nil {
		k.timer.Stop()
	}
	k.finish()
	k.giveUp()
}

// settle waits for the answers that are under way, and reports whether there were
// any: they show in the stream a little later.
func (k *keyWatch) settle(ctx context.Context) bool {
	k.mu.Lock()
	asked := k.queries
	k.mu.Unlock()
	waited := false
	for _, l := range asked {
		select {
		case <-l.done:
		case <-ctx.Done():
			return false
		}
		waited = waited || l.err == nil
	}
	if len(asked) > 0 && !waited {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.giveUp()
	}
	return waited
}

func grantOfTTL(ttl history.Int) *history.Grant {
	if !ttl.IsSet() {
		return nil
	}
	return &history.Grant{TTL: ttl}
}
