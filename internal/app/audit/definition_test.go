package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// The table of docs/reference/audit.md has what the code and the scenarios have: each guarantee, the
// properties that decide, the faults that it is about, and the classes that lose it by design.
func TestTableOfGuarantees(t *testing.T) {
	shipped := scenariotest.Shipped(t)
	var want []string
	for _, g := range scenario.Guarantees() {
		if g == scenario.NoGuarantee {
			continue
		}
		var decides []string
		for _, p := range g.DecidedBy() {
			decides = append(decides, "`"+string(p)+"`")
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s |",
			g, g.Title(), strings.Join(decides, ", else "), faultWords(g), byDesign(t, shipped, g)))
	}
	var got []string
	_, table, _ := strings.Cut(docstest.Read(t, "docs/reference/audit.md"), "| guarantee | what it says |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[2:] {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	for i := range want {
		want[i] = strings.Join(strings.Fields(want[i]), " ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table of docs/reference/audit.md is\n%s\nbut the code says\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The page says what each guarantee's design gives up.
func TestTableOfWhatIsGivenUp(t *testing.T) {
	page := docstest.Read(t, "docs/reference/audit.md")
	for _, g := range scenario.Guarantees() {
		var list []string
		for _, b := range g.GivesUp() {
			list = append(list, string(b))
		}
		row := fmt.Sprintf("\n| `%s` | %s |\n", g, strings.Join(list, "; "))
		if len(list) > 0 && !strings.Contains(page, row) {
			t.Errorf("docs/reference/audit.md lacks the row%s", row)
		}
	}
}

// faultWords are the kinds of faults that a guarantee is about.
func faultWords(g scenario.Guarantee) string {
	if g.Faultless() {
		return "none"
	}
	var list []string
	for _, f := range g.Faults() {
		list = append(list, "`"+f+"`")
	}
	return cmp.Or(strings.Join(list, ", "), "all")
}

// byDesign are the classes of which a case does not demand the guarantee, and why.
func byDesign(t *testing.T, shipped []*scenario.Scenario, g scenario.Guarantee) string {
	t.Helper()
	var list []string
	for _, class := range []program.Class{program.Quorum, program.Single, program.Session, program.Other} {
		if slices.ContainsFunc(shipped, func(s *scenario.Scenario) bool {
			return s.Guarantee == g && slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool {
				v = v.Demanding(&program.Ready{Class: class})
				return asks(g, &v) == card.ByDesign
			})
		}) {
			list = append(list, "`"+string(class)+"`")
		}
	}
	if (len(list) > 0) != (g.ByDesign() != "") {
		t.Errorf("%s is lost by design by the classes %q, and the reason is %q", g, list, g.ByDesign())
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ", ") + ": " + g.ByDesign()
}

// seen is what one run of a variant showed, as docs/reference/audit.md names it.
type seen struct {
	// verdicts are those of the properties; demanded are those that are demanded.
	verdicts  map[checker.Property]checker.Verdict
	demanded  map[checker.Property]bool
	confirmed map[checker.Property]bool
	deciding  checker.Property
	broke     bool
	// late: a fault came too late for what it is about.
	late bool
	// blame is what the violation of the deciding property is put down to, where it is one, givenUp what the guarantee's design gives up.
	blame   checker.Blame
	givenUp []checker.Blame
}

// judged is what the definition says of a case.
type judged struct {
	again    []string
	state    card.State
	property checker.Property
	runs     int
	violated int
	flaky    bool
	// elsewhere is the state of a violation that counts elsewhere; empty: there is none.
	elsewhere card.State
}

// violations are those of a run, without the consequences of two holders.
func (s *seen) violations() (list []checker.Property) {
	for p, v := range s.verdicts {
		twoHolders := s.demanded[checker.ExclusiveLease] && s.verdicts[checker.ExclusiveLease] == checker.Violated
		switch {
		case v == checker.Violated && p == s.deciding && !s.demanded[p] && s.ownFault():
			list = append(list, p)
		case v != checker.Violated || !s.demanded[p]:
		case twoHolders && (p == checker.LinearizableResource || p == checker.NoLateEffect || p == checker.HolderServed):
		default:
			list = append(list, p)
		}
	}
	return list
}

// ownFault: the blame for the violation is known, and nothing that the design gives up.
func (s *seen) ownFault() bool {
	return s.blame != checker.BlamesNothing && !slices.Contains(s.givenUp, s.blame)
}

// couldTell: it was not broken off, and the deciding property holds, or is not demanded. If it is not demanded, it must be known, unless a
// design gives the guarantee up. If it is not demanded, and is violated,
// the blame is on what the design gives up.
func (s *seen) couldTell(g scenario.Guarantee) bool {
	verdict, ok := s.verdicts[s.deciding]
	switch {
	case s.broke || !ok:
		return false
	case s.demanded[s.deciding]:
		return verdict == checker.Holds
	case verdict == checker.Unknown && g.ByDesign() == "":
		return false
	}
	return verdict != checker.Violated || slices.Contains(s.givenUp, s.blame)
}

// naive judges a case by docs/reference/audit.md alone: from all runs of each variant, in order.
func naive(g scenario.Guarantee, variants []string, runs map[string][]*seen, l *Lock, virtual bool) judged {
	times := map[bool]int{true: 1, false: 3}[virtual] // "confirmed in three runs. In virtual time one is enough."
	order := []card.State{card.Broken, card.Unknown, card.Kept, card.ByDesign, card.NotApplicable}
	var out judged
	best := len(order)
	stop := false
	for _, name := range variants {
		of := runs[name]
		if len(of) == 0 {
			continue
		}
		deciding := of[len(of)-1].deciding
		demanded := of[0].demanded[deciding]
		told, lostByDesign := countTold(g, of, deciding)
		leading, confirmed, unconfirmed := leadingViolation(g, of, deciding, times)
		shown := func(p checker.Property) bool { return confirmed[p] >= times }
		if leading != "" && !shown(leading) || leading == "" && told == 0 && len(of) < 3 {
			out.again = append(out.again, name)
		}
		ours := leading != "" && speaksFor(g, leading, deciding)
		if ours && shown(leading) {
			stop = true
		}
		of3 := func(p checker.Property) card.State {
			if shown(p) && believed(l, p) {
				return card.Broken
			}
			return card.Unknown
		}
		one := judged{runs: len(of), property: deciding}
		switch {
		case ours:
			one.property = leading
			one.state, one.violated = of3(leading), cmp.Or(confirmed[leading], unconfirmed[leading])
			one.flaky = confirmed[leading]+unconfirmed[leading] < len(of)
		case told == 0 && slices.ContainsFunc(of, func(r *seen) bool { return r.late }):
			one.state, one.property = card.NotApplicable, ""
		case told == 0:
			one.state, one.property = card.Unknown, ""
		case demanded, (g.ByDesign() == "" || ownClock(l, g)) && lastTold(g, of).verdicts[deciding] == checker.Holds:
			one.state = card.Kept
		default:
			one.state, one.violated = card.ByDesign, lostByDesign
		}
		if leading != "" && !ours && out.elsewhere != card.Broken {
			out.elsewhere = of3(leading)
		}
		if at := slices.Index(order, one.state); at < best {
			best = at
			one.again, one.elsewhere = out.again, out.elsewhere
			out = one
		}
	}
	if stop {
		out.again = nil
	}
	return out
}

// believed: a program that does not speak the protocol is not, and one that does not name its keys not by what only these show.
func believed(l *Lock, p checker.Property) bool {
	return l.NotConforming == "" && (l.KeysUnclear == "" || p != checker.BackedGrant && p != checker.OwnerRelease)
}

// ownClock: no node's clock ends a lease that stands in the value of its key.
func ownClock(l *Lock, g scenario.Guarantee) bool {
	return l.Ready.Lease == "ttl" && (g == "node-clock-jump" || g == "node-clock-drift")
}

// besides are the rows of which a violation of `backed-grant` or `no-late-effect` speaks, too, whatever the deciding property is.
var besides = map[scenario.Guarantee][]checker.Property{
	"exclusive":       {checker.BackedGrant},
	"node-clock-jump": {checker.BackedGrant},
	"client-clock":    {checker.NoLateEffect, checker.BackedGrant},
}

// speaksFor: the deciding property speaks for the guarantee, and those that stand besides.
func speaksFor(g scenario.Guarantee, p, deciding checker.Property) bool {
	return p == deciding || slices.Contains(besides[g], p)
}

// lastTold is the last run that could tell.
func lastTold(g scenario.Guarantee, of []*seen) (last *seen) {
	for _, r := range of {
		if r.couldTell(g) {
			last = r
		}
	}
	return last
}

// countTold counts the runs that could tell, and those in which the deciding property was lost by design.
func countTold(g scenario.Guarantee, of []*seen, deciding checker.Property) (told, lostByDesign int) {
	for _, r := range of {
		if r.couldTell(g) {
			told++
		}
		if r.verdicts[deciding] == checker.Violated && slices.Contains(r.givenUp, r.blame) {
			lostByDesign++
		}
	}
	return told, lostByDesign
}

// leadingViolation is the violation that speaks for the runs of a variant, and how often each was
// violated, confirmed by the nodes or not.
func leadingViolation(g scenario.Guarantee, of []*seen, deciding checker.Property, times int) (
	leading checker.Property, confirmed, unconfirmed map[checker.Property]int,
) {
	confirmed, unconfirmed = make(map[checker.Property]int), make(map[checker.Property]int)
	all := make(map[checker.Property]bool)
	for _, r := range of {
		for _, p := range r.violations() {
			all[p] = true
			if r.confirmed[p] {
				confirmed[p]++
			} else {
				unconfirmed[p]++
			}
		}
	}
	violated := slices.SortedFunc(maps.Keys(all), func(a, b checker.Property) int {
		ours := func(p checker.Property) int { return map[bool]int{true: 1}[speaksFor(g, p, deciding)] }
		return cmp.Or(ours(b)-ours(a), min(confirmed[b], times)-min(confirmed[a], times),
			unconfirmed[b]-unconfirmed[a], a.Distance()-b.Distance())
	})
	if len(violated) > 0 {
		leading = violated[0]
	}
	return leading, confirmed, unconfirmed
}

// judgedBy are those that random runs are judged by.
var judgedBy = []checker.Property{checker.ExclusiveLease, checker.BackedGrant,
	checker.NoLateEffect, checker.LinearizableResource, checker.OrderedTokens, checker.HolderServed, checker.OwnerRelease}

// assumptions are some that checker names: of what most designs give up, of the lock, and of nothing that is known.
var assumptions = []string{
	"that a holder acts before its lease runs out", "that a node remembers the keys that it has granted",
	"that a node remembers the tokens that it has given", "that only its owner deletes a key of the lock", "",
}

// nodesSaw is a history with two grants, and what shows a violation in it. The nodes saw both clients set
// the key, or only one.
func nodesSaw(both bool) (*history.History, *checker.Counterexample) {
	h := &history.History{Header: history.Header{Nodes: []string{"A"}, Clients: []string{"c1", "c2"}, Quorum: 1}}
	c := &checker.Counterexample{Impossible: -1}
	for i, client := range []string{"c1", "c2"} {
		add := func(process string, typ history.Type, f history.F, v history.Value) {
			h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)),
				Time: time.Duration(len(h.Events)) * time.Millisecond, Process: process, Type: typ, F: f, Value: v})
		}
		add(client, history.Invoke, history.Acquire, history.Value{})
		if both || i == 0 {
			add("A", history.Info, history.KeySet, history.Value{Client: client, Owner: client})
		}
		add(client, history.OK, history.Acquire, history.Value{Owner: client})
		c.Operations = append(c.Operations, checker.CounterOp{Client: client, Events: []int{len(h.Events) - 1}})
	}
	return h, c
}

