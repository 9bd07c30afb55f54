package audit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// tally counts what came of the runs of one question.
type tally struct {
	*question
	lock *Lock
	// showings is in how many runs a violation must be confirmed to be shown.
	showings int
	variants []*variantTally
}

// variantTally is about one variant of the scenario.
type variantTally struct {
	name            string
	runs, undecided int
	// doubt is why the last run that could not tell could not, slow that the machine was too slow for it.
	doubt string
	slow  bool
	// refused is why the lock program refuses what the variant asks for; empty: it does not.
	refused string
	// late is why a fault did not strike that was to come before something; empty: there is none.
	late string
	// decided is the property that speaks for the guarantee, in the last run that could tell.
	decided *report.PropertyResult
	// byDesign is in how many runs that property was violated although it is not demanded, and what the design gives up was to blame.
	byDesign       int
	report, replay string
	broken         []*broken
}

// broken is a property that was demanded, and violated.
type broken struct {
	name checker.Property
	// ours: it speaks for the guarantee. own: it is not demanded, but what is to blame is none that the design gives up.
	ours, own bool
	// times is in how many runs that was confirmed by what the nodes saw, unconfirmed in how
	// many not; doubt says why not.
	times, unconfirmed int
	// showings is how often that must be confirmed to be shown.
	showings                   int
	why, doubt, report, replay string
	// assumption is the one that failed.
	assumption string
}

// confirmed reports that a violation is confirmed by what the nodes saw, and says why not. The word
// of a built-in lock is our own.
func (l *Lock) confirmed(v *report.Variant, p *report.PropertyResult) (bool, string) {
	if l.Program == nil {
		return true, ""
	}
	return checker.Confirmed(v.History, p.Name, p.Counterexample)
}

// shown reports that the violation showed as often as it takes.
func (b *broken) shown() bool { return b.times >= b.showings }

// add counts a run.
func (t *tally) add(one *trial.Trial) {
	for i := range one.Result.Variants {
		v := &one.Result.Variants[i]
		at := slices.IndexFunc(t.variants, func(known *variantTally) bool { return known.name == v.Name })
		if at < 0 {
			at, t.variants = len(t.variants), append(t.variants, &variantTally{name: v.Name})
		}
		t.variants[at].add(t, one, v, t.deciding(v))
	}
}

// deciding is the property of a variant that speaks for the guarantee.
func (t *tally) deciding(v *report.Variant) *report.PropertyResult {
	demanded := t.variant(v.Name).Demanding(&t.lock.Ready)
	demanded.Setup.Lock.Program = t.lock.Program
	return v.Property(t.guarantee.Decides(&demanded))
}

func (of *variantTally) add(t *tally, one *trial.Trial, v *report.Variant, deciding *report.PropertyResult) {
	if of.refused = v.NotApplicable; of.refused != "" {
		return
	}
	of.runs++
	violated := false
	for i := range v.Properties {
		if p := &v.Properties[i]; demandedAndViolated(p) && !follows(v, p.Name) {
			violated = true
			of.violation(t, one, v, p, speaks(t.guarantee, p, deciding))
		}
	}
	own, doubt := of.addUndemanded(t, one, v, deciding)
	violated = violated || own
	if why := of.doubts(t.guarantee, v, deciding); why != "" {
		doubt = why
	} else if !own && doubt == "" && (deciding.Expected != checker.Holds || deciding.Verdict == checker.Holds) {
		of.decided = deciding
	}
	if doubt != "" {
		of.doubt, of.slow = doubt, v.TooSlow != ""
	}
	if doubt != "" && !violated {
		of.undecided++
	}
	for i := range v.Faults {
		if v.Faults[i].TooLate() {
			of.late = v.Faults[i].Failed
		}
	}
	if of.report == "" || doubt == "" && !violated {
		of.report, of.replay = one.Report, one.Result.Replay
	}
}

// addUndemanded counts a violation of a property that is not demanded of the lock's class: it is by design, the lock's own fault, or
// in doubt.
func (of *variantTally) addUndemanded(
	t *tally, one *trial.Trial, v *report.Variant, deciding *report.PropertyResult,
) (own bool, doubt string) {
	violated, byDesign, blame := t.undemanded(v, deciding)
	if !violated {
		return false, ""
	}
	if byDesign {
		of.byDesign++
		return false, ""
	}
	if blame == checker.BlamesNothing {
		return false, fmt.Sprintf("%s is violated, and the nodes do not tell why, so it may be by design or not: %s", deciding.Name, deciding.Why)
	}
	of.violation(t, one, v, deciding, true).own = true
	return true, ""
}

