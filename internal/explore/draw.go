package explore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// drawer draws schedules of faults for a setup, swarm style: each schedule uses
// only some of the kinds, which finds more than all of them at once.
type drawer struct {
	kinds []string
	// setup has the scenario's own faults, own of them; those that are drawn come
	// behind them, to be checked beside them.
	setup  scenario.Setup
	rules  *scenario.FaultRules
	own    int
	cast   nemesis.Cast
	points []string
	// sections bounds how often a client passes a point for sure.
	sections int
	ttl      time.Duration
	// may says which faults of those may be drawn; nil: all.
	may func(*scenario.Fault) bool
	// messages are the kinds that strike a message, where half of all faults are to; commands are
	// names of what is sent.
	messages, commands []string
	// ofMessages are all kinds that strike a message.
	ofMessages []string
}

// ErrNobodyToStrike says that none of the kinds of faults allowed can strike
// anybody in the scenario.
var ErrNobodyToStrike = errors.New("there is no replica to promote")

// newDrawer fails where none of the kinds can strike anybody of the setup.
func newDrawer(s *scenario.Setup, kinds []string, may func(*scenario.Fault) bool) (*drawer, error) {
	d := &drawer{setup: *s, own: len(s.Faults.List), cast: s.Cast(),
		points: s.Points(), sections: s.Workload.Sections, ttl: s.Lock.TTL, may: may,
		ofMessages: nemesis.MessageKinds()}
	d.setup.Faults.List = slices.Clone(s.Faults.List)
	d.rules = d.setup.FaultRules()
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	for _, k := range kinds {
		if k != "promote" || len(d.cast.Replicas) > 0 {
			d.kinds = append(d.kinds, k)
		}
	}
	if len(d.kinds) == 0 {
		return nil, fmt.Errorf("no fault of the kinds %v can strike here: %w", kinds, ErrNobodyToStrike)
	}
	return d, nil
}

// mostFaults bounds a schedule.
const mostFaults = 6

// draw draws the schedule of a seed.
func (d *drawer) draw(seed uint64) []scenario.Fault {
	r := rand.New(rand.NewPCG(seed, 0x6578706c6f7265))
	var kinds []string
	for _, k := range d.kinds {
		if r.IntN(2) == 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		kinds = []string{d.kinds[r.IntN(len(d.kinds))]}
	}
	var list []scenario.Fault
	for i := range 1 + r.IntN(mostFaults) {
		if i > 0 && r.IntN(3) == 0 && len(list) > 0 {
			list = d.another(r, list, len(list)-1)
			continue
		}
		list = d.add(r, list, d.kind(r, kinds))
	}
	return list
}

// kind draws one of the kinds. Where messages count, half of the faults strike one, and half of the others are pauses:
// by these two alone most mistakes show. Where replicas are promoted, that is as frequent.
func (d *drawer) kind(r *rand.Rand, kinds []string) string {
	if len(d.messages) > 0 && r.IntN(2) == 0 {
		return d.messages[r.IntN(len(d.messages))]
	}
	for _, often := range []string{"promote", "pause"} {
		if len(d.messages) > 0 && slices.Contains(d.kinds, often) && r.IntN(2) == 0 {
			return often
		}
	}
	return kinds[r.IntN(len(kinds))]
}

// drawer draws faults for a setup of the search.
func (s *Search) drawer(setup *scenario.Setup) (*drawer, error) {
	d, err := newDrawer(setup, s.Kinds, s.Allows)
	if err == nil && s.Real != nil {
		d.commands = s.Real.Commands
		d.messages = slices.DeleteFunc(slices.Clone(d.kinds), func(k string) bool { return !slices.Contains(d.ofMessages, k) })
	}
	return d, err
}

// mostTries bounds how often a fault is drawn that a scenario could not say, before
// it is left out: where the setup leaves its kind nobody to strike.
const mostTries = 20

// add adds a fault of a kind.
func (d *drawer) add(r *rand.Rand, list []scenario.Fault, kind string) []scenario.Fault {
	return d.valid(list, func() (f scenario.Fault) {
		if slices.Contains(d.ofMessages, kind) {
			f = d.ofMessage(r, kind)
		} else {
			f = scenario.Fault{Kind: kind, Params: d.params(r, kind, d.cast), Trigger: d.trigger(r)}
			if client := sender(&f); client != "" && r.IntN(4) > 0 { // it strikes who has just sent or is to be answered
				narrow := d.cast
				narrow.Clients = []string{client}
				f.Params = d.params(r, kind, narrow)
			}
		}
		if len(d.messages) > 0 && r.IntN(3) == 0 {
			d.until(r, &f)
		}
		return f
	})
}

// until lets a fault last until a client has been granted the lock, or has released it: how long that takes depends on what the lock does,
// and no drawn time would meet it. Who is paused or killed cannot end that.
func (d *drawer) until(r *rand.Rand, f *scenario.Fault) {
	struck := f.Params.Target()
	clients := slices.DeleteFunc(slices.Clone(d.cast.Clients), func(c string) bool { return c == struck })
	points := []string{workload.Acquired, workload.Released}
	if len(clients) == 0 || !slices.Contains(d.points, points[0]) {
		return
	}
	f.Until = &nemesis.Passing{Client: clients[r.IntN(len(clients))], Point: points[r.IntN(len(points))], Nth: 1 + r.IntN(d.sections)}
	parameters(reflect.ValueOf(f.Params).Elem(), func(name string, p any) {
		if length, ok := p.(*time.Duration); ok && name == "For" {
			*length = longest * d.ttl
		}
	})
}

