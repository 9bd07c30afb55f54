package explore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
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
	// away is how long a node is away before the others, or sentinels, take it for failed; 0: nobody does.
	away time.Duration
	// may says which faults of those may be drawn; nil: all.
	may func(*scenario.Fault) bool
	// aim is how faults are drawn where real servers take part; nil: none do, or no fault may strike a message.
	aim *aim
	// messages: faults may wait for a message.
	messages bool
	// ofMessages are all kinds that strike a message.
	ofMessages []string
	// use is how the setup's clients use the lock; others draw for the setup with its other uses.
	use    use
	others []*drawer
}

// ErrNobodyToStrike says that none of the kinds of faults allowed can strike
// anybody in the scenario.
var ErrNobodyToStrike = errors.New("there is no replica that a fault can promote, and no cluster whose slot could move")

// nobodyToStrike says of the kinds that cannot strike in each scenario what is missing there.
var nobodyToStrike = map[string]string{
	"promote": "there is no replica that a fault can promote", "move-slot": "there is no cluster whose slot could move",
}

// newDrawer fails where none of the kinds can strike anybody of the setup.
func newDrawer(s *scenario.Setup, kinds []string, may func(*scenario.Fault) bool) (*drawer, error) {
	d := &drawer{setup: *s, own: len(s.Faults.List), cast: s.Cast(),
		points: s.Points(), sections: s.Workload.Sections, ttl: s.Lock.Span(), may: may,
		ofMessages: nemesis.MessageKinds(), use: useOf(s)}
	switch {
	case d.cast.Clustered():
		d.away = s.Nodes.NodeTimeout
	case d.cast.FailsOver():
		d.away = s.Nodes.DownAfter
	}
	d.setup.Faults.List = slices.Clone(s.Faults.List)
	d.rules = d.setup.FaultRules()
	d.kinds = suffered(d.cast, kinds)
	if len(d.kinds) == 0 {
		return nil, fmt.Errorf("no fault of the kinds %v can strike here: %w", kinds, ErrNobodyToStrike)
	}
	return d, nil
}

// KindsUnasked are those that are drawn where none are asked for: all but nemesis.Cancel.
func KindsUnasked() []string {
	return slices.DeleteFunc(Kinds(), func(k string) bool { return k == nemesis.Cancel })
}

// suffered are those of the kinds that can strike somebody of the cast.
func suffered(cast nemesis.Cast, kinds []string) []string {
	if len(kinds) == 0 {
		kinds = KindsUnasked()
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !cast.Suffers(k) })
}

// KindsDrawn are the kinds of faults that the search draws: those allowed that can strike somebody in its variant, and of which a scenario
// can say one.
func (s *Search) KindsDrawn() []string {
	setup, err := s.setup()
	if err != nil {
		return s.Kinds // then nothing was searched
	}
	d, err := s.drawerOf(setup)
	if err != nil {
		return nil
	}
	r := rand.New(rand.NewPCG(0, 0x6b696e6473))
	none := func(kind string) bool {
		for range 2 {
			if len(d.add(r, nil, kind)) > 0 {
				return false
			}
		}
		return true
	}
	return slices.DeleteFunc(slices.Clone(d.kinds), none)
}

// NotDrawn is a kind of faults that a search does not draw, and why.
type NotDrawn struct{ Kind, Why string }

// KindsNotDrawn are the kinds of faults that the search does not draw. Named: Kinds are those that somebody asked for, and not those that
// a lock is meant to survive.
func (s *Search) KindsNotDrawn(named bool) (list []NotDrawn) {
	const survives = "a lock is not meant to survive that"
	free := *s
	free.Allows = nil
	drawn, possible := s.KindsDrawn(), free.KindsDrawn()
	setup, err := s.setup()
	for _, kind := range Kinds() {
		if slices.Contains(drawn, kind) {
			continue
		}
		one := NotDrawn{kind, "no such fault fits the scenario"}
		switch {
		case kind == nemesis.Cancel && !named:
			one.Why = "it is drawn for lock programs that say that they can cancel, or with --kinds"
		case err == nil && !setup.Cast().Suffers(kind):
			one.Why = nobodyToStrike[kind]
		case len(s.Kinds) > 0 && !slices.Contains(s.Kinds, kind):
			if one.Why = survives; named {
				one.Why = "not among the kinds asked for"
			}
		case slices.Contains(possible, kind):
			one.Why = survives
		}
		list = append(list, one)
	}
	return list
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
		if len(list) >= mostFaults {
			break
		}
		if i > 0 && r.IntN(3) == 0 && len(list) > 0 {
			list = d.another(r, list, len(list)-1)
			continue
		}
		list = d.addSome(r, list, d.kind(r, kinds))
	}
	return list
}

// kind draws one of the kinds.
func (d *drawer) kind(r *rand.Rand, kinds []string) string {
	if d.aim != nil {
		if kind := d.aim.kind(r); kind != "" {
			return kind
		}
	}
	return kinds[r.IntN(len(kinds))]
}

