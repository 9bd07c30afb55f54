package scenario

import (
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// What one part of a setup says must make sense beside the others: a setting that
// nobody reads, or that turns everything away, is a mistake.

// checkFit makes sure that workload, resource and fence fit each other.
func (d *decoder) checkFit(s *Setup) {
	d.checkWorkload(s)
	d.checkFence(s)
	d.checkGuard(s)
	made := s.Lock.Mistakes
	for rule, broken := range map[string]bool{"token_after_grant": made.TokenFirst, "token_in_time": made.LateToken} {
		if broken && !s.Fencing.Tokens.Drawn() && d.Sound("fencing.tokens") {
			d.ProblemAt("lock.switches."+rule, "no token is drawn beside the lock: fencing.tokens is %s", s.Fencing.Tokens)
		}
	}
	if made.TokenFirst && made.LateToken {
		d.ProblemAt("lock.switches.token_in_time", "no token is drawn after the grant: token_after_grant is switched off, too")
	}
}

func (d *decoder) checkWorkload(s *Setup) {
	if !d.Sound("workload.kind") {
		return
	}
	p, w := &s.Workload, s.Workload.Workload()
	set := map[string]bool{"conditional": p.Conditional, "how": p.How != resource.InTransaction, "skew": p.Skew != 0, "hold": p.Hold != 0}
	for _, other := range workload.Names() {
		for _, key := range workload.Of(other).Settings {
			if set[key] && other != w.Name {
				d.ProblemAt("workload."+key, "%s is a setting of the workload %s, not of %s", key, other, w.Name)
			}
		}
	}
	if s.Resource.Kind != w.Resource {
		d.ProblemAt("resource.kind", "the workload %s needs a %s", w.Name, w.Resource)
	}
	if s.Resource.Initial != 0 && w.Empty {
		d.ProblemAt("resource.initial", "the workload %s begins with nothing", w.Name)
	}
	if p.Check && (p.Conditional || w.Pair) && d.Sound("workload.conditional") {
		d.ProblemAt("workload.check_before_write", "the workload has no separate write before which to check")
	}
	if w.Most > 0 && p.Clients*p.Sections > w.Most && d.Sound("workload.clients") {
		d.ProblemAt("workload.sections", "clients: %d and sections: %d make more than %d %s", p.Clients, p.Sections, w.Most, w.MostOf)
	}
}

// checkFence refuses fences that would turn every access away, or never be asked.
func (d *decoder) checkFence(s *Setup) {
	p, check := &s.Workload, s.Fencing.Check
	if !d.Sound("lock.algorithm", "workload.kind", "workload.conditional", "fencing") {
		return
	}
	if p.Workload().Pair && (check != resource.NoFence || s.Fencing.Tokens != lock.NoTokens) {
		d.ProblemAt("fencing", "%s do not go through the fence", p.Kind)
		return
	}
	if check == resource.NoFence {
		return
	}
	switch {
	case check == resource.LockOwner && (s.Lock.Algorithm == "none" || s.Lock.Algorithm == "linearizable"):
		d.ProblemAt("fencing.check", "%s keeps no key on the node: everything would be refused", s.Lock.Algorithm)
	case check != resource.LockOwner && s.Fencing.Tokens == lock.NoTokens:
		d.ProblemAt("fencing.check", "%s refuses everything without tokens", check).Hint = "fencing: {tokens: quorum-counter}"
	case check == resource.CompareAndSet && !p.ReadsFirst():
		d.ProblemAt("fencing.check", "compare-and-set needs a read before the write, which stores the token: otherwise everything is refused")
	case check == resource.CheckThenWrite && p.Conditional:
		d.ProblemAt("fencing.check", "a conditional sale is one step")
	}
}

// checkGuard refuses a WATCH that would watch nothing, or not long enough.
func (d *decoder) checkGuard(s *Setup) {
	if s.Resource.Guard != resource.Watching {
		return
	}
	if p := &s.Workload; d.Sound("workload.kind", "workload.conditional") && (p.Workload().Reads != 1 || p.Conditional) {
		d.ProblemAt("resource.guard", "watch guards one read and one write after it, which the workload %s does not have", p.Kind)
	}
	if s.Fencing.Check == resource.CheckThenWrite && d.Sound("fencing.check") {
		d.ProblemAt("resource.guard", "the check of the token would use up the watch")
	}
}
