package audit

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// question is a cell before it has an answer: one scenario, put to one lock.
type question struct {
	id, title string
	guarantee scenario.Guarantee
	// scenario has the variants that ask it; none: notApplicable says why.
	scenario      *scenario.Scenario
	notApplicable string
}

// Cases are the scenarios that put a guarantee to the test, in the order of the guarantees and then
// of their names.
func Cases(list []*scenario.Scenario) []*scenario.Scenario {
	cases := slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool { return s.Guarantee == scenario.NoGuarantee })
	order := scenario.Guarantees()
	slices.SortFunc(cases, func(a, b *scenario.Scenario) int {
		return cmp.Or(slices.Index(order, a.Guarantee)-slices.Index(order, b.Guarantee), cmp.Compare(a.Name, b.Name))
	})
	return cases
}

// battery are the questions for a lock.
func battery(list []*scenario.Scenario, own *scenario.StandIn) (all []question) {
	for _, s := range Cases(list) {
		all = append(all, ask(s, own))
	}
	return all
}

// ask chooses the variants of a scenario that ask something of a lock: of those that do not
// differ but in settings of the scenario's own lock one, rather one that demands something.
func ask(s *scenario.Scenario, own *scenario.StandIn) question {
	q := question{id: ID(s), title: s.Title, guarantee: s.Guarantee}
	if own.Program == nil && !slices.ContainsFunc(s.Guarantee.DecidedBy(), func(p checker.Property) bool { return !p.OfPrograms() }) {
		q.notApplicable = "it is asked of lock programs alone"
		return q
	}
	var chosen, alike []scenario.Variant
	for _, wanted := range []card.State{card.Kept, card.ByDesign} {
		for i := range s.Variants {
			v := s.Variants[i].With(own)
			if why := own.NotApplicable(&v.Setup); why != "" {
				q.notApplicable = cmp.Or(q.notApplicable, why)
				continue
			}
			v.Setup.Lock = lock.Config{Program: v.Setup.Lock.Program, Key: v.Setup.Lock.Key, TTL: v.Setup.Lock.TTL,
				NodeTimeout: v.Setup.Lock.NodeTimeout, Retry: v.Setup.Lock.Retry, Permits: v.Setup.Lock.Permits, AtLeast: v.Setup.Lock.AtLeast}
			isAlike := func(o scenario.Variant) bool { return reflect.DeepEqual(o.Setup, v.Setup) }
			if asks(s.Guarantee, &v) != wanted || slices.ContainsFunc(alike, isAlike) {
				continue
			}
			alike, chosen = append(alike, v), append(chosen, s.Variants[i])
		}
	}
	if len(chosen) == 0 {
		q.notApplicable = cmp.Or(q.notApplicable, "it asks nothing of a lock of class "+string(own.Ready.Class))
		return q
	}
	q.notApplicable = ""
	q.scenario = with(s, chosen)
	return q
}

// ID names the case that a scenario is.
func ID(s *scenario.Scenario) string { return string(s.Guarantee) + "/" + s.Name }

// with is a scenario with some of its variants.
func with(s *scenario.Scenario, variants []scenario.Variant) *scenario.Scenario {
	few := *s
	few.Variants = variants
	return &few
}

// asks says what a variant asks of the lock in its place: kept, or by design where it asks
// nothing because no lock of its class can keep it; empty: it is about something else.
func asks(g scenario.Guarantee, v *scenario.Variant) card.State {
	p := g.Decides(v)
	switch {
	case p == "", !g.IsAbout(&v.Setup):
		return ""
	case v.Expected(p) == checker.Holds:
		return card.Kept
	case g.ByDesign() != "" && (v.ByDesign(p) || g.Always()):
		return card.ByDesign
	}
	return ""
}
