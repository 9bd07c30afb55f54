package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Life is a world in which one run follows another: its epochs. The servers and the clients of an epoch are those of the one before, as
// that has left them. Each epoch has faults of its own, ends with a roll call, and leaves a history that can be judged by itself.
type Life struct {
	w       world.World
	now     *run
	started bool
	// left are the keys that the epoch before has left on the nodes.
	left []history.Event
	// over is why there can be no further epoch; empty: there can. nobody is in how many roll calls, one after the other, nobody was granted
	// the lock.
	over   string
	nobody int
}

// mostNobody is how many roll calls may follow one another in which nobody is granted the lock: no later epoch can tell more.
const mostNobody = 3

// Called is what came of asking a client whether it still gets the lock, when everything had healed.
type Called struct {
	Client  string
	Granted bool
	// Why it was not granted.
	Why string
}

// Live opens the world of a life, whose first epoch is c. Faults of its epochs may need these powers.
func Live(c Config, needs ...world.Power) (*Life, error) {
	spec := newRun(c).spec()
	if len(needs) > 0 { // of more than one epoch
		spec.Points = c.Variant.Setup.Points() // programs are told once
	}
	spec.Needs = append(spec.Needs, needs...)
	w, err := c.Open(spec)
	if err != nil {
		return nil, err
	}
	l := &Life{w: w}
	return l, nil
}

// Over is why there can be no further epoch; empty: there can.
func (l *Life) Over() string { return l.over }

// Epoch carries out the next epoch. c differs from that of the life in its faults, its workload's sections, and its seed.
func (l *Life) Epoch(c Config) (Outcome, error) {
	r := newRun(c)
	r.w, r.life = l.w, l
	header := r.header()
	header.Carried = len(l.left) > 0
	r.recorder = history.NewRecorder(header, l.w.Now, c.History)
	r.recorder.Reuse(c.Reuse)
	r.schedule = nemesis.NewSchedule(l.w, r.recorder.Record, r.planned, nil, r.setup.Cast(), r.Seed)
	err := l.begin(r)
	if err == nil {
		err = r.act()
	}
	h, writeErr := r.recorder.Seal()
	err = errors.Join(err, r.endedEarly(h))
	out := Outcome{History: h, Interrupted: !r.finished && !r.timedOut && err == nil, TimedOut: r.timedOut, Versions: l.w.Versions(),
		RollCall: r.called}
	l.settle(r, h, err)
	return out, errors.Join(err, writeErr)
}

// begin lets the time of an epoch begin.
func (l *Life) begin(r *run) error {
	if !l.started {
		l.started, l.now = true, r
		return l.w.Start(l.hooks())
	}
	if l.over != "" {
		return fmt.Errorf("there is no further epoch: %s", l.over)
	}
	lasts, _ := l.w.(world.Lasting) // else it is over
	err := lasts.Again(nemesis.Messages(r.planned))
	l.now = r
	if err == nil {
		err = l.w.Wipe(history.ResourceProcess) // what the resource has is the epoch's own
	}
	for _, e := range l.left {
		r.recorder.Record(e)
	}
	return err
}

// hooks lead to the epoch that goes on.
func (l *Life) hooks() world.Hooks {
	return world.Hooks{
		Record: func(e history.Event) int { return l.now.recorder.Record(e) },
		Point: func(client, point string) {
			if slices.Contains(l.now.points, point) { // others are passed for epochs that wait there
				l.now.schedule.Point(client, point)
			}
		},
		Message:  func(m world.Message) { l.now.schedule.Message(m) },
		Unread:   func(link world.Link, answers bool, why string) { l.now.schedule.Unread(link, answers, why) },
		Sentinel: func(e history.Event) { l.now.schedule.Sentinel(e) },
	}
}

// Close ends the life.
func (l *Life) Close() error { return l.w.Close() }

// Left names the keys that the last epoch has left on the nodes.
func (l *Life) Left() (names []string) {
	for i := range l.left {
		names = append(names, l.left[i].Value.Key+" on "+l.left[i].Process)
	}
	return names
}

