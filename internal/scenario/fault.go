package scenario

import (
	"fmt"
	"reflect"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
)

// Fault is one entry of a scenario's faults: a trigger and, under the name of
// its kind, the fault itself.
type Fault struct {
	Trigger
	// Kind is the fault's kind, Params what nemesis made of its parameters.
	Kind   string
	Params nemesis.Fault
}

// Trigger says when a fault strikes: on a point or at a time.
type Trigger struct {
	On *On            `yaml:"on" doc:"strike when a client passes a point of its code; the client stands there until the fault has taken effect"`
	At *time.Duration `yaml:"at" doc:"strike at this time of the run" max:"1h"`
}

// On is a point of a client.
type On struct {
	Client string `yaml:"client" doc:"which client; any where it is left out"`
	Point  string `yaml:"point" doc:"which point of its code" required:"true"`
	Nth    int    `yaml:"nth" doc:"the how manieth time" min:"1" max:"1000000" default:"1"`
}

func (f *Fault) decodeYAML(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "want a mapping with a trigger and a fault, got %s", describe(n))
		return
	}
	triggers := fieldsOf(reflect.ValueOf(&f.Trigger).Elem())
	known := append(keysOf(triggers), faultNames()...)
	faults := 0
	d.mapping(n, path, known, func(key string, value *yaml.Node, path string) bool {
		if t, ok := triggers[key]; ok {
			d.value(value, t.value, t.tag, path)
			return true
		}
		kind, ok := nemesis.Lookup(key)
		if !ok {
			return false
		}
		if faults++; faults > 1 {
			d.problem(value, path, "one entry holds one fault; %q is here already", f.Kind).Hint = "write it as an entry of its own"
			return true
		}
		f.Kind, f.Params = key, kind.New()
		params := reflect.ValueOf(f.Params).Elem()
		setDefaults(params)
		d.value(value, params, "", path)
		return true
	})
	if faults == 0 {
		d.problem(n, path, "no fault is named here").Allowed = faultNames()
	}
	if (f.On == nil) == (f.At == nil) {
		d.problem(n, path, "say when the fault strikes: either on a point or at a time").Hint =
			"on: {client: c1, point: before-write}"
	}
}

// check makes sure that the fault fits the cast and can fire.
func (f *Fault) check(d *decoder, path string, s *Setup, points []string) {
	if f.Params == nil {
		return
	}
	cast := nemesis.Cast{Clients: ClientNames(s.Workload.Clients), Nodes: NodeNames(s.Nodes.Count), Resource: ResourceName}
	for _, c := range f.Params.Check(cast) {
		p := d.problemAt(join(join(path, f.Kind), c.Key), "%s", c.Message)
		if len(c.Allowed) > 0 {
			p.suggest(quotedIn(c.Message), c.Allowed)
		}
	}
	if f.On == nil {
		if f.At != nil && *f.At >= s.TimeLimit {
			d.problemAt(path+".at", "never happens: the run is ended after %v", s.TimeLimit)
		}
		return
	}
	if f.On.Client != "" && !contains(cast.Clients, f.On.Client) {
		d.problemAt(path+".on.client", "no client %q", clip(f.On.Client)).suggest(f.On.Client, cast.Clients)
	}
	if f.On.Point != "" && !contains(points, f.On.Point) {
		d.problemAt(path+".on.point", "no client ever passes a point %q", clip(f.On.Point)).suggest(f.On.Point, points)
	}
	if limit := s.Workload.Sections; f.On.Client != "" && f.On.Nth > limit && oncePerSection(f.On.Point) {
		d.problemAt(path+".on.nth", "never happens: each client goes through %d sections", limit)
	}
}

// planned is the fault as nemesis takes it.
func (f *Fault) planned() nemesis.Planned {
	p := nemesis.Planned{Kind: f.Kind, Fault: f.Params}
	if f.On != nil {
		p.When = nemesis.Trigger{Client: f.On.Client, Point: f.On.Point, Nth: f.On.Nth}
	} else if f.At != nil {
		p.When.At = *f.At
	}
	return p
}

// Planned are the faults of a setup as nemesis takes them.
func (s *Setup) Planned() []nemesis.Planned {
	list := make([]nemesis.Planned, len(s.Faults))
	for i := range s.Faults {
		list[i] = s.Faults[i].planned()
	}
	return list
}

func faultNames() []string {
	var list []string
	for _, k := range nemesis.Kinds() {
		list = append(list, k.Name)
	}
	return list
}

// quotedIn is the first quoted word of a message.
func quotedIn(message string) string {
	var word string
	for i := range message {
		if message[i] == '"' {
			if _, err := fmt.Sscanf(message[i:], "%q", &word); err == nil {
				return word
			}
		}
	}
	return ""
}
