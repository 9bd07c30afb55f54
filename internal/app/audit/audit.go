package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Lock is a lock to audit.
type Lock struct {
	// Label names it on the card, and its folder.
	Label string
	*scenario.StandIn
	// NotConforming says why nothing may be held against a program: it does not speak the protocol as it should. Empty: it does.
	NotConforming string
	// KeysUnclear says why nothing may be held against a program that only its keys show; empty: it may.
	KeysUnclear string
	// Conform are the other checks of sim conform that failed, each as a cell of the row in which it counts.
	Conform []card.Cell
	// DeadNode is how long its client needs where a node is dead, if that is longer than it is asked to; 0: it is not, or nobody looked.
	DeadNode time.Duration
	// Programs is what is known of it for trials.
	Programs *trial.Programs
}

// Options say what to audit, and how.
type Options struct {
	Locks []Lock
	// Scenarios are the battery; those without a guarantee are left out. Costs measure what a lock
	// costs.
	Scenarios, Costs []*scenario.Scenario
	// Trial has the options of all runs. Out is the card's folder; Seed the first seed of each
	// question.
	Trial trial.Options
	// Jobs is how many questions are put at once.
	Jobs int
	// Shorten: look for the shortest scenario that shows a violation.
	Shorten bool
	// Begin and End are told of each question, Phase of what it is doing.
	Begin, End func(lock, id string)
	Phase      func(lock, id, variant, phase string)
}

// How often a question is put.
const (
	// liveShowings is in how many runs a violation must be confirmed in real time before a lock is said to be broken, and mostRuns within
	// how many runs.
	liveShowings, mostRuns = 3, 10
	// mostForCosts bounds a run that measures costs: of a slow lock few acquires are measured.
	mostForCosts = 30 * time.Second
	// mostUndecided is how often a question is put that could not be decided.
	mostUndecided = 3
)

// showings is in how many runs a violation must be confirmed before a lock is said to be broken. In virtual time one is enough: that
// run can be made again, and shows the same for ever.
func (o *Options) showings() int {
	if o.Trial.World == request.Virtual {
		return 1
	}
	return liveShowings
}

// Questions is how many questions there are to answer by runs.
func (o *Options) Questions() (n int) {
	for _, k := range o.units() {
		if k.scenario != nil {
			n++
		}
	}
	return n
}

// costs are the scenarios of one variant that measure what a lock costs.
func costs(list []*scenario.Scenario, own *scenario.StandIn) (single []*scenario.Scenario) {
	for _, s := range list {
		for _, v := range s.Variants {
			if placed := v.With(own); own.NotApplicable(&placed.Setup) == "" {
				single = append(single, with(s, []scenario.Variant{v}))
			}
		}
	}
	return single
}

// Run puts all questions to all locks. The card of an audit that was interrupted has what was
// found until then.
func Run(ctx context.Context, o Options) (*card.Card, error) {
	began := o.Trial.Now()
	a, list := newAudit(o)
	open := slices.DeleteFunc(slices.Clone(list), func(k *asked) bool { return k.costs || k.scenario == nil })
	a.ask(ctx, open, list)
	for i := range o.Locks {
		mine := slices.DeleteFunc(slices.Clone(open), func(k *asked) bool { return k.lock != &o.Locks[i] })
		open = append(open, settle(a.card, i, mine)...)
	}
	if o.Shorten {
		a.each(open, func(k *asked) {
			if k.cell.State == card.Broken && ctx.Err() == nil {
				a.shorten(ctx, k)
			}
		})
	}
	for _, k := range a.costs(ctx, list) {
		column := &a.card.Locks[k.column]
		column.Costs = append(column.Costs, *k.cost)
	}
	a.card.Interrupted = ctx.Err() != nil
	a.card.WallMS = o.Trial.Now().Sub(began).Milliseconds()
	return a.card, errors.Join(a.errs...)
}