// speaks reports that a violation speaks for the guarantee. Who is granted the lock and has no key of it keeps nobody out, and who works
// on when its lease is over does not know that it has ended: it makes no difference whether somebody came.
func speaks(g scenario.Guarantee, p, deciding *report.PropertyResult) bool {
	return deciding != nil && deciding.Name == p.Name || (p.Name == checker.BackedGrant || p.Name == checker.NoLateEffect) && g.Speaks(p.Name)
}

// doubts says why a run could not tell; empty: it could, as far as that goes. What is not demanded of the lock tells nothing either,
// where it is not known and no design gives it up.
func (of *variantTally) doubts(g scenario.Guarantee, v *report.Variant, deciding *report.PropertyResult) string {
	switch {
	case v.TooSlow != "" && (v.Unknown != "" || deciding == nil || !deciding.Met):
		return card.TooSlowWords + v.TooSlow
	case v.Unknown != "":
		return v.Doubt()
	case v.Error != "":
		return "the run failed: " + v.Error
	case v.Interrupted:
		return "the run was interrupted"
	case deciding == nil:
		return "it was not judged"
	case deciding.Verdict == checker.Unknown && (deciding.Expected == checker.Holds || g.ByDesign() == ""):
		return fmt.Sprintf("%s is undecided: %s%s", deciding.Name, deciding.Why, neverStruck(v))
	}
	return ""
}