// Whoever reads docs/reference/audit.md can tell the state of a cell: a second judge, written from the page
// alone, agrees with the first one on random outcomes of runs.
func TestDefinitionOfACell(t *testing.T) {
	count := make(map[card.State]int)
	for i := range suite.Amount(t, 5_000, 3_000) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		count[oneCase(t, r, uint64(i))]++
		if t.Failed() {
			return
		}
	}
	t.Log(count)
	for _, s := range card.States() {
		if s != card.NotApplicable && count[s] < 100 {
			t.Errorf("only %d cases are %s", count[s], s)
		}
	}
}

// someLock is a lock of sim or a program, which may not conform.
func someLock(r *rand.Rand) *Lock {
	l := &Lock{StandIn: scenario.NewBuiltIn(lock.Config{Algorithm: "redlock"}, "")}
	if r.IntN(3) < 2 {
		l.Program = &lock.Program{}
		if r.IntN(5) == 0 {
			l.NotConforming = "it does not"
		} else if r.IntN(5) == 0 {
			l.KeysUnclear = "it names others"
		}
		if r.IntN(3) == 0 {
			l.Ready.Lease = "ttl"
		}
	}
	return l
}

func oneCase(t *testing.T, r *rand.Rand, number uint64) card.State {
	t.Helper()
	some := func(one, of int) bool { return r.IntN(of) < one }
	guarantees := []scenario.Guarantee{"exclusive", "paused-holder", "fencing", "owner-only", "memory-loss", "node-clock-jump"}
	g := guarantees[r.IntN(len(guarantees))]
	l := someLock(r)
	// A scenario of up to three variants.
	s := &scenario.Scenario{}
	var names []string
	for i := range 1 + r.IntN(3) {
		v := scenario.Variant{Name: fmt.Sprint("v", i), Setup: scenario.Setup{}}
		for _, p := range judgedBy {
			switch r.IntN(4) {
			case 0, 1:
				v.Demand = append(v.Demand, scenario.PropertyDemand{Property: p, Holds: true})
				v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: p, Verdict: checker.Holds})
			case 2:
				v.Demand = append(v.Demand, scenario.PropertyDemand{Property: p, Holds: true, Of: []program.Class{program.Session}})
				v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: p, Verdict: checker.Holds})
			}
		}
		s.Variants, names = append(s.Variants, v), append(names, v.Name)
	}
	s.Guarantee = g
	o := Options{Trial: trial.Options{World: []string{request.Live, request.Virtual}[r.IntN(2)]}}
	tl := &tally{question: &question{id: "x/y", guarantee: g, scenario: s}, lock: l, showings: o.showings()}
	runs := make(map[string][]*seen)
	// How often violations show, and are confirmed, differs from case to case.
	violates, sure, fails := r.IntN(5), r.IntN(5), r.IntN(3)
	open := names
	for n := 1; len(open) > 0; n++ {
		if n > mostRuns {
			break
		}
		result := &report.Result{}
		for _, v := range s.Variants {
			if !slices.Contains(open, v.Name) {
				continue
			}
			demanding := v.Demanding(&l.Ready)
			h, c := nodesSaw(r.IntN(5) < sure)
			out := report.Variant{Name: v.Name, History: h}
			saw := &seen{verdicts: make(map[checker.Property]checker.Verdict),
				demanded: make(map[checker.Property]bool), confirmed: make(map[checker.Property]bool),
				deciding: g.Decides(&demanding), givenUp: g.GivesUp()}
			if some(fails, 6) {
				saw.broke = true
				if out.Interrupted = some(1, 2); !out.Interrupted {
					out.Error = "it fell over"
				}
			}
			if some(1, 8) {
				saw.late, out.Faults = true, []report.FaultResult{{ID: 1, Failed: history.TooLate + "so it is"}}
			}
			for _, p := range judgedBy {
				saw.demanded[p] = demanding.Expected(p) == checker.Holds
				if some(1, 20) {
					continue // not judged
				}
				f := checker.Finding{Property: p, Verdict: checker.Holds, Why: "so it is"}
				switch {
				case r.IntN(12) < violates:
					one := *c
					one.Assumption = assumptions[r.IntN(len(assumptions))]
					f.Verdict, f.Counterexample = checker.Violated, &one
					if p == saw.deciding {
						saw.blame = checker.Blamed(h, p, &one)
					}
				case some(1, 6):
					f.Verdict = checker.Unknown
				}
				saw.verdicts[p], saw.confirmed[p] = f.Verdict, true
				if l.Program != nil && f.Verdict == checker.Violated {
					saw.confirmed[p], _ = checker.Confirmed(h, p, f.Counterexample)
				}
				out.Properties = append(out.Properties, report.Judged(f, demanding.Expected(p)))
				if f.Verdict == checker.Violated && saw.demanded[p] && some(1, 6) {
					out.Properties[len(out.Properties)-1].TooSlow, out.TooSlow = true, "a timer fired late"
					saw.verdicts[p] = checker.Unknown
				}
			}
			runs[v.Name] = append(runs[v.Name], saw)
			result.Variants = append(result.Variants, out)
		}
		tl.add(&trial.Trial{Result: result})
		want := naive(g, names, runs, l, o.Trial.World == request.Virtual)
		open = tl.open()
		if !slices.Equal(open, want.again) {
			t.Errorf("case %d, run %d: %q are run again, by the definition %q\n%s", number, n, open, want.again, show(runs))
			return ""
		}
		got := tl.conclude()
		is := judgedAs(&got, open)
		if worstDeployed(got.Deployments) != got.State {
			t.Errorf("case %d, run %d: the cell is %s, its deployments are %+v", number, n, got.State, got.Deployments)
		}
		if fmt.Sprint(is) != fmt.Sprint(want) {
			t.Errorf("case %d, run %d: %+v, by the definition %+v\n%s", number, n, is, want, show(runs))
			return ""
		}
	}
	return tl.conclude().State
}