// newAudit is an audit before anything is run: its card has all questions.
func newAudit(o Options) (*audit, []*asked) {
	made := &card.Card{CardVersion: card.Version,
		World: cmp.Or(o.Trial.World, request.Live), Seed: o.Trial.Seed, Started: o.Trial.Now().UTC().Format(time.RFC3339),
		Guarantees: []card.Guarantee{}, Versions: make(map[string]string)}
	for k, v := range o.Trial.Program {
		made.Versions[k] = v
	}
	for _, s := range Cases(o.Scenarios) {
		if row := (card.Guarantee{Name: string(s.Guarantee), Title: s.Guarantee.Title()}); !slices.Contains(made.Guarantees, row) {
			made.Guarantees = append(made.Guarantees, row)
		}
	}
	list := o.units()
	for i := range o.Locks {
		l := &o.Locks[i]
		column := card.Lock{Label: l.Label, Command: l.Command(),
			Lock: trial.Describe(&l.Ready, true), NotConforming: l.NotConforming, Misbehaves: l.misbehaves(), Conform: l.Conform,
			DeadNode: l.DeadNode, Cells: []card.Cell{}}
		for _, k := range list {
			if k.lock == l && !k.costs {
				column.Cells = append(column.Cells,
					card.Cell{ID: k.id, Title: k.title, State: card.NotApplicable, Why: sentence(k.notApplicable)})
			}
		}
		made.Locks = append(made.Locks, column)
		for _, k := range list {
			if k.lock == l && !k.costs {
				k.cell = made.Locks[i].Cell(k.id)
			}
		}
	}
	made.Deployments = deployments(list)
	return &audit{Options: o, card: made}, list
}

// deployments are where the locks are kept of which something is asked, in order.
func deployments(all []*asked) (list []string) {
	var found []scenario.Deployment
	for _, k := range all {
		if k.scenario == nil || k.costs {
			continue
		}
		for i := range k.scenario.Variants {
			if d := k.scenario.Variants[i].Setup.Deployment(&k.lock.Ready); !slices.Contains(found, d) {
				found = append(found, d)
			}
		}
	}
	slices.SortFunc(found, scenario.Deployment.Compare)
	for _, d := range found {
		list = append(list, string(d))
	}
	return list
}

// mutes says why a violation is not held against the lock; empty: it is.
func (l *Lock) mutes(p checker.Property) string {
	switch {
	case l.NotConforming != "":
		return "the program does not conform to the lock protocol"
	case l.KeysUnclear != "" && checker.ShownByKeys(p):
		return "only keys show it, and the program does not tell the truth about its keys"
	}
	return ""
}

// misbehaves is the first thing that sim conform found that the lock itself does wrong; empty: there is none.
func (l *Lock) misbehaves() string {
	if i := slices.IndexFunc(l.Conform, func(c card.Cell) bool { return c.State == card.Broken }); i >= 0 {
		return strings.TrimSuffix(l.Conform[i].Why, ".")
	}
	return ""
}

// audit is an audit in progress.
type audit struct {
	Options
	mu   sync.Mutex // guards what is below
	card *card.Card
	errs []error
}

// asked is a question put to a lock.
type asked struct {
	*question
	lock *Lock
	// unit is which piece of the audit's work it is, column which column of the card it belongs to.
	unit, column int
	// costs: it measures what the lock costs; cost is the answer, nil: there is none.
	costs bool
	cost  *card.Cost
	// cell is where the answer goes.
	cell *card.Cell
	// aside is the cell of a violation that may have another reason than what the question is
	// about; nil: there is none. home is the guarantee that it belongs to, where it shows also without the faults that the question is
	// about, or, if it is whole, where that guarantee is about these faults; empty: it belongs to the question's own.
	aside *card.Cell
	home  scenario.Guarantee
	whole bool
	// shown are all properties whose violation was shown.
	shown []checker.Property
	// within bounds each run; 0: the audit's bound does.
	within time.Duration
}

// each does something with all questions, so many at once as there are jobs, in their order.
func (a *audit) each(list []*asked, do func(*asked)) {
	var wg sync.WaitGroup
	next := make(chan *asked)
	for range a.Jobs {
		wg.Go(func() {
			for k := range next {
				do(k)
			}
		})
	}
	for _, k := range list {
		next <- k
	}
	close(next)
	wg.Wait()
}

