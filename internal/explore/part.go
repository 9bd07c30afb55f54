package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Part is what came of some runs of a search: counts, the first violations of each class, and a
// sample of behaviours. Parts of one search can be merged, in any order and in any groups, and are
// written as JSON; they do not say how the search goes on, as a State does.
type Part struct {
	// First is the seed of run 0; Run in Found is counted from there.
	First uint64 `json:"first"`
	// Seeds are those of the runs: ranges in ascending order, of which none touches another.
	Seeds []Seeds `json:"seeds"`
	// Runs to DoubtAt are as in Report. FailedAt, SlowAt and DoubtAt are the runs to which Failure, Slowness and Doubt belong, Run as in
	// Found.
	Runs       uint64 `json:"runs"`
	Drawn      uint64 `json:"drawn"`
	Failed     uint64 `json:"failed,omitempty"`
	Failure    string `json:"failure,omitempty"`
	FailedAt   uint64 `json:"failed_at,omitempty"`
	Unfinished uint64 `json:"unfinished,omitempty"`
	Slow       uint64 `json:"slow,omitempty"`
	Slowness   string `json:"slowness,omitempty"`
	SlowAt     uint64 `json:"slow_at,omitempty"`
	GaveUp     bool   `json:"gave_up,omitempty"`
	Unjudged   uint64 `json:"unjudged,omitempty"`
	Doubt      string `json:"doubt,omitempty"`
	DoubtAt    uint64 `json:"doubt_at,omitempty"`
	// Reasons are as in Report, sorted by property and reason.
	Reasons []Reason `json:"reasons,omitempty"`
	// Faults are as in Report, sorted by kind.
	Faults []KindRuns `json:"faults,omitempty"`
	// Waypoints, Classes and Judged are as in Report, sorted by name.
	Waypoints []Class `json:"waypoints,omitempty"`
	Classes   []Class `json:"classes"`
	Judged    []Class `json:"judged"`
	// Found are the first violations of each class, in the order of their runs.
	Found      []Found  `json:"found"`
	Behaviours distinct `json:"behaviours"`
}

// Seeds are Count seeds, from First on.
type Seeds struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
}

// last is the last of the seeds.
func (s Seeds) last() uint64 { return s.First + s.Count - 1 }

// String is "5 to 9", or "5".
func (s Seeds) String() string {
	if s.Count == 1 {
		return fmt.Sprint(s.First)
	}
	return fmt.Sprintf("%d to %d", s.First, s.last())
}

// ErrOverlap says that parts have a seed in common, but are not the same.
var ErrOverlap = errors.New("parts of a search overlap")

// Merge puts parts of one search together: as long as no schedule depends on earlier runs (Search.Unguided), what comes of it is
// what comes of one search with all of the seeds. It depends neither on the order of the parts nor on how they are
// grouped. A part that is given twice counts once. ErrOverlap: a seed is in parts that differ, or in a merged one and
// one of which that was made.
func Merge(parts ...Part) (Part, error) {
	sorted := slices.Clone(parts)
	slices.SortFunc(sorted, func(a, b Part) int {
		return slices.CompareFunc(a.Seeds, b.Seeds, func(a, b Seeds) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Count, b.Count))
		})
	})
	sorted = slices.CompactFunc(sorted, func(a, b Part) bool { return reflect.DeepEqual(a, b) })
	sorted = slices.DeleteFunc(sorted, func(p Part) bool { return len(p.Seeds) == 0 })
	sum := Part{}
	for i := range sorted {
		p := &sorted[i]
		if i == 0 || p.First < sum.First {
			sum.begin(p.First)
		}
		if err := sum.add(p); err != nil {
			return Part{}, err
		}
	}
	sum.keepFirst()
	return sum, nil
}

// begin counts runs from another first seed on.
func (p *Part) begin(first uint64) {
	move := p.First - first
	p.First = first
	if p.Failed > 0 {
		p.FailedAt += move
	}
	if p.Slow > 0 {
		p.SlowAt += move
	}
	if p.Unjudged > 0 {
		p.DoubtAt += move
	}
	p.Found = slices.Clone(p.Found)
	for i := range p.Found {
		p.Found[i].Run += move
	}
}