// judgedAs is what the code makes of the runs.
func judgedAs(got *answer, open []string) judged {
	is := judged{again: open, state: got.State, property: checker.Property(got.Property),
		runs: got.Runs, violated: got.Violated, flaky: got.Flaky}
	if got.aside != nil {
		is.elsewhere = got.aside.State
	}
	return is
}

// worstDeployed is the state of a cell by those of its deployments.
func worstDeployed(list []card.Deployed) card.State {
	worst := card.NotApplicable
	for _, d := range list {
		if d.State.Worse(worst) > 0 {
			worst = d.State
		}
	}
	return worst
}

func show(runs map[string][]*seen) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		for _, s := range runs[name] {
			fmt.Fprintf(&b, "%s: %+v\n", name, *s)
		}
	}
	return b.String()
}

// What was seen, but not shown, says more than that something could not be told. What was shown counts once.
func TestViolationsThatCountElsewhere(t *testing.T) {
	cell := func(id string, s card.State, p checker.Property) card.Cell {
		return card.Cell{ID: id, State: s, Property: string(p), Why: "it is " + string(s) + "."}
	}
	for name, c := range map[string]struct {
		own, aside, other card.State
		want              card.State
		says              string
	}{
		"seen, and the case could not tell": {card.Unknown,
			card.Unknown, card.Kept, card.Unknown, "of the aside"},
		"seen, and the case is kept": {card.Kept, card.Unknown, card.Kept, card.Unknown, "of the aside"},
		"shown nowhere else":         {card.Kept, card.Broken, card.Kept, card.Broken, "of the aside"},
		"shown elsewhere, and the case is kept": {card.Kept,
			card.Broken, card.Broken, card.Kept, "violated here for another reason: see owner-only/y"},
		"shown elsewhere, and nothing could tell": {card.Unknown,
			card.Broken, card.Broken, card.Unknown, "see owner-only/y"},
		"broken by itself, and something was seen":  {card.Broken, card.Unknown, card.Kept, card.Broken, "it is broken."},
		"broken by itself, and something was shown": {card.Broken, card.Broken, card.Kept, card.Broken, "it is broken."},
	} {
		own, aside, other := cell("exclusive/x", c.own, checker.ExclusiveLease),
			cell("exclusive/x", c.aside, checker.OwnerRelease), cell("owner-only/y", c.other, checker.OwnerRelease)
		aside.Why = "of the aside"
		k := &asked{question: &question{id: own.ID, guarantee: "exclusive"}, cell: &own, aside: &aside}
		o := &asked{question: &question{id: other.ID, guarantee: "owner-only"}, cell: &other}
		if c.other == card.Broken {
			o.shown = []checker.Property{checker.OwnerRelease}
		}
		attribute([]*asked{k, o})
		if k.cell.State != c.want || !strings.Contains(k.cell.Why, c.says) || o.cell.State != c.other {
			t.Errorf("%s: %s (%s) and %s", name, k.cell.State, k.cell.Why, o.cell.State)
		}
	}
}