// ask puts questions to their locks. In virtual time, where no run disturbs another, it also finds out what locks cost, and what takes
// longest comes first: so no processor waits in the end while another one has much to do.
func (a *audit) ask(ctx context.Context, open, all []*asked) {
	if a.Trial.World == request.Virtual {
		open = slices.Concat(ofCosts(all), open)
		slices.SortStableFunc(open, func(x, y *asked) int { return y.servers() - x.servers() })
	}
	a.each(open, func(k *asked) {
		if k.costs {
			k.cost = a.measure(ctx, k)
		} else {
			a.answer(ctx, k)
		}
	})
}

// answer puts a question to its lock until there is an answer.
func (a *audit) answer(ctx context.Context, k *asked) {
	if ctx.Err() != nil {
		k.cell.State, k.cell.Why = card.Unknown, "It was not run: the audit was interrupted."
		return
	}
	a.Begin(k.lock.Label, k.id)
	defer a.End(k.lock.Label, k.id)
	t := &tally{question: k.question, lock: k.lock, showings: a.showings()}
	s := k.scenario
	for n := range mostRuns {
		one, err := a.run(ctx, k, s, a.Trial.Seed+uint64(n), t.accuses)
		if err != nil {
			k.cell.State, k.cell.Why = card.Unknown, sentence("it could not be run: "+err.Error())
			k.cell.Runs, k.cell.Undecided = n+1, n+1
			a.fail(fmt.Errorf("%s: %s: %w", k.lock.Label, k.id, err))
			return
		}
		t.add(one)
		names := t.open()
		if len(names) == 0 || ctx.Err() != nil {
			break
		}
		s = only(k.scenario, names)
	}
	out := t.conclude()
	*k.cell, k.aside, k.shown = out.Cell, out.aside, out.shown
	a.control(ctx, k)
	for _, c := range []*card.Cell{k.cell, k.aside} {
		if c != nil {
			c.Report = a.below(c.Report)
		}
	}
}

// servers is how many servers there are in all runs of the question together.
func (k *asked) servers() (n int) {
	for i := range k.scenario.Variants {
		nodes := &k.scenario.Variants[i].Setup.Nodes
		if n += nodes.Count; nodes.Watched() {
			n += nodes.Sentinels
		}
	}
	return n
}

