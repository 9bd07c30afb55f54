package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Real says how to search where real servers take part, and maybe lock programs: runs may fail, and what a program says is no proof.
type Real struct {
	// Commands are names of those that clients send to nodes: faults strike messages of these kinds, too.
	Commands []string
	// Wakes: a release wakes those who wait. Faults strike what nodes push, too.
	Wakes bool
	// Own: the lock is one of ours, and its word is believed.
	Own bool
}

// mostFailures is how many runs may fail one after the other.
const mostFailures = 20

// inRow is how many runs failed one after the other: those for which the machine was too slow, and the others.
type inRow struct{ slow, others int }

// count counts a run, and says why the search must end if too many failed.
func (n *inRow) count(r *result) error {
	switch {
	case r.failed == nil:
		*n = inRow{}
		return nil
	case r.slow != "":
		n.slow++
	default:
		n.others++
	}
	if n.slow == mostFailures {
		return errTooSlow
	}
	if n.others == mostFailures {
		return &LockError{fmt.Errorf("%d runs failed one after the other, the last: %w", mostFailures, r.failed)}
	}
	return nil
}

// errTooSlow says that the machine is too slow for one run after the other.
var errTooSlow = errors.New("the machine is too slow")

// SlowError says that the machine is too slow for a search.
type SlowError struct{ Why string }

func (e *SlowError) Error() string {
	return "this machine is too slow for a run without faults: " + e.Why
}

// LockError says that a lock cannot be searched: runs with it fail, or show nothing.
type LockError struct{ Err error }

func (e *LockError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *LockError) Unwrap() error { return e.Err }

// Commands makes a run without faults, and returns the names of the commands that clients sent to
// nodes, also with a LockError.
func (s Search) Commands(ctx context.Context) ([]string, error) {
	setup, err := s.setup()
	if err != nil {
		return nil, err
	}
	b := s.bench(ctx)
	defer b.close()
	setup.Commands, setup.Faults.List = true, nil
	out, err := b.place.Run(ctx,
		runner.Config{Scenario: b.name, Variant: scenario.Variant{Name: scenario.DefaultVariant, Setup: *setup}, Seed: s.First})
	switch {
	case err != nil && out.TooSlow != "":
		return nil, &SlowError{out.TooSlow}
	case err != nil:
		return nil, &LockError{fmt.Errorf("a run without faults failed: %w", err)}
	case out.Interrupted:
		return nil, context.Canceled
	}
	var names []string
	granted, seen := false, out.History.Header.Program == ""
	for i := range out.History.Events {
		e := &out.History.Events[i]
		granted = granted || e.F == history.Acquire && e.Type == history.OK
		seen = seen || e.F == history.KeySet || e.F == history.KeyUnclear
		if c := e.Value.Command(); e.F == history.Sent && c != nil && !c.Opens {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case !granted && out.TooSlow != "":
		return nil, &SlowError{out.TooSlow}
	case !granted:
		return names, &LockError{errors.New("in a run without faults nobody was granted the lock")}
	case !seen:
		return names, &LockError{errors.New("in a run without faults the lock was granted, but no node saw one of its keys: " +
			"nothing that it does could be judged. The program must tell the keys that it writes (keys, in ready)")}
	}
	return names, nil
}

// wordAlone marks a class of which the nodes confirm no property: the lock's word alone is no proof.
const wordAlone = ", by the lock's word alone"

// unconfirmed are the properties that a lock program violated and the nodes do not confirm.
func unconfirmed(findings []checker.Finding, h *history.History) (list []checker.Property) {
	for i := range findings {
		f := &findings[i]
		if h.Header.Program == "" || f.Verdict != checker.Violated {
			continue
		}
		if ok, _ := checker.Confirmed(h, f.Property, f.Counterexample); !ok {
			list = append(list, f.Property)
		}
	}
	return list
}

// Confirmed reports that the nodes confirm what was found, or that the lock is one of ours.
func (f *Found) Confirmed() bool { return confirmed(f.Class) }

func confirmed(class string) bool { return !strings.HasSuffix(class, wordAlone) }

// shows reports that a property was violated, and confirmed by the nodes if that is wanted.
func (v *verdicts) shows(p checker.Property, confirmed bool) bool {
	return v.violated(p) && (!confirmed || !slices.Contains(v.doubted, p))
}