// neverStruck names the faults of a run that never took effect, and says for what they waited; empty: there is none.
func neverStruck(v *report.Variant) string {
	var list []string
	for i := range v.Faults {
		if f := &v.Faults[i]; f.Fired == 0 {
			list = append(list, fmt.Sprintf("fault %d (%s of %s, %s)", f.ID, f.Fault, f.Target, cmp.Or(f.Failed, f.When)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ". What never struck: " + strings.Join(list, "; ")
}

// accuses reports that something in a run is held against the lock: it was demanded, or is not what the design gives up.
func (t *tally) accuses(v *report.Variant) bool {
	for i := range v.Properties {
		if demandedAndViolated(&v.Properties[i]) {
			return true
		}
	}
	violated, byDesign, _ := t.undemanded(v, t.deciding(v))
	return violated && !byDesign
}

// undemanded reports that the deciding property is violated although it is not demanded of the lock's class; byDesign: what is to blame is
// what the design gives up.
func (t *tally) undemanded(v *report.Variant, deciding *report.PropertyResult) (violated, byDesign bool, blame checker.Blame) {
	if deciding == nil || deciding.Expected == checker.Holds || deciding.Verdict != checker.Violated {
		return false, false, blame
	}
	blame = checker.Blamed(v.History, deciding.Name, deciding.Counterexample)
	return true, slices.Contains(t.guarantee.GivesUp(), blame), blame
}

func demandedAndViolated(p *report.PropertyResult) bool {
	return p != nil && p.Expected == checker.Holds && p.Verdict == checker.Violated && !p.TooSlow
}

// follows reports that a violation follows from another one in the same run: where two clients
// hold the lock, updates are lost, writes are late and the fence refuses one of the two.
func follows(v *report.Variant, name checker.Property) bool {
	return consequence(name) && demandedAndViolated(v.Property(checker.ExclusiveLease))
}

func consequence(name checker.Property) bool {
	return name == checker.LinearizableResource || name == checker.NoLateEffect || name == checker.HolderServed
}

// violation counts a violation of something that was demanded.
func (of *variantTally) violation(t *tally, one *trial.Trial, v *report.Variant, p *report.PropertyResult, ours bool) *broken {
	at := slices.IndexFunc(of.broken, func(known *broken) bool { return known.name == p.Name })
	if at < 0 {
		at, of.broken = len(of.broken), append(of.broken, &broken{name: p.Name, ours: ours, showings: t.showings})
	}
	b := of.broken[at]
	if confirmed, why := t.lock.confirmed(v, p); !confirmed {
		b.unconfirmed++
		b.doubt = why
		b.report, b.replay = cmp.Or(b.report, one.Report), cmp.Or(b.replay, one.Result.Replay)
		return b
	}
	if b.times++; b.times == 1 {
		b.why, b.report, b.replay = p.Why, one.Report, one.Result.Replay
		if !b.ours {
			b.why = fmt.Sprintf("%s is violated: %s", p.Name, p.Why)
		}
		if c := p.Counterexample; c != nil {
			b.assumption = c.Assumption
		}
	}
	return b
}

// leads orders violations by what a reader must see first: those that speak for the guarantee,
// those that showed most often, those closest to the cause.
func leads(a, b *broken) int {
	rank := func(x *broken) int {
		if x.ours {
			return 1
		}
		return 0
	}
	return cmp.Or(rank(b)-rank(a), min(b.times, b.showings)-min(a.times, a.showings),
		b.unconfirmed-a.unconfirmed, a.name.Distance()-b.name.Distance())
}

// lead is the variant's first violation; nil: there is none.
func (of *variantTally) lead() *broken {
	if len(of.broken) == 0 {
		return nil
	}
	return slices.MinFunc(of.broken, leads)
}

// open are the variants that must be run again.
func (t *tally) open() (names []string) {
	for _, v := range t.variants {
		if b := v.lead(); b != nil && b.ours && b.shown() {
			return nil
		}
	}
	for _, v := range t.variants {
		b := v.lead()
		if b != nil && !b.shown() || b == nil && v.decided == nil && v.refused == "" && v.runs < mostUndecided {
			names = append(names, v.name)
		}
	}
	return names
}

// answer is what came of the question: a cell, and maybe another one for a violation that may
// have another reason than what the question is about.
type answer struct {
	card.Cell
	// aside is the cell of a violation that does not speak for the guarantee; nil: there is none.
	aside *card.Cell
	// shown are all properties whose violation was shown.
	shown []checker.Property
}

// conclude says what came of the question.
func (t *tally) conclude() answer {
	out := answer{Cell: t.empty()}
	var tests []test
	for _, v := range t.variants {
		for _, b := range v.broken {
			if b.shown() {
				out.shown = append(out.shown, b.name)
			}
		}
		b := v.lead()
		one := t.empty()
		if t.name(v.name) {
			one.Variant = v.name
		}
		if b != nil && !b.ours {
			aside := one
			b.conclude(v, t.lock, &aside)
			aside.Deployments = t.deployed(v.name, aside.State)
			if out.aside == nil || aside.State.Worse(out.aside.State) > 0 {
				out.aside = &aside
			}
		}
		if b != nil && b.ours {
			b.conclude(v, t.lock, &one)
		} else {
			v.conclude(t.guarantee, t.lock, &one)
		}
		one.Deployments = t.deployed(v.name, one.State)
		tests = t.sort(tests, v.name, one)
	}
	var deployed []card.Deployed
	for i := range tests {
		if i == 0 || tests[i].State.Worse(out.State) > 0 {
			out.Cell = tests[i].Cell
		}
		deployed = worstOf(deployed, tests[i].Deployments[0])
	}
	if out.Deployments = deployed; out.State == card.NotApplicable {
		out.Deployments = nil
	}
	return out
}

// deployed is what came of a variant, where it keeps the lock.
func (t *tally) deployed(variant string, s card.State) []card.Deployed {
	return []card.Deployed{{Deployment: string(t.variant(variant).Setup.Deployment(&t.lock.Ready)), State: s}}
}

// worstOf adds what came of a test to what came of others, by deployment.
func worstOf(list []card.Deployed, d card.Deployed) []card.Deployed {
	for i := range list {
		if list[i].Deployment == d.Deployment {
			if d.State.Worse(list[i].State) > 0 {
				list[i].State = d.State
			}
			return list
		}
	}
	list = append(list, d)
	slices.SortStableFunc(list, func(a, b card.Deployed) int {
		return scenario.Deployment(a.Deployment).Compare(scenario.Deployment(b.Deployment))
	})
	return list
}

// test is what came of variants that put a lock to the same test, and differ in nothing but what
// guards the resource.
type test struct {
	setup scenario.Setup
	card.Cell
}

// sort adds what came of a variant to the test that it belongs to. Where one variant keeps what another one
// loses by design, as with tokens that the resource checks, the lock can keep it. Of other
// tests that says nothing: a node that keeps its data is no comfort for one that does not.
func (t *tally) sort(tests []test, variant string, one card.Cell) []test {
	setup := t.variant(variant).Setup
	setup.Lock, setup.Fencing, setup.Resource = lock.Config{}, scenario.Fencing{}, scenario.Resource{}
	for i := range tests {
		if !reflect.DeepEqual(tests[i].setup, setup) {
			continue
		}
		if rank(one.State) > rank(tests[i].State) {
			tests[i].Cell = one
		}
		return tests
	}
	return append(tests, test{setup, one})
}

// rank orders the states of variants that are the same test.
func rank(s card.State) int {
	return slices.Index([]card.State{card.NotApplicable,
		card.ByDesign, card.Kept, card.Unknown, card.Broken}, s)
}

func (t *tally) empty() card.Cell {
	return card.Cell{ID: t.id, Title: t.title, State: card.NotApplicable, Why: "Nothing was run."}
}

// name reports that a variant's name tells a reader something.
func (t *tally) name(variant string) bool {
	return len(t.scenario.Variants) > 1 || variant != scenario.DefaultVariant
}

// conclude writes into a cell what came of a variant in which nothing was violated that speaks
// for the guarantee.
func (of *variantTally) conclude(g scenario.Guarantee, l *Lock, cell *card.Cell) {
	cell.Runs, cell.Undecided, cell.Report, cell.Replay = of.runs, of.undecided, of.report, of.replay
	switch p := of.decided; {
	case of.refused != "":
		cell.State, cell.Why = card.NotApplicable, sentence(of.refused)
	case p == nil && of.late != "":
		cell.State, cell.Why = card.NotApplicable, sentence("the lock does not wait for what this strikes. "+of.late)
	case p == nil:
		cell.State, cell.TooSlow, cell.Why = card.Unknown, of.slow, sentence(cmp.Or(of.doubt, "nothing was put to the test"))
	case p.Expected == checker.Holds, p.Verdict == checker.Holds && (g.ByDesign() == "" || l.outlives(g)):
		cell.State, cell.Property, cell.Why = card.Kept, string(p.Name), sentence(p.Why)
	default:
		cell.State, cell.Property, cell.Why = card.ByDesign, string(p.Name), g.ByDesign()
		cell.Violated = of.byDesign
		if p.Verdict == checker.Violated {
			cell.Why += card.HereWords + strings.TrimSuffix(p.Why, ".") + "."
		}
	}
}

// outlives reports that a lock does not rely on what locks of its class give up for the guarantee: if it keeps its lease in the value of
// its key, no node's clock ends that.
func (l *Lock) outlives(g scenario.Guarantee) bool {
	return l.Ready.LeaseInValue() && slices.Equal(g.GivesUp(), []checker.Blame{checker.BlamesClocks})
}

func (b *broken) conclude(v *variantTally, l *Lock, cell *card.Cell) {
	cell.Property, cell.Assumption, cell.Report, cell.Replay = string(b.name), b.assumption, b.report, b.replay
	cell.Runs, cell.Violated, cell.Undecided = v.runs, b.times, v.undecided
	cell.Flaky = b.times+b.unconfirmed < v.runs
	rate := fmt.Sprintf("%d of %s", b.times, words.Count(v.runs, "run"))
	cell.State = card.Unknown
	switch {
	case b.times == 0:
		cell.Violated = b.unconfirmed
		cell.Why = sentence(fmt.Sprintf("look here: %s is violated by the lock's word, but not by what the nodes saw: %s", b.name, b.doubt))
	case !b.shown():
		cell.Why = sentence(fmt.Sprintf("look here: %s was violated in %s, which is fewer than %d: %s", b.name, rate, b.showings, b.why))
	case l.mutes(b.name) != "":
		cell.Why = sentence(fmt.Sprintf("look here: %s was violated in %s, but %s: %s", b.name, rate, l.mutes(b.name), b.why))
	case b.own:
		cell.State = card.Broken
		cell.Why = sentence(fmt.Sprintf("%s (%s). That is not by design", b.why, rate))
	default:
		cell.State, cell.Why = card.Broken, sentence(fmt.Sprintf("%s (%s)", b.why, rate))
	}
}

// longestSentence is how many runes a sentence has at most.
const longestSentence = 500

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return ""
	}
	if runes := []rune(s); len(runes) > longestSentence {
		s = string(runes[:longestSentence]) + " ..."
	}
	first, size := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[size:]); !unicode.IsDigit(next) { // not a client's name
		s = string(unicode.ToUpper(first)) + s[size:]
	}
	return strings.TrimSuffix(s, ".") + "."
}