// settle says what an epoch has left, and whether there can be a further one.
func (l *Life) settle(r *run, h *history.History, failed error) {
	l.left = leftKeys(h, l.w.Now())
	var dead, moved string
	for _, s := range r.sessions {
		if !l.w.Alive(s.name) {
			dead = s.name
		}
	}
	for i := range h.Events {
		if f := h.Events[i].F; f == history.NodePromoted || f == history.NodeDemoted || f == history.Cluster {
			moved = h.Events[i].Process
		}
	}
	granted := func(c Called) bool { return c.Granted }
	if l.nobody++; slices.ContainsFunc(r.called, granted) || len(r.called) == 0 {
		l.nobody = 0
	}
	_, lasts := l.w.(world.Lasting)
	switch {
	case failed != nil:
		l.over = strings.TrimSpace(failed.Error())
	case r.timedOut:
		l.over = "an epoch came to its time limit"
	case l.w.Stopped():
		l.over = "a client did not come to rest"
	case dead != "":
		l.over = dead + " is dead"
	case moved != "":
		l.over = "another node is the primary: " + moved + " changed its part"
	case l.nobody == mostNobody:
		l.over = fmt.Sprintf("in %d roll calls one after the other nobody was granted the lock", mostNobody)
	case !lasts:
		l.over = "in this world each epoch is a life of its own"
	}
}

// leftKeys are the keys that are on nodes at a time, as far as a history tells, as events of a next one: found, and set by nobody in it.
func leftKeys(h *history.History, now time.Duration) (left []history.Event) {
	type place struct{ node, key string }
	at := make(map[place]history.Event)
	var order []place
	for i := range h.Events {
		e := &h.Events[i]
		k := place{e.Process, e.Value.Key}
		switch e.F {
		case history.KeySet, history.KeyExtended, history.KeyUnclear:
			if _, known := at[k]; !known {
				order = append(order, k)
			}
			at[k] = *e
		case history.KeyDeleted, history.KeyExpired:
			delete(at, k)
			order = slices.DeleteFunc(order, func(o place) bool { return o == k })
		case history.NodeDown: // what it has when it is back is told then
			order = slices.DeleteFunc(order, func(o place) bool {
				if o.node == e.Process {
					delete(at, o)
				}
				return o.node == e.Process
			})
		}
	}
	for _, k := range order {
		e := at[k]
		found := history.Event{Process: k.node, Type: history.Info, F: e.F, Value: history.Value{Key: k.key, Owner: e.Value.Owner}}
		if e.F == history.KeyUnclear {
			found.Value.Rare = &history.Rare{Detail: "what an earlier epoch left"}
			left = append(left, found)
			continue
		}
		found.F = history.KeySet
		if ttl := e.Value.TTL(); ttl.IsSet() {
			rest := ttl.V() - int64(now-e.Time)
			if rest <= 0 { // it has ended; nobody has asked for it since
				continue
			}
			found.Value.Grant = &history.Grant{TTL: history.Some(rest)}
		}
		left = append(left, found)
	}
	return left
}

// callRoll asks each client in turn for the lock, once what was promised has ended, and lets time pass until a further epoch could begin.
// done: all clients have ended; false: some wait in vain, or have no answer.
func (r *run) callRoll(done bool) bool {
	for _, s := range r.sessions {
		if !s.done && r.w.Alive(s.name) {
			r.called = append(r.called, Called{Client: s.name,
				Why: fmt.Sprintf("its request of the epoch was not over %v after everything had healed", 2*r.setup.GrantWithin)})
		}
	}
	if !done || !r.w.Sleep(r.setup.Lock.Span()) {
		return done
	}
	r.progress("roll call")
	for _, s := range r.sessions {
		if !r.w.Alive(s.name) {
			continue
		}
		c := Called{Client: s.name}
		answered := r.w.NewSignal()
		r.w.Go(func() {
			c.Granted, c.Why = s.answersCall(r.setup.Workload.Sections+2, r.w.Now()+r.setup.GrantWithin)
			answered.Fire()
		})
		if !answered.Wait(callAnswered * r.setup.GrantWithin) {
			c.Why, done = "its request has no answer", false
		}
		r.called = append(r.called, c)
		if !done || r.w.Stopped() {
			return false
		}
	}
	if lasts, is := r.w.(world.Lasting); is {
		lasts.AwaitInstant()
	}
	return true
}

// callAnswered is within how many times the bound for a grant a client must have answered at all.
const callAnswered = 4

// answersCall tries for the lock until some time, and gives it back. Where it was not granted, it says what the last answer was.
func (s *session) answersCall(section int, until time.Duration) (granted bool, why string) {
	for {
		a := s.Do(client.Request{F: history.Acquire, Section: section})
		if a.Type == history.OK {
			s.Do(client.Request{F: history.Release, Section: section})
			return true, ""
		}
		if why = a.Error; s.Now() >= until || s.Over() || !s.Sleep(probeAgain) {
			return false, why
		}
	}
}
