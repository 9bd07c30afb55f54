package naive

import (
	"math"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// step is one section, or a read outside sections, as it must fit into one order of all.
type step struct {
	// call and ret bound it; a step that may have taken no effect, or at any time
	// later, has ret forever and is not certain.
	call, ret int64
	certain   bool
	// reads and writes say whether it does; then it saw before (a list: saw) and left
	// after, or took so many units.
	reads, writes, takes bool
	before, after        int64
	saw                  []int64
}

// state is a part of the resource. Nothing is known of it before the first look at it where
// the history does not say what was there.
type state struct {
	number int64
	known  bool
	list   []int64
}

// mostSteps bounds the search; the naive judge has no opinion of more.
const mostSteps = 12

// linearizableResource: "Each guarded section is one atomic step: from what it read to
// what it wrote, invoked when its read was sent and completed when its write was answered.
// There is an order of all sections that agrees with their times and explains what each of
// them read. Parts of the resource (`key`) are judged separately."
func (t *terms) linearizableResource() answer {
	if !slices.Contains([]string{"increment", "register", "append", "stock", "jobs"}, t.header.Workload) {
		return noOpinion
	}
	var keys []string
	for _, p := range t.ops {
		if p.f == history.Read || changes(p.f) {
			keys = append(keys, p.key)
		}
	}
	slices.Sort(keys)
	violated, completed, met := false, false, false
	for _, key := range slices.Compact(keys) {
		steps, plain := t.steps(key)
		if !plain || len(steps) > mostSteps {
			return noOpinion
		}
		for _, s := range steps {
			completed = completed || s.certain && s.writes
		}
		met = met || t.met(key)
		if t.header.Workload == "jobs" {
			if slices.ContainsFunc(steps, func(s step) bool { return s.reads && !s.writes }) {
				return noOpinion // nobody looks at jobs
			}
			violated = violated || twice(steps)
		} else {
			violated = violated || !t.explain(steps, state{number: t.header.Initial.V(), known: t.header.Initial.IsSet()})
		}
	}
	// "Chances: completed sections that met a section of another client with the same `key`. In the workload jobs
	// the chances are the completed sections, if the resource answered at least two clients, or if
	// exclusive-belief had chances."
	if t.header.Workload != "jobs" {
		return found(violated, met)
	}
	came := map[string]bool{}
	for _, p := range t.ops {
		if (p.f == history.Read || changes(p.f)) && p.outcome != history.Info {
			came[p.client] = true
		}
	}
	return found(violated, completed && (len(came) > 1 || t.contended(oneHold(t.believed()))))
}

// met reports that a completed section that read or took something met one of another client: "Two sections met if
// their visits share more than one instant. Reads outside a section are neither."
func (t *terms) met(key string) bool {
	sections := t.sections(key)
	for _, of := range sections {
		s, some, _ := t.section(of)
		if !some || !s.certain || !s.writes || !s.reads {
			continue
		}
		for _, other := range sections {
			if other[0].client == of[0].client || len(other) == 1 && other[0].section == 0 && other[0].f == history.Read {
				continue
			}
			a, b := t.visit(of), t.visit(other)
			if max(a.from, b.from) < min(a.to, b.to) {
				return true
			}
		}
	}
	return false
}

// visit: "It begins when the client asked for the lock: with the invocation of the `acquire` (of a re-entry: of the outermost
// grant) of a grant under which the client did the section's first operation, if its belief was still open then;
// otherwise with that operation. It ends with the last invocation, or answer `ok` or `fail`, of the section's operations. If
// a write has an unknown outcome, it never ends."
func (t *terms) visit(of []*op) stretch {
	x := stretch{of[0].call, math.MinInt64}
	for _, g := range t.actsUnder(of[0]) {
		if g.ended < of[0].invoked {
			continue
		}
		for g.outer != nil {
			g = g.outer
		}
		x.from = min(x.from, g.call)
	}
	for _, p := range of {
		x.to = max(x.to, p.call)
		if p.outcome != history.Info {
			x.to = max(x.to, p.ret)
		} else if changes(p.f) {
			x.to = forever
		}
	}
	return x
}

// twice: "each tick at most once".
func twice(steps []step) bool {
	for i, a := range steps {
		for _, b := range steps[:i] {
			if a.certain && b.certain && a.writes && b.writes && a.after == b.after {
				return true
			}
		}
	}
	return false
}

// steps are the steps on a part of the resource; false: they are not plain.
func (t *terms) steps(key string) (list []step, plain bool) {
	for _, of := range t.sections(key) {
		if of[0].section == 0 && of[0].f == history.CAS {
			return nil, false
		}
		if len(of) == 1 && of[0].section == 0 && of[0].f == history.Read {
			// "Each read outside a section (section 0) is a step of its own."
			if of[0].outcome == history.OK {
				if t.header.Workload != "append" && !of[0].said.Number.IsSet() {
					return nil, false
				}
				list = append(list, t.look(of[0], step{call: of[0].call, ret: of[0].ret, certain: true}))
			}
			continue
		}
		s, some, plain := t.section(of)
		if !plain {
			return nil, false
		}
		if some {
			list = append(list, s)
		}
	}
	return list, true
}

// sections are the operations of each section: "The operations of one client with the same
// `section` and `key` are one section. A write without a section belongs to the client's last
// read of that key that no write belongs to yet."
func (t *terms) sections(key string) (list [][]*op) {
	for _, p := range t.ops {
		if p.key != key || p.f != history.Read && !changes(p.f) {
			continue
		}
		at := -1
		for i, of := range list {
			switch q := of[0]; {
			case q.client != p.client || q.section != p.section:
			case p.section != 0:
				at = i
			case p.f == history.Write && q.f == history.Read && len(of) == 1:
				at = i
			}
		}
		if at < 0 {
			list = append(list, []*op{p})
			continue
		}
		list[at] = append(list[at], p)
	}
	return list
}

func (t *terms) look(p *op, s step) step {
	s.reads, s.before, s.saw = true, p.said.Number.V(), p.said.List()
	return s
}

// section makes one step of the operations of a section; none where it wrote nothing.
func (t *terms) section(of []*op) (s step, some, plain bool) {
	var read, write *op
	var first *op
	for _, p := range of {
		if changes(p.f) && first == nil {
			first = p
		}
		// "Several writes of one section count as one: the last one answered `ok`, or else the
		// last one of unknown outcome. A section whose write was refused does not count. Nor
		// does a section that read and never wrote."
		if changes(p.f) && p.outcome != history.Fail && (write == nil || p.outcome == history.OK || write.outcome != history.OK) {
			write = p
		}
	}
	if write == nil {
		return s, false, true
	}
	// "The section read what its last `ok` read before its first write saw."
	for _, p := range of {
		if p.f == history.Read && p.outcome == history.OK && p.answered < first.invoked {
			read = p
		}
	}
	// "Invoked when its read was sent, or its first write if it read nothing."
	s = step{call: first.call, ret: write.ret, certain: true, writes: true, after: write.number().V()}
	if read != nil {
		s = t.look(read, s)
		s.call = read.call
		if t.header.Workload != "append" && !read.said.Number.IsSet() {
			return s, false, false
		}
	}
	// "A section whose write has an unknown outcome may have taken effect at any time since
	// it was invoked, or not at all."
	if write.outcome != history.OK {
		s.ret, s.certain = forever, false
	}
	if write.f == history.CAS {
		return t.cas(s, write, read)
	}
	return s, true, write.number().IsSet()
}

// cas makes a step of units taken in one step: "A `cas` found what was `expected` and left
// its `number`. If a `cas` has no answer, the resource's log may tell what it left; it
// then found that number plus the units that were wanted. If the log does not tell, the
// `cas` may have taken them at any time at which there were enough."
func (t *terms) cas(s step, write, read *op) (_ step, some, plain bool) {
	if read != nil || t.header.Workload != "stock" {
		return s, false, false
	}
	s.reads, s.before, s.after = true, write.said.Expected().V(), write.said.Number.V()
	if write.outcome == history.OK {
		return s, true, write.said.Expected().IsSet() && write.said.Number.IsSet()
	}
	var told []int64
	for _, e := range t.events {
		if accepted(&e) && nameOf(&e) == write.name() {
			told = append(told, e.Value.Number.V())
		}
	}
	wanted := write.asked.Number
	if len(told) > 0 {
		s.before, s.after = told[0]+wanted.V(), told[0]
		others := slices.ContainsFunc(t.ops, func(p *op) bool { return p != write && p.name() == write.name() })
		return s, true, wanted.IsSet() && len(told) == 1 && !others
	}
	s.reads, s.writes, s.takes, s.after = false, false, true, wanted.V()
	return s, true, wanted.IsSet()
}

// explain looks for an order of the steps by trying all.
func (t *terms) explain(steps []step, now state) bool {
	if !slices.ContainsFunc(steps, func(s step) bool { return s.certain }) {
		return true
	}
	for i, s := range steps {
		// In agreement with time: what was completed before another was invoked comes first.
		if slices.ContainsFunc(steps, func(other step) bool { return other.certain && other.ret < s.call }) {
			continue
		}
		next, possible := s.follow(now, t.header.Workload)
		if possible && t.explain(slices.Delete(slices.Clone(steps), i, i+1), next) {
			return true
		}
	}
	return false
}

// follow is what a step makes of a state; false: it cannot come now.
func (s step) follow(now state, workload string) (state, bool) {
	if workload == "append" {
		if s.reads && !slices.Equal(s.saw, now.list) {
			return now, false
		}
		if s.writes {
			now.list = append(slices.Clone(now.list), s.after)
		}
		return now, true
	}
	if s.reads && now.known && s.before != now.number {
		return now, false
	}
	if s.reads {
		now.number, now.known = s.before, true
	}
	if s.takes {
		return state{number: now.number - s.after, known: now.known}, !now.known || now.number >= s.after
	}
	if s.writes {
		now.number, now.known = s.after, true
	}
	// "stock, never negative"
	return now, workload != "stock" || !s.writes || s.after >= 0
}
