package explore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// aim is how faults are drawn where real servers take part. A run takes long there, and nothing is known of the inside of a lock; but what
// its clients do is known: they ask for the lock, have it and give it back. So most faults strike a message of one of these phases, on some
// nodes or on a majority, and last until a later phase.
type aim struct {
	// messages are the kinds of faults that strike a message; commands are names of what is sent.
	messages, commands []string
	// pauses, promotes: such faults may be drawn. pushes: messages may be what a node pushes.
	pauses, promotes, pushes bool
	// lags are the kinds by which a replica lags behind, splits those by which the primary is no primary any more; none: the nodes do not
	// fail over.
	lags, splits []string
	// phases are the points after which messages are counted.
	phases   []string
	sections int
}

// newAim is nil where no fault may strike a message.
func newAim(d *drawer, commands []string) *aim {
	a := &aim{commands: commands, sections: d.sections,
		pauses: slices.Contains(d.kinds, "pause"), promotes: slices.Contains(d.kinds, "promote")}
	for _, k := range d.kinds {
		if slices.Contains(d.ofMessages, k) {
			a.messages = append(a.messages, k)
		}
		if slices.Contains([]string{"cut", "hold", "stall", "latency"}, k) {
			a.lags = append(a.lags, k)
		}
		if d.cast.FailsOver() && slices.Contains([]string{"cut", "pause", "kill", "promote", "move-slot"}, k) {
			a.splits = append(a.splits, k)
		}
	}
	if len(a.messages) == 0 {
		return nil
	}
	for _, p := range []string{workload.BeforeAcquire, workload.Acquired, workload.BeforeRelease} {
		if slices.Contains(d.points, p) {
			a.phases = append(a.phases, p)
		}
	}
	return a
}

// kind draws one of the kinds that most mistakes show by: half of the faults strike a message, and half of the others are pauses. Where
// replicas are promoted, one in four does so. Where the nodes fail over, half of all faults may let them. Empty: it is any kind.
func (a *aim) kind(r *rand.Rand) string {
	switch {
	case len(a.splits) > 0 && r.IntN(2) == 0:
		return a.splits[r.IntN(len(a.splits))]
	case a.promotes && len(a.splits) == 0 && r.IntN(4) == 0:
		return "promote"
	case r.IntN(2) == 0:
		return a.messages[r.IntN(len(a.messages))]
	case a.pauses && r.IntN(2) == 0:
		return "pause"
	}
	return ""
}

// message draws which message it is that a passing means: one of a phase mostly. It returns since when messages count; nil: since ever.
func (a *aim) message(r *rand.Rand, p *nemesis.Passing) (since *nemesis.Passing) {
	if len(a.commands) > 0 && r.IntN(2) == 0 {
		p.Answers = a.commands[r.IntN(len(a.commands))]
	}
	if len(a.phases) == 0 || r.IntN(4) == 0 {
		return nil
	}
	p.Nth = 1 + r.IntN(3)/2
	return &nemesis.Passing{Client: p.To, Point: a.phases[r.IntN(len(a.phases))], Nth: 1 + r.IntN(max(a.sections-1, 1))}
}

// addSome adds a fault of a kind, and those without which it would be in vain.
func (d *drawer) addSome(r *rand.Rand, list []scenario.Fault, kind string) []scenario.Fault {
	if d.aim == nil {
		return d.add(r, list, kind)
	}
	if kind == "promote" {
		if !d.cast.Clustered() && slices.ContainsFunc(list, func(f scenario.Fault) bool { return f.Kind == kind }) {
			return list // nothing is left to promote
		}
		list = d.lag(r, list)
	}
	before := len(list)
	if list = d.add(r, list, kind); len(list) > before && strikesMessage(&list[before]) && r.IntN(4) > 0 {
		list = d.onOthers(r, list)
	}
	return list
}

// lag lets a replica lag behind: a replica that has everything can be promoted without harm.
func (d *drawer) lag(r *rand.Rand, list []scenario.Fault) []scenario.Fault {
	if len(d.aim.lags) == 0 {
		return list
	}
	replicas := d.cast
	replicas.Endpoints = nil
	return d.valid(list, func() scenario.Fault {
		kind := d.aim.lags[r.IntN(len(d.aim.lags))]
		f := scenario.Fault{Kind: kind, Params: d.params(r, kind, replicas), Trigger: d.trigger(r)}
		if r.IntN(2) == 0 {
			start := time.Duration(0)
			f.Trigger = nemesis.Trigger{At: &start}
		}
		return f
	})
}

// onOthers lets the last fault strike the same message to some of the other nodes, too: a lock on several nodes survives less.
func (d *drawer) onOthers(r *rand.Rand, list []scenario.Fault) []scenario.Fault {
	f := list[len(list)-1]
	var others []string
	for _, i := range r.Perm(len(d.cast.Endpoints)) {
		if node := d.cast.Endpoints[i]; node != f.On.To && node != f.On.Node {
			others = append(others, node)
		}
	}
	if len(others) == 0 {
		return list
	}
	for _, node := range others[:1+r.IntN(len(others))] {
		list = d.valid(list, func() scenario.Fault { return elsewhere(f, node) })
	}
	return list
}

// until lets a fault last until a client has been granted the lock, or has released it: how long that takes depends on what the lock does,
// and no drawn time would meet it. Who is paused or killed cannot end that. A message comes late mostly when its client has the lock again.
func (d *drawer) until(r *rand.Rand, f *scenario.Fault) {
	if m, ok := f.Params.(nemesis.RequestFault); ok && m.StrikesMessage() {
		return // it is over at once
	}
	struck := f.Params.Target()
	clients := slices.DeleteFunc(slices.Clone(d.cast.Clients), func(c string) bool { return slices.Contains(d.cast.Process(struck), c) })
	points := slices.DeleteFunc([]string{workload.Acquired, workload.Released}, func(p string) bool { return !slices.Contains(d.points, p) })
	if len(clients) == 0 || len(points) == 0 {
		return
	}
	f.Until = &nemesis.Passing{Client: clients[r.IntN(len(clients))], Point: points[r.IntN(len(points))], Nth: 1 + r.IntN(d.sections)}
	if strikesMessage(f) && f.On.Since != nil && r.IntN(4) > 0 {
		f.Until = &nemesis.Passing{Client: f.On.Since.Client, Point: workload.Acquired, Nth: f.On.Since.Nth}
		if f.On.Since.Point != workload.BeforeAcquire {
			f.Until.Nth++
		}
	}
	parameters(reflect.ValueOf(f.Params).Elem(), func(name string, p any) {
		if length, ok := p.(*time.Duration); ok && name == "For" {
			*length = d.most()
		}
	})
}