// add adds a part whose runs are counted from no earlier seed on.
func (p *Part) add(o *Part) error {
	for _, s := range o.Seeds {
		if err := p.cover(s); err != nil {
			return err
		}
	}
	more := *o
	more.begin(p.First)
	if more.Failed > 0 && (p.Failed == 0 || more.FailedAt > p.FailedAt) {
		p.Failure, p.FailedAt = more.Failure, more.FailedAt
	}
	if more.Slow > 0 && (p.Slow == 0 || more.SlowAt > p.SlowAt) {
		p.Slowness, p.SlowAt = more.Slowness, more.SlowAt
	}
	if more.Unjudged > 0 && (p.Unjudged == 0 || more.DoubtAt > p.DoubtAt) {
		p.Doubt, p.DoubtAt = more.Doubt, more.DoubtAt
	}
	p.Runs += more.Runs
	p.Drawn += more.Drawn
	p.Failed += more.Failed
	p.Unfinished += more.Unfinished
	p.Slow += more.Slow
	p.Unjudged += more.Unjudged
	p.GaveUp = p.GaveUp || more.GaveUp
	for _, reason := range more.Reasons {
		p.reason(reason)
	}
	for _, kind := range more.Faults {
		p.fault(kind)
	}
	for _, list := range []struct{ to, from *[]Class }{
		{&p.Waypoints, &more.Waypoints}, {&p.Classes, &more.Classes}, {&p.Judged, &more.Judged},
	} {
		for _, c := range *list.from {
			add(list.to, c)
		}
	}
	p.Found = append(p.Found, more.Found...)
	p.Behaviours.merge(&more.Behaviours)
	return nil
}

// cover takes note that there were runs with seeds that had none yet.
func (p *Part) cover(s Seeds) error {
	i, _ := slices.BinarySearchFunc(p.Seeds, s.First, func(at Seeds, first uint64) int { return cmp.Compare(at.First, first) })
	if i > 0 && p.Seeds[i-1].last() >= s.First || i < len(p.Seeds) && p.Seeds[i].First <= s.last() {
		return fmt.Errorf("%w: seeds %v", ErrOverlap, s)
	}
	p.Seeds = slices.Insert(p.Seeds, i, s)
	if i+1 < len(p.Seeds) && s.last()+1 == p.Seeds[i+1].First {
		p.Seeds[i].Count += p.Seeds[i+1].Count
		p.Seeds = slices.Delete(p.Seeds, i+1, i+2)
	}
	if i > 0 && p.Seeds[i-1].last()+1 == s.First {
		p.Seeds[i-1].Count += p.Seeds[i].Count
		p.Seeds = slices.Delete(p.Seeds, i, i+1)
	}
	return nil
}

// ran takes note of one run, most often the one after the last.
func (p *Part) ran(seed uint64) {
	if n := len(p.Seeds); n > 0 && p.Seeds[n-1].last()+1 == seed && seed != 0 {
		p.Seeds[n-1].Count++
		return
	}
	_ = p.cover(Seeds{seed, 1}) // a search makes each run once
}

// keepFirst keeps the first violations of each class.
func (p *Part) keepFirst() {
	slices.SortFunc(p.Found, func(a, b Found) int { return cmp.Compare(a.Run, b.Run) })
	kept := make(map[string]int)
	p.Found = slices.DeleteFunc(p.Found, func(f Found) bool {
		kept[f.Class]++
		return kept[f.Class] > keptPerClass
	})
}

// count takes note of a run.
func (p *Part) count(r *result) {
	p.Runs++
	p.ran(r.lineage[len(r.lineage)-1])
	drawn := len(r.lineage) == 1
	if drawn {
		p.Drawn++
	}
	if r.slow != "" {
		p.Slow++
		p.Slowness, p.SlowAt = r.slow, r.run
		if r.failed == nil {
			p.Behaviours.add(r.behaviour)
		}
		return
	}
	if r.failed != nil {
		p.Failed++
		p.Failure, p.FailedAt = r.failed.Error(), r.run
		return
	}
	if r.unfinished {
		p.Unfinished++
	}
	if r.unjudged != "" {
		p.Unjudged++
		p.Doubt, p.DoubtAt = r.unjudged, r.run
	}
	for _, reason := range r.reasons {
		p.reason(reason)
	}
	p.Behaviours.add(r.behaviour)
	for i := range waypoints {
		if r.waypoints>>i&1 != 0 {
			countIn(&p.Waypoints, waypoints[i].words, drawn)
		}
	}
	p.countFaults(r)
	if r.judged != "" {
		countIn(&p.Judged, r.judged, drawn)
	}
	if r.class != "" && countIn(&p.Classes, r.class, drawn) <= keptPerClass {
		p.Found = append(p.Found, r.found())
	}
}

// countIn counts a run in the class of the name, and returns how many there are now.
func countIn(list *[]Class, name string, drawn bool) uint64 {
	one := Class{Name: name, Runs: 1}
	if drawn {
		one.Drawn = 1
	}
	return add(list, one)
}