// drawer draws schedules for a setup of the search.
func (s *Search) drawer(setup *scenario.Setup) (*drawer, error) {
	d, err := s.drawerOf(setup)
	if err != nil {
		return nil, err
	}
	for _, u := range s.uses(setup) {
		changed := *setup
		u.apply(&changed)
		other, err := s.drawerOf(&changed)
		if err != nil {
			return nil, err
		}
		d.others = append(d.others, other)
	}
	return d, nil
}

func (s *Search) drawerOf(setup *scenario.Setup) (*drawer, error) {
	d, err := newDrawer(setup, s.Kinds, s.Allows)
	if err == nil {
		d.messages = s.Real == nil
	}
	if err == nil && s.Real != nil {
		d.cast.Flips = d.cast.Tears // models have no files
		if d.aim = newAim(d, s.Real.Commands); d.aim != nil {
			d.messages = true
			d.aim.pushes = s.Real.Wakes
		}
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
			if kind == nemesis.Cancel && d.messages && r.IntN(2) == 0 { // an attempt is under way then
				f.Trigger = d.message(r, r.IntN(2) == 0)
			}
			if client := sender(&f); client != "" && r.IntN(4) > 0 { // it strikes who has just sent or is to be answered
				narrow := d.cast
				narrow.Clients = []string{client}
				if d.aim != nil && kind == "pause" && r.IntN(2) == 0 {
					narrow.Nodes = nil
				}
				f.Params = d.params(r, kind, narrow)
			}
		}
		if d.aim != nil && r.IntN(2) == 0 {
			d.until(r, &f)
		}
		return f
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
		return elsewhere(f, d.endpoint(r))
	})
}

// elsewhere is the same for a message to another node, or for its answer to a message.
func elsewhere(f scenario.Fault, node string) scenario.Fault {
	same := clone([]scenario.Fault{f})[0]
	on := *f.On
	if on.FromNode() {
		on.Node = node
	} else {
		on.To = node
	}
	same.On = &on
	return same
}

// ofMessage draws a fault that strikes one message.
func (d *drawer) ofMessage(r *rand.Rand, kind string) scenario.Fault {
	name, params := nemesis.OfMessage(kind, d.length(r))
	_, asks := params.(nemesis.RequestFault)
	request := asks || name == "hold" && (r.IntN(2) == 0 || d.aim != nil && r.IntN(2) == 0)
	return scenario.Fault{Kind: name, Params: params, Trigger: d.message(r, request)}
}

// mostMessages: a fault strikes one of the first so many messages between a client and a node.
const mostMessages = 6

// message draws the message at which a fault strikes: a request, or else an answer.
func (d *drawer) message(r *rand.Rand, request bool) nemesis.Trigger {
	client, node := d.cast.Clients[r.IntN(len(d.cast.Clients))], d.endpoint(r)
	p := nemesis.Passing{Node: node, Answers: world.AnyCommand, To: client, Nth: 1 + r.IntN(mostMessages)}
	on := &nemesis.On{}
	if d.aim != nil {
		on.Since = d.aim.message(r, &p)
	}
	switch {
	case !request && d.aim != nil && d.aim.pushes && r.IntN(3) == 0:
		p = nemesis.Passing{Node: node, Pushes: world.AnyCommand, To: client, Nth: 1 + r.IntN(2)}
	case request:
		p = nemesis.Passing{Client: client, Sends: p.Answers, To: node, Nth: p.Nth}
	}
	on.Passing = p
	return nemesis.Trigger{On: on}
}

// endpoint draws a node that clients ask: in a cluster mostly the one that has the slot of the lock.
func (d *drawer) endpoint(r *rand.Rand) string {
	if d.cast.Clustered() && r.IntN(2) == 0 {
		return d.cast.DrawHolder(r)
	}
	return d.cast.Endpoints[r.IntN(len(d.cast.Endpoints))]
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
	if f.On.FromNode() {
		return f.On.To
	}
	return f.On.Client
}

func (d *drawer) params(r *rand.Rand, kind string, cast nemesis.Cast) nemesis.Fault {
	k := nemesis.MixKind{Of: "any", Widely: true,
		For: nemesis.Always(d.length(r)), By: nemesis.Always(d.length(r))}
	return k.Draw(r, kind, cast)
}

// trigger draws when a fault strikes: at the start, at some time, or, half of
// the time, at a point of a client's code. Where real servers take part, two in three strike
// when a message passes: inside a lock of which no points are known.
func (d *drawer) trigger(r *rand.Rand) (t nemesis.Trigger) {
	if d.aim != nil && r.IntN(3) > 0 {
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

// most is the longest that a fault lasts.
func (d *drawer) most() time.Duration { return longest * max(d.ttl, d.away) }

// length draws how long a fault lasts. Where real servers take part, half of the faults end about when a lease does that begins with them.
// Where the nodes fail over, every other one is long enough for that.
func (d *drawer) length(r *rand.Rand) time.Duration {
	if d.away > 0 && r.IntN(2) == 0 {
		return spread(r, d.away, 2*d.most())
	}
	if d.aim != nil && r.IntN(2) == 0 {
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
