package checker_test

import (
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// A key that an earlier run has left is held against nobody: c1 deletes it, and nobody knows whose it was.
func TestAKeyOfAnEarlierRunIsHeldAgainstNobody(t *testing.T) {
	properties := []checker.Property{checker.OwnerRelease, checker.BackedGrant, checker.ExclusiveLease, checker.NoOrphanLock}
	for _, carried := range []bool{false, true} {
		h := &history.History{Header: history.Header{Lock: "x", LockKey: "lock", Clients: []string{"c1"}, Nodes: []string{"A"},
			TTL: 1e9, Carried: carried}}
		add := func(process string, kind history.Type, f history.F, v history.Value) {
			h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Process: process, Type: kind, F: f, Value: v})
		}
		add("A", history.Info, history.KeySet, history.Value{Key: "lock", Owner: "other", Client: map[bool]string{false: "c2"}[carried]})
		add(history.RunProcess, history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseSafety}})
		add("c1", history.Invoke, history.Acquire, history.Value{Section: 1})
		add("c1", history.OK, history.Acquire, history.Value{Section: 1, Owner: "mine",
			Grant: &history.Grant{Nodes: []string{"A"}, ValidUntil: history.Some(1)}})
		add("c1", history.Invoke, history.Release, history.Value{Section: 1})
		add("A", history.Info, history.KeyDeleted, history.Value{Key: "lock", Owner: "other", Client: "c1"})
		add("c1", history.OK, history.Release, history.Value{Section: 1, Owner: "mine"})
		add(history.RunProcess, history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseDone}})
		slow := naive.Judge(h, properties, checker.Options{})
		for _, f := range checker.Judge(t.Context(), h, properties, checker.Options{}) {
			if f.Verdict != slow[f.Property] {
				t.Errorf("carried %v: %s is %v, and naively %v", carried, f.Property, f.Verdict, slow[f.Property])
			}
			if keys := f.Property != checker.ExclusiveLease; keys && carried && f.Verdict != checker.Unknown {
				t.Errorf("%s is %v where keys were there from the start", f.Property, f.Verdict)
			}
			wrong := slices.Contains([]checker.Property{checker.OwnerRelease, checker.BackedGrant}, f.Property)
			if !carried && wrong && f.Verdict != checker.Violated {
				t.Errorf("%s is %v: %s", f.Property, f.Verdict, f.Why)
			}
		}
	}
}