// add adds the runs of a class to those of its name, and returns how many there are now.
func add(list *[]Class, more Class) uint64 {
	i, ok := slices.BinarySearchFunc(*list, more.Name, func(c Class, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		*list = slices.Insert(*list, i, Class{Name: more.Name})
	}
	c := &(*list)[i]
	c.Runs += more.Runs
	c.Drawn += more.Drawn
	return c.Runs
}

// reason adds runs to those that did not judge a property for a reason.
func (p *Part) reason(more Reason) {
	i, ok := slices.BinarySearchFunc(p.Reasons, more, Reason.compare)
	if !ok {
		p.Reasons = slices.Insert(p.Reasons, i, more)
		return
	}
	p.Reasons[i].Runs += more.Runs
}

func (r *result) found() Found {
	return Found{Run: r.run, Lineage: r.lineage, Seed: r.seed, Class: r.class, Property: r.property, Again: r.again, CutShort: r.cutShort}
}

// confirmedViolations is how many runs violated something; of a lock program's, those of which the nodes confirm it.
func (p *Part) confirmedViolations() (n uint64) {
	for _, c := range p.Classes {
		if confirmed(c.Name) {
			n += c.Runs
		}
	}
	return n
}

// copy is a Part that can be counted on without harm to the first.
func (p *Part) copy() Part {
	out := *p
	out.Seeds, out.Found = slices.Clone(p.Seeds), slices.Clone(p.Found)
	out.Waypoints, out.Classes, out.Judged = slices.Clone(p.Waypoints), slices.Clone(p.Classes), slices.Clone(p.Judged)
	out.Reasons, out.Faults = slices.Clone(p.Reasons), slices.Clone(p.Faults)
	out.Behaviours = p.Behaviours.copy()
	return out
}

// Report sums up.
func (p *Part) Report() Report {
	own := p.copy()
	r := Report{Runs: own.Runs, Drawn: own.Drawn, Failed: own.Failed,
		Failure: own.Failure, Unfinished: own.Unfinished, Slow: own.Slow, Slowness: own.Slowness, GaveUp: own.GaveUp,
		Unjudged: own.Unjudged, Doubt: own.Doubt, Reasons: own.Reasons, Faults: own.Faults,
		Waypoints: own.Waypoints, Behaviours: own.Behaviours.count(),
		Estimated: !own.Behaviours.exact(), Classes: own.Classes, Judged: own.Judged, Found: own.Found}
	slices.SortFunc(r.Waypoints, func(a, b Class) int {
		return cmp.Compare(slices.Index(Waypoints(), a.Name), slices.Index(Waypoints(), b.Name))
	})
	slices.SortFunc(r.Classes, func(a, b Class) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name)) })
	slices.SortStableFunc(r.Found, func(a, b Found) int { return strings.Compare(a.Class, b.Class) })
	return r
}

// Check reports what cannot be true of a part that was read from a file.
func (p *Part) Check() error {
	if damage := p.damage(); damage != "" {
		return fmt.Errorf("a part of a search is damaged: %s", damage)
	}
	return nil
}

// damage is what cannot be true of the part; empty: nothing was found.
func (p *Part) damage() string {
	runs, why := p.checkSeeds()
	if why != "" {
		return why
	}
	if p.Runs != runs || max(p.Drawn, p.Failed, p.Unfinished, p.Slow, p.Unjudged) > runs {
		return "it does not have as many runs as seeds"
	}
	return cmp.Or(p.checkClasses(runs), p.checkFound())
}

// checkSeeds counts the runs, and says what cannot be true of their seeds.
func (p *Part) checkSeeds() (runs uint64, why string) {
	for i, s := range p.Seeds {
		if s.Count == 0 || s.Count-1 > math.MaxUint64-s.First || s.Count > math.MaxUint64-runs {
			return 0, "a range of seeds has no end"
		}
		if i > 0 && (s.First <= p.Seeds[i-1].last() || s.First == p.Seeds[i-1].last()+1) {
			return 0, "its seeds are not in order"
		}
		runs += s.Count
	}
	return runs, ""
}

func (p *Part) checkClasses(runs uint64) string {
	for _, list := range [][]Class{p.Waypoints, p.Classes, p.Judged} {
		for i, c := range list {
			if c.Drawn > c.Runs || c.Runs > runs || i > 0 && c.Name <= list[i-1].Name {
				return "its classes are not in order, or have too many runs"
			}
		}
	}
	byKind := func(a, b KindRuns) int { return strings.Compare(a.Kind, b.Kind) }
	tooMany := func(k KindRuns) bool { return k.Began > k.Planned || k.Planned > runs }
	if !slices.IsSortedFunc(p.Faults, byKind) || slices.ContainsFunc(p.Faults, tooMany) {
		return "its kinds of faults are not in order, or have too many runs"
	}
	ascending := slices.IsSortedFunc(p.Reasons, Reason.compare)
	if !ascending || slices.ContainsFunc(p.Reasons, func(r Reason) bool { return r.Runs == 0 || r.Runs > runs }) {
		return "its reasons are not in order, or have too many runs"
	}
	return ""
}

func (p *Part) checkFound() string {
	kept := make(map[string]int)
	for _, f := range p.Found {
		kept[f.Class]++
		if len(f.Lineage) == 0 || len(f.Lineage) > mostGenerations || f.Lineage[len(f.Lineage)-1] != p.First+f.Run {
			return "a schedule has another origin than its run"
		}
		if kept[f.Class] > keptPerClass || !slices.ContainsFunc(p.Classes, func(c Class) bool { return c.Name == f.Class }) {
			return "its violations are in no class, or too many"
		}
	}
	return ""
}