// another adds a fault of the same kind as the i-th, at the same time: a majority of
// nodes fails only where several fail together. Messages go to several nodes one after the
// other; so it is the same message to another node.
func (d *drawer) another(r *rand.Rand, list []scenario.Fault, i int) []scenario.Fault {
	f := list[i]
	return d.valid(list, func() scenario.Fault {
		if !strikesMessage(&f) {
			return scenario.Fault{Kind: f.Kind, Params: d.params(r, f.Kind, d.cast), Trigger: f.Trigger}
		}
		same := clone([]scenario.Fault{f})[0]
		on := *f.On
		if node := d.cast.Endpoints[r.IntN(len(d.cast.Endpoints))]; on.Sends != "" {
			on.To = node
		} else {
			on.Node = node
		}
		same.On = &on
		return same
	})
}

// ofMessage draws a fault that strikes one message.
func (d *drawer) ofMessage(r *rand.Rand, kind string) scenario.Fault {
	name, params := nemesis.OfMessage(kind, d.length(r))
	return scenario.Fault{Kind: name, Params: params, Trigger: d.message(r, name == "hold" && r.IntN(2) == 0)}
}

// mostMessages: a fault strikes one of the first so many messages between a client and a node.
const mostMessages = 6

// message draws the message at which a fault strikes: a request, or else an answer.
func (d *drawer) message(r *rand.Rand, request bool) nemesis.Trigger {
	client, node := d.cast.Clients[r.IntN(len(d.cast.Clients))], d.cast.Endpoints[r.IntN(len(d.cast.Endpoints))]
	p := nemesis.Passing{Node: node, Answers: world.AnyCommand, To: client, Nth: 1 + r.IntN(mostMessages)}
	if len(d.commands) > 0 && r.IntN(2) == 0 {
		p.Answers = d.commands[r.IntN(len(d.commands))]
	}
	if request {
		p = nemesis.Passing{Client: client, Sends: p.Answers, To: node, Nth: p.Nth}
	}
	return nemesis.Trigger{On: &nemesis.On{Passing: p}}
}

func strikesMessage(f *scenario.Fault) bool {
	m, ok := f.Params.(nemesis.MessageFault)
	return ok && m.StrikesMessage()
}

// valid adds a fault that the rules for scenarios allow, if draw draws one.
func (d *drawer) valid(list []scenario.Fault, draw func() scenario.Fault) []scenario.Fault {
	for range mostTries {
		list = append(list, draw())
		if d.allows(list, len(list)-1) {
			return list
		}
		list = list[:len(list)-1]
	}
	return list
}

// allows reports that a scenario can say the faults from the given one on, behind
// the setup's own and those before them.
func (d *drawer) allows(list []scenario.Fault, from int) bool {
	for i := from; i < len(list) && d.may != nil; i++ {
		if !d.may(&list[i]) {
			return false
		}
	}
	d.setup.Faults.List = append(d.setup.Faults.List[:d.own], list...)
	return d.rules.Check(d.own+from) == nil
}

// sender is the client of the message at which a fault strikes; empty: it strikes at no message.
func sender(f *scenario.Fault) string {
	if f.On == nil || f.On.Point != "" {
		return ""
	}
	if f.On.Sends != "" {
		return f.On.Client
	}
	return f.On.To
}

func (d *drawer) params(r *rand.Rand, kind string, cast nemesis.Cast) nemesis.Fault {
	k := nemesis.MixKind{Of: "any", Widely: true,
		For: nemesis.Always(d.length(r)), By: nemesis.Always(d.length(r))}
	return k.Draw(r, kind, cast)
}

// trigger draws when a fault strikes: at the start, at some time, or, half of
// the time, at a point of a client's code. Where messages count, two in three strike
// when one passes: inside a lock of which no points are known.
func (d *drawer) trigger(r *rand.Rand) (t nemesis.Trigger) {
	if len(d.messages) > 0 && r.IntN(3) > 0 {
		return d.message(r, r.IntN(2) == 0)
	}
	switch r.IntN(4) {
	case 0:
		at := time.Duration(0)
		t.At = &at
	case 1:
		at := time.Duration(r.Int64N(int64(2 * d.ttl))).Truncate(time.Millisecond)
		t.At = &at
	default:
		t.On = &nemesis.On{Passing: nemesis.Passing{
			Client: d.cast.Clients[r.IntN(len(d.cast.Clients))],
			Point:  d.points[r.IntN(len(d.points))],
			Nth:    1 + r.IntN(min(d.sections, 3)),
		}}
	}
	return t
}

// A fault lasts from a part of the lease to longest times it.
const (
	shortestPart = 50
	longest      = 3
)

// length draws how long a fault lasts. Where messages count, half of the faults end about when a lease does that begins with them.
func (d *drawer) length(r *rand.Rand) time.Duration {
	if len(d.messages) > 0 && r.IntN(2) == 0 {
		return spread(r, d.ttl*9/10, 2*d.ttl)
	}
	return spread(r, d.ttl/shortestPart, longest*d.ttl)
}

// spread draws from low to high, small ones as often as large ones, in whole
// milliseconds.
func spread(r *rand.Rand, low, high time.Duration) time.Duration {
	x := float64(low) * math.Pow(float64(high)/float64(low), r.Float64())
	return max(time.Duration(x).Truncate(time.Millisecond), time.Millisecond)
}

// Kinds lists the kinds of faults that a search can draw.
func Kinds() []string { return slices.Concat(nemesis.MixKinds(), nemesis.MessageKinds()) }
