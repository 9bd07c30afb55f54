package scenario

import (
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// ttlUnit is the unit of times that are so many ttls of the lock.
const ttlUnit = "ttl"

// noTTL stands for a lock without one.
const noTTL = "none"

// variant decodes the settings of one variant. It remembers those that have times in ttls: a lock that cannot have the ttl may have
// another one.
func (d *decoder) variant(n *yaml.Node, v *Variant) {
	if d.setup(n, &v.Setup); d.UsedUnit {
		v.settings = n
	}
}

// ttlOf is the ttl that settings say, 0 for none; else it is the given one, also where there is a mistake, of which
// somebody else complains.
func (d *decoder) ttlOf(n *yaml.Node, standard time.Duration) time.Duration {
	for _, key := range []string{"lock", "ttl"} {
		if n = d.Resolve(n); n.Kind != yaml.MappingNode {
			return standard
		}
		if n = yamlform.ValueOf(n, key); n == nil {
			return standard
		}
	}
	if d.Resolve(n).Value == noTTL {
		return 0
	}
	if t, err := time.ParseDuration(d.Resolve(n).Value); err == nil && t > 0 {
		return t
	}
	return standard
}

// fittingTTL is the least ttl that a lock can have, and that is not shorter than the given one.
func fittingTTL(ttl time.Duration, r *program.Ready) time.Duration {
	if ttl == 0 { // it is to have none
		return 0
	}
	ttl = max(ttl, program.Duration(r.TTLMin))
	if step := program.Duration(r.TTLStep); step > 0 && ttl%step != 0 {
		ttl += step - ttl%step
	}
	return ttl
}

// Fit gives the variant a ttl that the lock can have, where it says times in ttls. What is left of its faults is left of them then.
// A variant of which something else was changed stays as it is.
func (v Variant) Fit(r *program.Ready) Variant {
	ttl := fittingTTL(v.Setup.Lock.TTL, r)
	if v.settings == nil || ttl == v.Setup.Lock.TTL {
		return v
	}
	if was, ok := v.read(v.Setup.Lock.TTL); !ok || !reflect.DeepEqual(withoutFaults(was), withoutFaults(v.Setup)) {
		return v
	}
	fitted, ok := v.read(ttl)
	if !ok {
		return v
	}
	isLeft := func(f Fault) bool {
		return slices.ContainsFunc(v.Setup.Faults.List, func(left Fault) bool { return left.path == f.path })
	}
	fitted.Faults.List = slices.DeleteFunc(fitted.Faults.List, func(f Fault) bool { return !isLeft(f) })
	fitted.Faults.Mix = v.Setup.Faults.Mix
	v.Setup = fitted
	return v
}

// read decodes the variant's settings with a ttl.
func (v Variant) read(ttl time.Duration) (s Setup, ok bool) {
	word := func(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
	mapping := func(key string, value *yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{word(key), value}}
	}
	d := &decoder{}
	d.setup(yamlform.Merge(v.settings, mapping("lock", mapping("ttl", word(ttl.String()))), reflect.TypeFor[Setup]()), &s)
	return s, len(d.Problems()) == 0
}

func withoutFaults(s Setup) Setup {
	s.Faults = Faults{}
	return s
}
