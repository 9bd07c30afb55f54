package scenario

import (
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Faults are the faults of a scenario: a list, or a mix drawn from the seed, or
// both.
type Faults struct {
	List []Fault      `yaml:"list" doc:"faults of the schedule"`
	Mix  *nemesis.Mix `yaml:"mix" doc:"random faults drawn from the seed"`
}

// None reports that there are no faults.
func (f *Faults) None() bool { return len(f.List) == 0 && f.Mix == nil }

// OfLinks are the faults of the list that strike links, apart from all others. A node that refuses commands answers in time.
func (f *Faults) OfLinks() (links, others Faults) {
	others.Mix = f.Mix
	for _, one := range f.List {
		powers := nemesis.PowersOf(one.Kind, one.Params)
		if !one.refuses() && slices.ContainsFunc(powers, func(p world.Power) bool { return p >= world.LatencyPower }) {
			links.List = append(links.List, one)
		} else {
			others.List = append(others.List, one)
		}
	}
	return links, others
}

// DecodeYAML reads a list, or a mapping with a list and a mix.
func (f *Faults) DecodeYAML(d *yamlform.Decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.SequenceNode {
		if d.Mark(path, n); len(n.Content) > 0 {
			d.Value(n, reflect.ValueOf(&f.List).Elem(), "", path)
		}
		return
	}
	d.Structure(n, reflect.ValueOf(f).Elem(), path)
}

// Fault is one entry of a scenario's faults: a trigger and, under the name of
// its kind, the fault itself.
type Fault struct {
	nemesis.Trigger
	// Kind is the fault's kind, Params what nemesis made of its parameters.
	Kind   string
	Params nemesis.Fault
	// path is where it stood.
	path string
}

// goesWith are the keys that go with what happens.
var goesWith = map[string][]string{
	"point": {"client"}, "sends": {"client", "to", "key", "contains", "can"},
	"answers": {"node", "to", "key", "contains", "can"},
	"pushes":  {"node", "to", "key", "contains"},
	"tells":   {"sentinel", "about"},
}

// happening is the key that says what happens; empty: none does, or more than one.
func happening(p *nemesis.Passing) string {
	what := ""
	for _, given := range []struct{ key, value string }{
		{"point", p.Point}, {"sends", p.Sends}, {"answers", p.Answers}, {"pushes", p.Pushes}, {"tells", p.Tells}} {
		if given.value == "" {
			continue
		}
		if what != "" {
			return ""
		}
		what = given.key
	}
	return what
}

// DecodeYAML reads a trigger, and the fault under the name of its kind.
func (f *Fault) DecodeYAML(d *yamlform.Decoder, n *yaml.Node, path string) {
	f.path = path
	if n.Kind != yaml.MappingNode {
		d.Problem(n, path, "want a mapping with a trigger and a fault, got %s", yamlform.Describe(n))
		return
	}
	triggers := yamlform.FieldsOf(reflect.ValueOf(&f.Trigger).Elem())
	known := append(yamlform.KeysOf(triggers), faultNames()...)
	faults := 0
	seen := d.Mapping(n, path, known, func(key string, value *yaml.Node, path string) bool {
		if t, ok := triggers[key]; ok {
			d.Value(value, t.Value, t.Tag, path)
			return true
		}
		kind, ok := nemesis.Lookup(key)
		if !ok {
			return false
		}
		if faults++; faults > 1 {
			d.Problem(value, path, "one entry holds one fault; %q is here already", f.Kind).Hint = "write it as an entry of its own"
			return true
		}
		f.Kind, f.Params = key, kind.New()
		params := reflect.ValueOf(f.Params).Elem()
		yamlform.SetDefaults(params)
		d.Value(value, params, "", path)
		return true
	})
	if !slices.ContainsFunc(faultNames(), func(name string) bool { return seen[name] }) {
		d.Complain(path, "no fault is named here").Allowed = faultNames()
	}
	given := 0
	for _, trigger := range []string{"on", "at", "every", "after"} {
		if seen[trigger] {
			given++
		}
	}
	if given != 1 {
		d.Complain(path, "say in exactly one way when the fault strikes: on, at, every or after").Hint =
			"on: {client: c1, point: before-write}"
	}
}

// cast is who takes part in a setup.
func (s *Setup) Cast() nemesis.Cast {
	c := nemesis.Cast{Clients: ClientNames(s.Workload.Clients), PerProcess: s.Workload.PerProcess, Nodes: NodeNames(s.Nodes.Count)}
	c.Endpoints, c.Tears = c.Nodes, s.Nodes.Persistence.AppendOnly() && !s.Nodes.Replicated() && len(s.Nodes.Addresses) == 0
	switch {
	case s.Nodes.Clustered():
		for nodes := range slices.Chunk(c.Nodes, max(len(c.Nodes)/max(s.Nodes.Clusters, 1), 1)) { // the count may be wrong
			c.Clusters, c.Replicas = append(c.Clusters, nodes), append(c.Replicas, nodes[min(len(nodes), s.Nodes.Primaries):]...)
		}
	case s.Nodes.Watched():
		c.Replicas, c.Sentinels = c.Nodes, SentinelNames(s.Nodes.Sentinels)
	case s.Nodes.Replicated():
		c.Endpoints, c.Replicas = []string{primaryName}, c.Nodes[min(len(c.Nodes), 1):] // the count may be wrong
	}
	return c
}

// checkFaults makes sure that the faults fit the setup, beside those before them,
// and can fire: those from the given one on, counted from 0.
func (d *decoder) checkFaults(s *Setup, from int) {
	r := s.FaultRules()
	if !d.Sound(pointsFrom...) {
		r.points = anyPoints()
	}
	d.applyFaultRules(r, from)
}

// FaultRules are the rules for the faults of a setup, made ready to be asked often, as whoever draws faults does. They know
// the setup as it was, save its faults.
type FaultRules struct {
	setup  *Setup
	cast   nemesis.Cast
	points []string
}

// FaultRules makes the rules for the setup's faults ready.
func (s *Setup) FaultRules() *FaultRules { return &FaultRules{s, s.Cast(), s.Points()} }

func (d *decoder) applyFaultRules(r *FaultRules, from int) {
	s := r.setup
	for i := from; i < len(s.Faults.List); i++ {
		f := &s.Faults.List[i]
		f.checkTrigger(d, r, i)
		if f.Params == nil {
			continue
		}
		f.checkParams(d, r.cast)
		f.checkStore(d, s)
		f.checkDisk(d, s)
		target := f.Params.Target()
		isDead := func(e Fault) bool {
			return slices.ContainsFunc(append(r.cast.Process(target), target), e.killsForGood) && d.Sound(e.path)
		}
		if slices.ContainsFunc(s.Faults.List[:i], isDead) {
			d.ProblemAt(yamlform.Join(f.path, f.Kind), "%s is dead by then: an earlier fault kills it for good", target).Hint =
				"give the kill a for: after which it is started again"
		}
	}
}

// CheckFaults holds faults that no file gave, those from the given one on, counted
// from 0, to the rules for the faults of a file.
func (s *Setup) CheckFaults(from int) error { return s.FaultRules().Check(from) }

// Check holds the setup's faults to the rules as CheckFaults does.
func (r *FaultRules) Check(from int) error {
	s, d := r.setup, &decoder{}
	for i := from; i < len(s.Faults.List); i++ {
		f := &s.Faults.List[i]
		d.Limits(reflect.ValueOf(&f.Trigger).Elem(), "")
		d.Limits(reflect.ValueOf(f.Params).Elem(), f.Kind)
	}
	d.applyFaultRules(r, from)
	if problems := d.Problems(); len(problems) > 0 {
		return problems
	}
	return nil
}

// castFrom are the settings that say who can be named under a key; nil: nobody is.
func castFrom(key string) []string {
	nodes := []string{"nodes.count", "nodes.topology", "nodes.sentinels", "nodes.clusters", "nodes.primaries", "nodes.replicas"}
	switch key {
	case "client":
		return []string{"workload.clients"}
	case "node", "nodes", "to", "bus", "failover", "replica", "sentinel", "node or sentinel":
		return nodes
	case "groups":
		return append(nodes, "workload.clients")
	}
	return nil
}

// checkParams makes sure that the fault's parameters fit the cast.
func (f *Fault) checkParams(d *decoder, cast nemesis.Cast) {
	for _, c := range f.Params.Check(cast) {
		cast := castFrom(c.Key)
		if !d.Sound(cast...) || cast == nil && !d.Sound(yamlform.Join(f.path, f.Kind)) {
			continue
		}
		key := yamlform.Join(f.path, f.Kind)
		if c.Key != "" {
			key = yamlform.Join(key, c.Key)
		}
		p := d.ProblemAt(key, "%s", c.Message)
		if len(c.Allowed) > 0 {
			p.Suggest(c.Given, c.Allowed)
		}
	}
}

// checkTrigger makes sure that the fault, which is number i from 0, can fire.
func (f *Fault) checkTrigger(d *decoder, r *FaultRules, i int) {
	s := r.setup
	if m, ok := f.Params.(nemesis.MessageFault); ok && m.StrikesMessage() && !f.On.IsMessage() && d.Sound(f.path+".on") {
		d.ProblemAt(yamlform.Join(f.path, f.Kind)+".this", "it strikes the message that fires it, and no message does").Hint =
			"on: {client: c1, sends: SET, to: A} or on: {node: A, answers: SET, to: c1}"
	}
	if m, ok := f.Params.(nemesis.RequestFault); ok && m.StrikesMessage() && f.On.IsMessage() &&
		d.Sound(f.path+".on", yamlform.Join(f.path, f.Kind)) {
		if why := m.Misses(f.On.Passing); why != "" {
			d.ProblemAt(f.path+".on", "%s", why)
		}
	}
	switch {
	case f.On != nil:
		r.checkPassing(d, f.path+".on", &f.On.Passing)
		r.checkAnd(d, f.path+".on.and", f.On)
		r.checkPassing(d, f.path+".on.unless", f.On.Unless)
		r.checkPassing(d, f.path+".on.since", f.On.Since)
	case f.At != nil && *f.At >= s.TimeLimit && d.Sound("time_limit"):
		d.ProblemAt(f.path+".at", "never happens: the run ends after %v", s.TimeLimit)
	case f.After != nil && (f.After.Fault > len(s.Faults.List) || f.After.Fault == i+1):
		d.ProblemAt(f.path+".after.fault", "there is no other fault %d: the list has %d", f.After.Fault, len(s.Faults.List))
	}
	r.checkPassing(d, f.path+".until", f.Until)
	if f.Kind == nemesis.Cancel && f.Until != nil {
		d.ProblemAt(f.path+".until", "a cancelled attempt does not come back: this fault is over as soon as it has begun")
	}
}

// refuses reports that the fault lets nodes refuse commands.
func (f *Fault) refuses() bool {
	return slices.Contains(nemesis.PowersOf(f.Kind, f.Params), world.RefusePower)
}

// awaitsMessage reports that the fault waits for a message.
func (f *Fault) awaitsMessage() bool {
	return len(nemesis.Messages([]nemesis.Planned{f.planned()})) > 0
}

// awaitsPush reports that the fault waits for a message that a node pushes.
func (f *Fault) awaitsPush() bool {
	return slices.ContainsFunc(nemesis.Messages([]nemesis.Planned{f.planned()}), func(p world.Pattern) bool { return p.Kind == world.Pushed })
}

// checkPassing makes sure that what a fault waits for can happen; nil: it does not wait.
func (r *FaultRules) checkPassing(d *decoder, path string, p *nemesis.Passing) {
	if p == nil {
		return
	}
	what, cast := happening(p), r.cast
	if what == "" {
		d.ProblemAt(path, "say in exactly one way what happens: point, sends, answers, pushes or tells").Hint =
			"{client: c1, point: before-write}, " +
				"{client: c1, sends: SET, to: A}, {node: A, answers: SET, to: c1}, {node: A, pushes: any, to: c1} or " +
				"{sentinel: s1, tells: +switch-master}"
		return
	}
	receivers, receiver := cast.Endpoints, "node"
	if p.FromNode() {
		receivers, receiver = cast.Clients, "client"
	}
	for _, given := range []struct {
		key, value, noun string
		among            []string
	}{
		{"node", p.Node, "node", cast.Endpoints}, {"client", p.Client, "client", cast.Clients}, {"to", p.To, receiver, receivers},
		{key: "key", value: p.Key}, {key: "contains", value: p.Contains}, {key: "can", value: p.Can},
		{"sentinel", p.Sentinel, "sentinel", cast.Sentinels}, {"about", p.About, "node or sentinel", slices.Concat(cast.Nodes, cast.Sentinels)},
	} {
		if given.value == "" {
			continue
		}
		if !slices.Contains(goesWith[what], given.key) {
			d.ProblemAt(yamlform.Join(path, given.key), "%s does not go with %s", given.key, what).Hint =
				"a client is at a point or sends to a node; a node answers or pushes to a client; a sentinel tells about a node or a sentinel"
		} else if given.among != nil && !slices.Contains(given.among, given.value) && d.Sound(castFrom(given.noun)...) {
			d.ProblemAt(yamlform.Join(path, given.key), "no %s %q", given.noun, yamlform.Clip(given.value)).Suggest(given.value, given.among)
		}
	}
	if what == "point" {
		r.checkPoint(d, path, p)
	}
	if p.IsMessage() {
		r.checkMessage(d, path, what, p)
		r.checkSender(d, path, p)
	}
	if what == "tells" && !slices.Contains(sentinel.Words, p.Tells) {
		d.ProblemAt(yamlform.Join(path, "tells"), "no sentinel tells of %q", yamlform.Clip(p.Tells)).Suggest(p.Tells, sentinel.Words)
	}
	if what == "tells" && len(cast.Sentinels) == 0 && d.Sound("nodes.topology") {
		d.ProblemAt(yamlform.Join(path, "tells"), "there are no sentinels").Hint = "nodes: {topology: sentinel, ...}"
	}
}

// checkSender makes sure that the client of a message can be told: those of one process share its connections.
func (r *FaultRules) checkSender(d *decoder, path string, p *nemesis.Passing) {
	key, client := "client", p.Client
	if p.FromNode() {
		key, client = "to", p.To
	}
	if of := r.cast.Process(client); len(of) > 1 && of[0] != client {
		d.ProblemAt(yamlform.Join(path, key), "%s share their connections, and nobody can tell whose message it is: name %s, for all of them",
			words.List(of), of[0])
	}
}

func (r *FaultRules) checkPoint(d *decoder, path string, p *nemesis.Passing) {
	s, points := r.setup, r.points
	if s.Lock.Program == nil && !slices.Contains(points, p.Point) {
		problem := d.ProblemAt(path+".point", "no client ever passes a point %q", yamlform.Clip(p.Point))
		if problem.Suggest(p.Point, points); !d.Sound(pointsFrom...) {
			problem.Allowed = nil // of other setups, too
		}
	}
	limit := s.Workload.Sections * s.Workload.Passes(p.Point)
	if p.Client != "" && p.Nth > limit && limit > 0 && d.Sound("workload") {
		d.ProblemAt(path+".nth", "never happens: each client is there at most %s", times(limit))
	}
}

// killsForGood reports that nothing starts the target again once the fault has
// struck it.
func (f *Fault) killsForGood(target string) bool {
	if f.Params == nil || target == "" || f.Params.Target() != target {
		return false
	}
	_, kill := f.Params.(interface{ Returns() bool })
	return kill && f.Params.Length() == 0 && f.Until == nil
}

// checkMix makes sure that the mix can be drawn.
func (f *Faults) checkMix(d *decoder) {
	if f.Mix == nil {
		return
	}
	for name := range f.Mix.Kinds {
		if !slices.Contains(nemesis.MixKinds(), name) {
			d.ProblemAt("faults.mix.kinds."+name, "no fault %q can be drawn", yamlform.Clip(name)).Suggest(name, nemesis.MixKinds())
		}
	}
}

// planned is the fault as nemesis takes it.
func (f *Fault) planned() nemesis.Planned {
	return nemesis.Planned{Kind: f.Kind, Fault: f.Params, When: f.Trigger}
}

// Planned are the faults of a setup as nemesis takes them.
func (s *Setup) Planned() []nemesis.Planned {
	list := make([]nemesis.Planned, len(s.Faults.List))
	for i := range s.Faults.List {
		list[i] = s.Faults.List[i].planned()
	}
	return list
}

func faultNames() []string {
	return namesOf(nemesis.Kinds(), func(k nemesis.Kind) string { return k.Name })
}

// Needs are the powers over a world that the faults use.
func (s *Setup) Needs() []world.Power {
	var list []world.Power
	for i := range s.Faults.List {
		f := &s.Faults.List[i]
		list = append(list, nemesis.PowersOf(f.Kind, f.Params)...)
	}
	if s.Faults.Mix != nil {
		for _, name := range nemesis.MixKinds() {
			if _, ok := s.Faults.Mix.Kinds[name]; ok {
				kind, _ := nemesis.Lookup(name)
				for _, p := range kind.Powers {
					if p != world.ClientClockPower { // it moves clocks of nodes alone
						list = append(list, p)
					}
				}
			}
		}
	}
	return list
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