// A violation of the same property by which something else was assumed in vain is none that was shown elsewhere. What was shown in a
// cell that is broken because of another property was shown, but for what speaks for no guarantee.
func TestAnotherAssumption(t *testing.T) {
	for _, c := range []struct {
		assumed     string
		is, because checker.Property
		want        card.State
	}{{"that nobody deletes", checker.OwnerRelease, checker.OwnerRelease, card.Kept},
		{"that clocks agree", checker.OwnerRelease, checker.OwnerRelease, card.Broken},
		{"that clocks agree", checker.OwnerRelease, checker.DeadlockFree, card.Kept},
		{"that nobody deletes", checker.TrueValidity, checker.DeadlockFree, card.Broken},
		{"that nobody deletes", checker.TrueValidity, checker.TrueValidity, card.Kept}} {
		own := card.Cell{ID: "exclusive/x", State: card.Kept, Property: string(checker.ExclusiveLease)}
		other := card.Cell{ID: "owner-only/y", State: card.Broken, Property: string(c.because), Assumption: "that nobody deletes"}
		aside := card.Cell{ID: own.ID, State: card.Broken, Property: string(c.is), Assumption: c.assumed}
		k := &asked{question: &question{id: own.ID, guarantee: "exclusive"}, cell: &own, aside: &aside}
		o := &asked{question: &question{id: other.ID, guarantee: "owner-only"}, cell: &other, shown: []checker.Property{c.is}}
		if attribute([]*asked{k, o}); k.cell.State != c.want {
			t.Errorf("assumed in vain %q, elsewhere %q: %s, want %s", c.assumed, other.Assumption, k.cell.State, c.want)
		}
	}
}

