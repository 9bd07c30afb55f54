package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// cardOf is the card of built-in locks in the virtual world.
func cardOf(t *testing.T, scenarios []*scenario.Scenario, locks ...lock.Config) *card.Card {
	t.Helper()
	o := Options{Scenarios: scenarios, Jobs: 2, Begin: func(string, string) {},
		End: func(string, string) {}, Phase: func(string, string, string, string) {},
		Trial: trial.Options{Seed: 1, World: request.Virtual, Out: t.TempDir(), Now: time.Now}}
	for _, c := range locks {
		own := scenario.NewBuiltIn(c, "")
		programs, err := trial.Greet(t.Context(), nil, own, request.Virtual)
		if err != nil {
			t.Fatal(err)
		}
		o.Locks = append(o.Locks, Lock{Label: own.Ready.Name, StandIn: own, Programs: programs})
	}
	made, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// inState are the cells of a lock in a state.
func inState(l *card.Lock, s card.State) (list []string) {
	for i := range l.Cells {
		if c := &l.Cells[i]; c.State == s {
			list = append(list, c.ID)
		}
	}
	return list
}

// audited are the built-in locks, with mistakes, and what these cost: these guarantees and no
// other.
var audited = []struct {
	algorithm, rule string
	loses           []string
}{
	{"redlock", "", nil},
	{"redlock", "quorum", []string{"unreachable-minority", "memory-loss"}}, // a node that restarts is one that it needs
	{"redlock", "recheck_elapsed", []string{"late-messages"}},
	// It deletes the holder's key whenever it asks and is refused.
	{"redlock", "release", []string{"exclusive", "owner-only", "told-at-release"}},
	{"redlock", "node_error", []string{"dead-minority", "hung-node"}},
	// A nested section that is refused takes back what the one around it has set.
	{"redlock", "value", []string{"exclusive", "late-release"}},
	{"redlock", "token_after_grant", []string{"fencing"}},
	{"redlock", "clean_up", []string{"lost-release", "progress"}}, // an attempt that is cancelled leaves its key
	{"redlock", "release_answer", []string{"told-at-release"}},
	{"redlock", "extend_enough", []string{"no-false-alarm"}},
	// It asks one node after the other on a card, and looks at each answer.
	{"redlock", "release_at", nil},
	{"redlock", "bounded_wait", []string{"unreachable-minority", "hung-node", "comes-back"}}, // what it waits for uses up its validity
	{"redlock-extend", "", nil},
	{"redlock-extend", "extend", []string{"no-resurrection"}},
	{"redlock-extend", "extend_needs_quorum", []string{"told-when-lost"}}, // it believes in renewals that failed
	{"redlock-extend", "extend_enough", []string{"no-false-alarm"}},
	// It renews what it could not release, so nobody comes back.
	{"redlock-extend", "stop_renewal", []string{"comes-back", "lost-release", "progress"}},
	{"redlock-extend", "renewal", []string{"stays-held"}},
	{"redlock-extend", "own_thread", []string{"stays-held"}},
	{"set-nx-px", "", nil},
	{"set-nx-px", "release", []string{"late-release", "owner-only", "told-at-release"}}, // it has deleted somebody's key, and says so
	{"set-nx-px", "release_answer", []string{"told-at-release"}},
	{"set-nx-px", "value_from", []string{"owner-only", "progress"}}, // who is cancelled takes the key of the other back
	{"set-nx-px", "cancel", []string{"progress"}},
	{"set-nx-px", "token_in_time", []string{"fencing"}},
	{"set-nx-px", "give_up", []string{"exclusive", "sentinel", "at-most-once"}}, // who waits in vain while the primary is down enters, too
	{"set-nx-px", "bounded_wait", []string{"comes-back"}},
	{"set-nx-wait", "", nil},
	{"set-nx-wait", "check_wait", nil}, // no lock on a replicated node keeps failover: that is by design
	{"set-nx-wait-pooled", "", nil},
	{"set-nx-waitaof", "", nil},
	{"set-nx-waitaof", "check_wait", nil}, // what shows it is no case of a card
	{"watchdog", "", nil},
	{"watchdog", "extend", []string{"paused-holder", "no-resurrection"}},
	{"watchdog", "stop_renewal", []string{"comes-back", "lost-release", "progress"}},
	{"watchdog", "renewal", []string{"stays-held"}},
	{"watchdog", "renewal_keeps", []string{"exclusive", "stays-held"}},
	{"watchdog", "renewal_ttl", []string{"exclusive", "stays-held"}},
	// It takes the key of the next holder, and sets one that is gone.
	{"watchdog", "renewal_compares", []string{"paused-holder", "failover", "owner-only", "no-resurrection"}},
	{"watchdog", "renewal_retries", nil}, // what stays is on a link, which excuses the loss
	{"watchdog", "own_thread", []string{"stays-held"}},
	{"watchdog-blind", "", []string{"owner-only"}}, // it renews the key of the next holder, and believes it its own
	{"set-ifeq", "", nil},
	{"set-ifeq", "renewal_ends", []string{"lost-release", "progress"}},
	{"hash-field", "", nil},
	{"hash-field", "renewal_ends", []string{"lost-release", "progress"}},
	{"delifeq", "", nil},
	{"delifeq", "value", []string{"late-release"}},
	{"linearizable", "", nil},
	{"reentrant", "", nil},
	{"reentrant", "entries", []string{"exclusive"}},
	{"reentrant", "holder", []string{"exclusive"}},
	{"reentrant-leaky", "", []string{"exclusive", "fencing"}},
	{"constant-value", "", []string{"late-release", "owner-only", "told-at-release"}},
	{"lock-delay", "", []string{"dead-holder"}}, // as it is meant: its delay is longer than the TTL
	{"set-without-nx", "", []string{"exclusive"}},
	{"setnx-del", "", []string{"dead-holder", "hung-node", "comes-back", "lost-release", "wakes-up", "progress"}},
	{"setnx-pexpire", "", []string{"late-release", "owner-only", "told-at-release", "dead-holder", "hung-node", "progress"}},
	{"woken", "", nil},
	{"woken", "asks_again", []string{"dead-holder", "comes-back", "lost-release", "wakes-up", "progress"}}, // it waits for ever
	{"woken", "signal_stays", []string{"wakes-up"}},
	{"fair-queue", "", nil},
	{"fair-queue", "cancel", []string{"progress"}},
	{"fair-queue", "place_renewed", []string{"fairness"}},
	{"fair-queue", "place_ends", []string{"fairness"}},
	{"read-write", "", nil},
	{"read-write", "permit_ends", []string{"readers-writers"}},
	{"read-write", "upgrade", []string{"readers-writers"}},
	{"read-write", "reader_yields", []string{"readers-writers"}},
	{"read-write", "key_ends", []string{"readers-writers"}},
	{"read-write-counter", "", []string{"readers-writers"}},
	{"none", "", []string{"exclusive"}},
}

// TestCards: what each built-in lock can be relied on for, and what each mistake costs it. The cases of a Redis Cluster take real
// servers, and show the same of each lock; a script audits two.
func TestCards(t *testing.T) {
	suite.All(t)
	locks := make([]lock.Config, len(audited))
	for i, a := range audited {
		locks[i].Algorithm = a.algorithm
		locks[i].Mistakes.SwitchOff(a.rule)
	}
	onModels := slices.DeleteFunc(scenariotest.Shipped(t), func(s *scenario.Scenario) bool { return slices.Contains(s.Tags, "cluster") })
	made := cardOf(t, onModels, locks...)
	var text strings.Builder
	for i := range made.Locks {
		l := &made.Locks[i]
		var lost []string
		for _, g := range made.Guarantees {
			if l.Row(g.Name) == card.Broken {
				lost = append(lost, g.Name)
			}
		}
		if !slices.Equal(lost, audited[i].loses) {
			t.Errorf("%s loses %q: want %q", l.Label, lost, audited[i].loses)
		}
		fmt.Fprintf(&text, "%s: %d kept, %d not applicable\n",
			l.Label, len(inState(l, card.Kept)), len(inState(l, card.NotApplicable)))
		for _, s := range []card.State{card.Broken, card.Unknown, card.ByDesign} {
			if list := inState(l, s); len(list) > 0 {
				fmt.Fprintf(&text, "  %s: %s\n", s, strings.Join(list, " "))
			}
		}
	}
	golden.Compare(t, "testdata/cards.txt", text.String())
	for _, a := range lock.Algorithms() {
		if !a.Semaphore && !slices.ContainsFunc(locks, func(c lock.Config) bool { return c.Algorithm == a.Name }) { // no case asks for permits
			t.Errorf("%s has no card", a.Name)
		}
	}
	without := []string{"redirections", "writer_waits"} // that shows in a cluster alone; that in a scenario in no row of the card
	for _, s := range lock.Switches() {
		breaks := func(c lock.Config) bool { return slices.Contains(c.Mistakes.Rules(), s.Name) }
		if !slices.ContainsFunc(locks, breaks) && !slices.Contains(without, s.Name) {
			t.Errorf("no card shows what %s costs", s.Name)
		}
	}
}

// People refer to the IDs of cases for years: none may go or change.
func TestCasesArePermanent(t *testing.T) {
	path := filepath.Join("testdata", "cases.txt")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var now []string
	for _, s := range scenariotest.Shipped(t) {
		if s.Guarantee != scenario.NoGuarantee {
			now = append(now, ID(s))
		}
	}
	for id := range strings.FieldsSeq(string(before)) {
		if !slices.Contains(now, id) {
			t.Errorf("the case %s is gone: people refer to it", id)
		}
	}
	if t.Failed() {
		return
	}
	slices.Sort(now)
	golden.Compare(t, "testdata/cases.txt", strings.Join(now, "\n")+"\n")
}

func TestInterruptedAuditSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	own := scenario.NewBuiltIn(lock.Config{Algorithm: "redlock"}, "")
	programs, err := trial.Greet(t.Context(), nil, own, request.Virtual)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Run(ctx, Options{Locks: []Lock{{Label: "x", StandIn: own, Programs: programs}}, Scenarios: scenariotest.Shipped(t), Jobs: 1,
		Trial: trial.Options{World: request.Virtual, Out: t.TempDir(), Now: time.Now}})
	if err != nil || !made.Interrupted || made.Has(card.Kept) || !made.Has(card.Unknown) {
		t.Errorf("interrupted: %v, kept: %v, unknown: %v, error: %v",
			made.Interrupted, made.Has(card.Kept), made.Has(card.Unknown), err)
	}
}

// Every scenario with a guarantee asks something of some lock.
func TestEveryCaseAsksSomething(t *testing.T) {
	locks := []*scenario.StandIn{}
	for _, a := range lock.Algorithms() {
		locks = append(locks, scenario.NewBuiltIn(lock.Config{Algorithm: a.Name}, ""))
	}
	locks = append(locks, &scenario.StandIn{Program: &lock.Program{Command: []string{"lock"}}, Ready: program.Ready{Class: program.Single}})
	for _, s := range scenariotest.Shipped(t) {
		if s.Guarantee == scenario.NoGuarantee {
			continue
		}
		if !slices.ContainsFunc(locks, func(own *scenario.StandIn) bool { q := ask(s, own); return q.scenario != nil }) {
			t.Errorf("%s asks nothing of any lock", ID(s))
		}
	}
}
