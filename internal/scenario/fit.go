package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// What one part of a setup says must make sense beside the others: a setting that
// nobody reads, or that turns everything away, is a mistake.

// maxAppends bounds appends, each of which carries the whole list; maxTransactions
// appends to two lists, which every look reads as a whole.
const (
	maxAppends      = 3000
	maxTransactions = 5000
)

// checkFit makes sure that workload, resource and fence fit each other.
func (d *decoder) checkFit(s *Setup) {
	d.checkWorkload(s)
	d.checkFence(s)
	d.checkGuard(s)
	if s.Lock.Switches.TokenAfterGrant || s.Fencing.Tokens.Drawn() {
		return
	}
	d.problemAt("lock.switches.token_after_grant", "no token is drawn beside the lock: fencing.tokens is %s", s.Fencing.Tokens)
}

func (d *decoder) checkWorkload(s *Setup) {
	w := &s.Workload
	foreign := func(set bool, key, owner string) {
		if set && w.Kind != owner {
			d.problemAt("workload."+key, "%s is a setting of the workload %s, not of %s", key, owner, w.Kind)
		}
	}
	foreign(w.Conditional, "conditional", "stock")
	foreign(w.How != resource.InTransaction, "how", "transactions")
	foreign(w.Skew != 0, "skew", "jobs")
	foreign(w.Hold != 0, "hold", "jobs")
	if want := s.defaultKind(); s.Resource.Kind != want {
		d.problemAt("resource.kind", "the workload %s needs a %s", w.Kind, want)
	}
	if s.Resource.Initial != 0 && slices.Contains([]string{"append", "jobs", "transactions"}, w.Kind) {
		d.problemAt("resource.initial", "the workload %s begins with nothing", w.Kind)
	}
	if w.Check && (w.Conditional || w.Kind == "transactions") {
		d.problemAt("workload.check_before_write", "the workload has no separate write before which to check")
	}
	switch n := w.Clients * w.Sections; {
	case w.Kind == "append" && n > maxAppends:
		d.problemAt("workload.sections", "clients: %d and sections: %d make more than %d appends to one list", w.Clients, w.Sections, maxAppends)
	case w.Kind == "transactions" && n > maxTransactions:
		d.problemAt("workload.sections", "clients: %d and sections: %d make more than %d appends to two lists", w.Clients, w.Sections, maxTransactions)
	}
}

// checkFence refuses fences that would turn every access away, or never be asked.
func (d *decoder) checkFence(s *Setup) {
	w, check := &s.Workload, s.Fencing.Check
	switch {
	case check == resource.NoFence && s.Fencing.Tokens == lock.NoTokens:
	case w.Kind == "transactions":
		d.problemAt("fencing", "transactions do not go through the fence")
	case check == resource.NoFence:
	case check == resource.LockOwner && (s.Lock.Algorithm == "none" || s.Lock.Algorithm == "linearizable"):
		d.problemAt("fencing.check", "%s keeps no key on the node: everything would be refused", s.Lock.Algorithm)
	case check != resource.LockOwner && s.Fencing.Tokens == lock.NoTokens:
		d.problemAt("fencing.check", "%s refuses everything without tokens", check).Hint = "fencing: {tokens: quorum-counter}"
	case check == resource.CompareAndSet && (w.Kind == "jobs" || w.Conditional):
		d.problemAt("fencing.check", "compare-and-set needs a read before the write, which stores the token: otherwise everything is refused")
	case check == resource.CheckThenWrite && w.Conditional:
		d.problemAt("fencing.check", "a conditional sale is one step")
	}
}

// checkGuard refuses a WATCH that would watch nothing, or not long enough.
func (d *decoder) checkGuard(s *Setup) {
	if s.Resource.Guard != resource.Watching {
		return
	}
	w := &s.Workload
	if !slices.Contains([]string{"increment", "append", "stock", "side-effect"}, w.Kind) || w.Conditional {
		d.problemAt("resource.guard", "watch guards one read and one write after it, which the workload %s does not have", w.Kind)
	}
	if s.Fencing.Check == resource.CheckThenWrite {
		d.problemAt("resource.guard", "the check of the token would use up the watch")
	}
}