// What shows also without the fault of its case counts in the row of the guarantee that its property belongs to.
func TestViolationsWithoutTheFault(t *testing.T) {
	aside := card.Cell{ID: "memory-loss/x", State: card.Broken, Property: string(checker.ExclusiveLease), Why: "Two held it."}
	ask := func(id string, state card.State) *asked {
		c := &card.Cell{ID: id, State: state, Title: "a case"}
		return &asked{question: &question{id: id, guarantee: scenario.Guarantee(c.Guarantee())}, cell: c}
	}
	free := func() *asked {
		k, own := ask("memory-loss/x", card.Unknown), aside
		k.aside, k.home = &own, "exclusive"
		return k
	}
	first, second := free(), free()
	second.id = "failover/y"
	added := attribute([]*asked{first, second})
	if len(added) != 1 || added[0].id != "exclusive/x" || added[0].cell.State != card.Broken || added[0].guarantee != "exclusive" {
		t.Fatalf("added: %+v", added)
	}
	for _, k := range []*asked{first, second} {
		if k.cell.State != card.Unknown || !strings.Contains(k.cell.Why, "also without the fault that this is about: see exclusive/x") {
			t.Errorf("%s is %s: %s", k.id, k.cell.State, k.cell.Why)
		}
	}

	other := ask("exclusive/z", card.Broken)
	other.shown = []checker.Property{checker.ExclusiveLease}
	known := free()
	if added = attribute([]*asked{known, other}); len(added) > 0 || !strings.Contains(known.cell.Why, "see exclusive/z") {
		t.Errorf("it is broken at home already: %+v, %s", added, known.cell.Why)
	}

	seen := free()
	seen.aside.State = card.Unknown
	if added = attribute([]*asked{seen}); len(added) > 0 || seen.cell.Why != "Two held it." {
		t.Errorf("seen, and not shown: %+v, %s", added, seen.cell.Why)
	}

	made := &card.Card{Guarantees: []card.Guarantee{{Name: "memory-loss"}},
		Locks: []card.Lock{{Cells: []card.Cell{{ID: "memory-loss/x", State: card.Unknown}}}}}
	k := free()
	k.cell = &made.Locks[0].Cells[0]
	settle(made, 0, []*asked{k})
	if made.Locks[0].Row("exclusive") != card.Broken || len(made.Guarantees) != 2 || made.Guarantees[0].Name != "exclusive" {
		t.Errorf("the card has %+v, %+v", made.Guarantees, made.Locks[0].Cells)
	}
}