// below is a file as seen from the card's folder.
func (a *audit) below(path string) string {
	root, err := filepath.Abs(a.Trial.Out)
	if err != nil || path == "" {
		return path
	}
	link, err := filepath.Rel(root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(link)
}

// costs are the questions about costs that have an answer. In real time it is found now, in one run after the other, so that none disturbs
// another.
func (a *audit) costs(ctx context.Context, all []*asked) []*asked {
	list := ofCosts(all)
	if a.Trial.World != request.Virtual {
		for _, k := range list {
			k.cost = a.measure(ctx, k)
		}
	}
	return slices.DeleteFunc(list, func(k *asked) bool { return k.cost == nil })
}

func ofCosts(all []*asked) []*asked {
	return slices.DeleteFunc(slices.Clone(all), func(k *asked) bool { return !k.costs })
}

// measure finds out what a lock costs.
func (a *audit) measure(ctx context.Context, k *asked) *card.Cost {
	if ctx.Err() != nil {
		return nil
	}
	a.Begin(k.lock.Label, k.id)
	one, err := a.run(ctx, k, k.scenario, a.Trial.Seed, nil)
	a.End(k.lock.Label, k.id)
	if err != nil {
		a.fail(fmt.Errorf("%s: %s: %w", k.lock.Label, k.scenario.Name, err))
		return nil
	}
	v := &one.Result.Variants[0]
	if v.Cost == nil {
		return nil
	}
	return &card.Cost{Scenario: k.scenario.Name, Variant: v.Name, Cost: *v.Cost, Report: a.below(one.Report)}
}

// control looks whether what was seen shows also without the faults that the question is about. Then it is no answer to the
// question, and speaks for the guarantee that the property belongs to.
func (a *audit) control(ctx context.Context, k *asked) {
	switch {
	case k.cell.State == card.Broken:
		if c := a.showsWithout(ctx, k, k.cell, a.showings(), 1); c.shown > 0 {
			broken := *k.cell
			broken.Why = sentence(fmt.Sprintf("%s (%s with the fault of %s, and also without it)", c.why, broken.Rate(), k.id))
			k.aside, k.home = &broken, a.homeOf(ctx, k, &broken)
			k.cell.Become(card.Unknown)
			k.cell.Why = without(&broken)
		}
	case k.cell.State == card.ByDesign && k.cell.Violated > 0:
		// It was seen once. Where the fault makes no difference, it must be shown as any other violation.
		c := a.showsWithout(ctx, k, k.cell, mostRuns, a.showings())
		if c.shown == 0 {
			break
		}
		aside := *k.cell
		aside.Become(card.Unknown)
		aside.Report = c.report
		aside.Runs, aside.Violated, aside.Undecided = c.runs, c.shown, 0
		rate := fmt.Sprintf("%s, without the fault of %s", aside.Rate(), k.id)
		switch {
		case c.shown < a.showings():
			aside.Why = sentence(fmt.Sprintf("look here: %s was violated in %s, which is fewer than %d: %s",
				aside.Property, rate, a.showings(), c.why))
		case k.lock.mutes(checker.Property(aside.Property)) != "":
			aside.Why = sentence(fmt.Sprintf("look here: %s was violated in %s, but %s: %s",
				aside.Property, rate, k.lock.mutes(checker.Property(aside.Property)), c.why))
		default:
			aside.Become(card.Broken)
			aside.Why = sentence(fmt.Sprintf("%s (%s)", c.why, rate))
			k.shown = append(k.shown, checker.Property(aside.Property))
		}
		k.aside, k.home = &aside, a.homeOf(ctx, k, &aside)
		k.cell.Become(card.Unknown)
		k.cell.Why, k.cell.Violated = without(&aside), 0
	}
	if k.aside == nil || k.home != "" || k.aside.State != card.Broken {
		return
	}
	switch {
	case k.variant(k.aside.Variant).Setup.Faults.None(): // it was seen without a fault
		k.home = scenario.Home(checker.Property(k.aside.Property))
	case a.showsWithout(ctx, k, k.aside, a.showings(), 1).shown > 0:
		k.home = a.homeOf(ctx, k, k.aside)
	case !k.guarantee.Excludes():
		k.home = a.homeOfLinks(ctx, k)
		k.whole = k.home != ""
	}
}

// homeOfLinks is the guarantee about late messages, or about nodes that cannot be reached, if two clients hold the lock only where links
// are struck, in a case about something else; empty: it is not so.
func (a *audit) homeOfLinks(ctx context.Context, k *asked) scenario.Guarantee {
	p := checker.Property(k.aside.Property)
	v := *k.variant(k.aside.Variant)
	var links scenario.Faults
	if links, v.Setup.Faults = v.Setup.Faults.OfLinks(); scenario.Home(p) != "exclusive" || links.None() {
		return ""
	}
	if v.Setup.CheckFaults(0) != nil || a.showsIn(ctx, k, v, k.aside, a.showings(), 1).shown > 0 {
		return ""
	}
	return scenario.HomeWith(p, links)
}

// elsewhere is the variant of the violation aside as it counts in the row of its home; less: without the faults that the question is about.
func (k *asked) elsewhere() (v scenario.Variant, less bool) {
	own := *k.variant(k.aside.Variant)
	if k.whole {
		return own, false
	}
	return k.guarantee.Control(own)
}

// homeOf is the guarantee that a violation belongs to which shows also without the faults that the question is about. Other faults
// may be left: if it does not show without these, it belongs to a guarantee that is about them.
func (a *audit) homeOf(ctx context.Context, k *asked, cell *card.Cell) scenario.Guarantee {
	p := checker.Property(cell.Property)
	v, _ := k.guarantee.Control(*k.variant(cell.Variant))
	home := scenario.HomeWith(p, v.Setup.Faults)
	if home == scenario.Home(p) {
		return home
	}
	left := v.Setup.Faults
	v.Setup.Faults = scenario.Faults{}
	if v.Setup.CheckFaults(0) == nil && a.showsIn(ctx, k, v, cell, a.showings(), 1).shown > 0 {
		return scenario.Home(p)
	}
	return scenario.HomeWith(p, left)
}

// without says why a cell cannot tell.
func without(c *card.Cell) string {
	return fmt.Sprintf("It cannot be judged, because %s is violated also without the fault that this is about.", c.Property)
}

// controlled is what came of a control: in how many runs the violation was confirmed, and what the first of these showed.
type controlled struct {
	runs, shown int
	why, report string
}

// showsWithout makes the control: it runs the variant of a cell without the faults that the question is about. It stops when so
// many runs have shown the violation; and where none has, after as many as it takes to show one.
func (a *audit) showsWithout(ctx context.Context, k *asked, cell *card.Cell, most, enough int) (c controlled) {
	v, ok := k.guarantee.Control(*k.variant(cell.Variant))
	if !ok {
		return controlled{}
	}
	return a.showsIn(ctx, k, v, cell, most, enough)
}

// showsIn runs a variant in the place of a cell's own.
func (a *audit) showsIn(ctx context.Context, k *asked, v scenario.Variant, cell *card.Cell, most, enough int) (c controlled) {
	for c.runs < most && c.shown < enough && (c.shown > 0 || c.runs < a.showings()) {
		a.Phase(k.lock.Label, k.id, cell.Variant, "without the fault")
		one, err := a.run(ctx, k, with(k.scenario, []scenario.Variant{v}), a.Trial.Seed+uint64(c.runs), nil)
		if err != nil || ctx.Err() != nil {
			return controlled{}
		}
		c.runs++
		if !k.lock.shows(one.Result, checker.Property(cell.Property)) {
			continue
		}
		if c.shown++; c.shown == 1 {
			c.why, c.report = one.Result.Variants[0].Property(checker.Property(cell.Property)).Why, one.Report
		}
	}
	return c
}

// shows reports that a property was violated in a run of one variant, confirmed by what the
// nodes saw.
func (l *Lock) shows(r *report.Result, name checker.Property) bool {
	p := r.Variants[0].Property(name)
	if p == nil || p.Verdict != checker.Violated || p.TooSlow {
		return false
	}
	confirmed, _ := l.confirmed(&r.Variants[0], p)
	return confirmed
}

// variant is the one of a name; empty, as in a cell: the only one.
func (q *question) variant(name string) *scenario.Variant {
	return &q.scenario.Variants[max(slices.IndexFunc(q.scenario.Variants, func(v scenario.Variant) bool { return v.Name == name }), 0)]
}

// attribute settles for which guarantee each violation of a lock speaks. One that has another reason than
// what its question is about counts where the same property is broken. Where it is broken nowhere
// else, it counts in the row of the guarantee that its property belongs to, if it shows without the fault; these cells are
// added. Otherwise it counts here: nothing that was seen is lost.
func attribute(all []*asked) (added []*asked) {
	take := func(wanted func(*asked) bool) {
		for _, k := range all {
			if k.aside == nil || k.explanation(all) != nil || !k.asideSaysMore() || !wanted(k) {
				continue
			}
			if k.home == "" || k.aside.State != card.Broken || k.home == k.guarantee || k.home == scenario.NoGuarantee {
				*k.cell, k.aside = *k.aside, nil
				continue
			}
			other := k.atHome()
			added, all = append(added, other), append(all, other)
		}
	}
	// Those come first whose guarantee is about such a property at all: it belongs to it, or shows only with the fault.
	take(func(k *asked) bool {
		p := checker.Property(k.aside.Property)
		return k.guarantee == scenario.Home(p) || k.home == "" && k.guarantee.Speaks(p)
	})
	take(func(k *asked) bool { return k.home != "" })
	take(func(*asked) bool { return true })
	for _, k := range all {
		if k.aside == nil {
			continue
		}
		other := k.explanation(all)
		if other == nil {
			continue
		}
		switch {
		case k.home != "" && k.cell.State == card.Unknown:
			k.cell.Why = strings.TrimSuffix(without(k.aside), ".") + ": see " + other.id + "."
		case k.cell.State == card.Unknown:
			k.cell.Why = fmt.Sprintf("It cannot be judged, because %s is violated here for another reason: see %s.", k.aside.Property, other.id)
		default:
			k.cell.Why += fmt.Sprintf(" (But %s is violated here for another reason: see %s.)", k.aside.Property, other.id)
		}
	}
	return added
}

// atHome is the violation aside in the row of the guarantee that its property belongs to.
func (k *asked) atHome() *asked {
	cell := *k.aside
	_, name, _ := strings.Cut(k.id, "/")
	cell.ID, cell.Title = string(k.home)+"/"+name, k.cell.Title
	var alone *scenario.Scenario
	if k.scenario != nil {
		v, less := k.elsewhere()
		if less { // else it has no fault
			cell.Title += " (without that)"
		}
		alone = with(k.scenario, []scenario.Variant{v})
	}
	return &asked{question: &question{id: cell.ID, title: cell.Title, guarantee: k.home, scenario: alone}, lock: k.lock, column: k.column,
		cell: &cell, shown: []checker.Property{checker.Property(cell.Property)}}
}

// settle settles for which guarantee each violation of a lock speaks, and takes the cells up that are added.
func settle(made *card.Card, column int, all []*asked) (added []*asked) {
	added = attribute(all)
	l := &made.Locks[column]
	for _, k := range added {
		l.Cells = append(l.Cells, *k.cell)
		row := card.Guarantee{Name: string(k.guarantee), Title: k.guarantee.Title()}
		if slices.Contains(made.Guarantees, row) {
			continue
		}
		made.Guarantees = append(made.Guarantees, row)
		order := scenario.Guarantees()
		slices.SortStableFunc(made.Guarantees, func(a, b card.Guarantee) int {
			return slices.Index(order, scenario.Guarantee(a.Name)) - slices.Index(order, scenario.Guarantee(b.Name))
		})
	}
	for _, k := range slices.Concat(all, added) { // the cells may have moved
		k.cell = l.Cell(k.id)
	}
	return added
}

// asideSaysMore reports that the cell of the violation aside is worse, or as unknown as the cell itself: then
// what was seen says more than that something was not.
func (k *asked) asideSaysMore() bool {
	return k.aside.State.Worse(k.cell.State) > 0 || k.aside.State == card.Unknown && k.cell.State == card.Unknown
}

// explanation is another question whose answer explains the violation aside; nil: there is none.
func (k *asked) explanation(all []*asked) *asked {
	if i := slices.IndexFunc(all, func(o *asked) bool { return o != k && o.explains(k.aside) }); i >= 0 {
		return all[i]
	}
	return nil
}

// explains reports that the cell is broken in a way that explains a violation seen elsewhere, too: because of the same property, since the
// same was assumed in vain, or because of another one, beside which that property was violated, too. But what speaks for no guarantee
// would never be told of then.
func (k *asked) explains(aside *card.Cell) bool {
	if k.cell.State != card.Broken {
		return false
	}
	if k.cell.Property == aside.Property {
		return k.cell.Assumption == aside.Assumption
	}
	p := checker.Property(aside.Property)
	if !scenario.DecidesAny(p) {
		return false
	}
	return slices.Contains(k.shown, p) || consequence(p) && slices.Contains(k.shown, checker.ExclusiveLease)
}

// only is a scenario with the variants of these names.
func only(s *scenario.Scenario, names []string) *scenario.Scenario {
	return with(s, slices.DeleteFunc(slices.Clone(s.Variants), func(v scenario.Variant) bool { return !slices.Contains(names, v.Name) }))
}

func (a *audit) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs = append(a.errs, err)
}

// run runs a scenario once with a lock in the place of its own. accuses is as in trial.Options.
func (a *audit) run(
	ctx context.Context, k *asked, s *scenario.Scenario, seed uint64, accuses func(*report.Variant) bool,
) (*trial.Trial, error) {
	o := a.Trial
	o.Accuses = accuses
	o.Seed, o.Tries, o.Programs, o.Out = seed, 1, k.lock.Programs, filepath.Join(a.Trial.Out, k.lock.Label)
	if k.within > 0 {
		o.Timeout = min(cmp.Or(o.Timeout, k.within), k.within)
	}
	o.Progress = func(variant, phase string) { a.Phase(k.lock.Label, k.id, variant, phase) }
	t, err := trial.Run(ctx, s, o)
	if t == nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, v := range t.Result.Versions {
		a.card.Versions[key] = v
	}
	a.card.Nodes = t.Result.Nodes
	return t, err
}