// Where nobody gets the lock any more in a variant without faults, that counts in progress, and not in the row of a case about exclusion.
func TestViolationsBesideWithoutAFault(t *testing.T) {
	s, err := scenario.Parse("x.yaml", []byte("name: x\ntitle: a case\nguarantee: exclusive\nlock: {algorithm: set-nx-px}\n"+
		"nodes: {count: 1}\nvariants: {one: {}}\nexpect: {one: {exclusive-lease: holds, deadlock-free: holds}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	made := &card.Card{Guarantees: []card.Guarantee{{Name: "exclusive"}},
		Locks: []card.Lock{{Cells: []card.Cell{{ID: "exclusive/x", Title: "a case", State: card.Kept, Why: "It holds."}}}}}
	k := &asked{question: &question{id: "exclusive/x", guarantee: "exclusive", scenario: s}, cell: &made.Locks[0].Cells[0],
		aside: &card.Cell{ID: "exclusive/x", Variant: "one", State: card.Broken, Property: string(checker.DeadlockFree), Why: "Nobody got it."}}
	(&audit{}).control(t.Context(), k)
	added := settle(made, 0, []*asked{k})
	l := &made.Locks[0]
	if l.Row("exclusive") != card.Kept || l.Row("progress") != card.Broken || !strings.Contains(k.cell.Why, "see progress/x") {
		t.Errorf("the card has %+v", l.Cells)
	}
	if len(added) != 1 || added[0].cell.Title != "a case" || added[0].scenario == nil || len(added[0].scenario.Variants) != 1 {
		t.Errorf("added: %+v", added)
	}
}

// Where two clients hold the lock because messages were held, in a case about something else, that counts in late-messages. A pause that
// the case needs as well changes nothing. What shows also without the faults of links stays.
func TestViolationsBesideByLinks(t *testing.T) {
	const hold = "  - at: 0s\n    hold: {client: c2, direction: requests, for: 8s}\n"
	for name, c := range map[string]struct {
		faults string
		want   []string
	}{
		"messages are held":     {hold, []string{"late-messages/x"}},
		"it shows without them": {hold + "  - on: {client: c1, point: acquired}\n    pause: {client: c1, for: 2s}\n", []string{"wakes-up/x"}},
	} {
		s, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `name: x
title: a case
guarantee: wakes-up
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: 3s, node_timeout: 100ms, retry: {attempts: 12, delay: 100ms}}
workload: {clients: 2, sections: 6, think: 900ms, rest: 300ms}
faults:
  - at: 0s
    pause: {client: c2}
    until: {client: c1, point: acquired}
%sexpect: {deadlock-free: holds, exclusive-lease: holds}
`, c.faults))
		if err != nil {
			t.Fatal(err)
		}
		enters := lock.Config{Algorithm: "set-nx-px"} // who waits in vain enters
		enters.Mistakes.SwitchOff("give_up")
		made := cardOf(t, []*scenario.Scenario{s}, enters)
		l := &made.Locks[0]
		if got := inState(l, card.Broken); !slices.Equal(got, c.want) {
			t.Errorf("%s: broken are %v, want %v: %+v", name, got, c.want, l.Cells)
		}
	}
}
