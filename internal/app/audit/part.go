package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Answer is what came of one question of an audit, or of one measurement of costs, before it is settled
// for which guarantee each violation speaks: that takes the answers to all questions of a lock.
type Answer struct {
	// Unit is which piece of work of the audit it is, Lock which lock it is about, both from 0.
	Unit uint64 `json:"unit"`
	Lock int    `json:"lock"`
	// Cell is the answer. Aside is the cell of a violation that may have another reason than what the question is about. Home is the guarantee
	// that it belongs to, where it shows also without the faults of the question, or where it is about them (whole). Shown are all properties
	// whose violation was shown.
	Cell  *card.Cell         `json:"cell,omitempty"`
	Aside *card.Cell         `json:"aside,omitempty"`
	Home  scenario.Guarantee `json:"home,omitempty"`
	Whole bool               `json:"whole,omitempty"`
	Shown []checker.Property `json:"shown,omitempty"`
	// Cost was measured, where it is no question.
	Cost *card.Cost `json:"cost,omitempty"`
}

// units are the pieces of work: of each lock the questions, and then the measurements of costs.
func (o *Options) units() (all []*asked) {
	for i := range o.Locks {
		l := &o.Locks[i]
		for _, q := range battery(o.Scenarios, l.StandIn) {
			all = append(all, &asked{question: &q, lock: l, column: i})
		}
		for _, s := range costs(o.Costs, l.StandIn) {
			all = append(all, &asked{question: &question{id: "cost/" + s.Name, scenario: s}, lock: l, column: i, within: mostForCosts, costs: true})
		}
	}
	for i := range all {
		all[i].unit = i
	}
	return all
}

// Lengths are about how long the pieces of work take, each if it is run once, where the lock takes as long as
// the scenario's own.
func (o *Options) Lengths(ctx context.Context) []time.Duration {
	all := o.units()
	lengths := make([]time.Duration, len(all))
	known := make(map[string]time.Duration)
	for i, k := range all {
		if k.scenario == nil { // there is nothing to run
			continue
		}
		if known[k.id] == 0 {
			known[k.id] = trial.Lengths(ctx, []*scenario.Scenario{k.scenario}, o.Trial.World, o.Trial.Seed)[0]
		}
		lengths[i] = known[k.id]
	}
	return lengths
}

// RunPart does some pieces of work of an audit. The card has all questions and no answers.
func RunPart(ctx context.Context, o Options, mine []int) (*card.Card, []Answer, error) {
	a, list := newAudit(o)
	began := o.Trial.Now()
	isMine := func(k *asked) bool { _, ok := slices.BinarySearch(mine, k.unit); return ok }
	questions := slices.DeleteFunc(slices.Clone(list), func(k *asked) bool { return k.costs || !isMine(k) })
	open := slices.DeleteFunc(slices.Clone(questions), func(k *asked) bool { return k.scenario == nil })
	for _, k := range list { // the card keeps its own
		if k.cell != nil {
			own := *k.cell
			k.cell = &own
		}
	}
	mineToo := slices.DeleteFunc(slices.Clone(list), func(k *asked) bool { return !isMine(k) })
	a.ask(ctx, open, mineToo)
	if o.Shorten {
		a.each(open, func(k *asked) { a.shortenPart(ctx, k) })
	}
	var answers []Answer
	for _, k := range questions {
		answers = append(answers, Answer{Unit: uint64(k.unit), Lock: k.column, Cell: k.cell,
			Aside: k.aside, Home: k.home, Whole: k.whole, Shown: k.shown})
	}
	for _, k := range a.costs(ctx, mineToo) {
		answers = append(answers, Answer{Unit: uint64(k.unit), Lock: k.column, Cost: k.cost})
	}
	a.card.Interrupted, a.card.WallMS = ctx.Err() != nil, o.Trial.Now().Sub(began).Milliseconds()
	return a.card, answers, errors.Join(a.errs...)
}

// shortenPart looks for the shortest scenario of the cell, or else of the violation aside: that may become the cell.
func (a *audit) shortenPart(ctx context.Context, k *asked) {
	aside := *k
	if aside.cell = k.aside; k.home != "" && k.aside != nil {
		if v, less := k.elsewhere(); less {
			q := *k.question
			q.scenario = with(k.scenario, []scenario.Variant{v})
			aside.question = &q
		}
	}
	if ctx.Err() != nil {
		return
	}
	if k.cell.State == card.Broken {
		a.shorten(ctx, k)
	} else if k.aside != nil && k.aside.State == card.Broken {
		a.shorten(ctx, &aside)
	}
}

// Settle puts answers to the questions of a card: the card of an audit that gave them all. What has no answer is left out; or it is
// unknown, where missing says why.
func Settle(questions *card.Card, answers []Answer, missing string) *card.Card {
	made := *questions
	made.Locks, made.Guarantees = slices.Clone(questions.Locks), slices.Clone(questions.Guarantees)
	answers = slices.Clone(answers)
	slices.SortFunc(answers, func(a, b Answer) int { return cmp.Compare(a.Unit, b.Unit) })
	for i := range made.Locks {
		l := &made.Locks[i]
		cells := slices.Clone(l.Cells)
		l.Costs = nil
		answered := make([]bool, len(cells))
		var all []*asked
		for j := range cells {
			c := &cells[j]
			c.State, c.Why = card.Unknown, missing
			at := slices.IndexFunc(answers, func(a Answer) bool { return a.Lock == i && a.Cell != nil && a.Cell.ID == c.ID })
			if at < 0 {
				continue
			}
			answered[j] = true
			a := &answers[at]
			*c = *a.Cell
			k := &asked{question: &question{id: c.ID, guarantee: scenario.Guarantee(c.Guarantee())}, cell: c,
				shown: a.Shown, home: a.Home, whole: a.Whole}
			if a.Aside != nil {
				aside := *a.Aside
				k.aside = &aside
			}
			all = append(all, k)
		}
		l.Cells = cells
		settle(&made, i, all)
		l.Cells = slices.DeleteFunc(l.Cells, func(c card.Cell) bool {
			j := slices.IndexFunc(questions.Locks[i].Cells, func(q card.Cell) bool { return q.ID == c.ID })
			return j >= 0 && !answered[j] && missing == ""
		})
		for _, a := range answers {
			if a.Lock == i && a.Cost != nil {
				l.Costs = append(l.Costs, *a.Cost)
			}
		}
	}
	return &made
}

// CheckAnswers reports what cannot be true of answers that were read from a file.
func CheckAnswers(questions *card.Card, answers []Answer, units uint64) error {
	for _, a := range answers {
		if a.Lock < 0 || a.Lock >= len(questions.Locks) || a.Unit >= units || (a.Cell == nil) == (a.Cost == nil) {
			return fmt.Errorf("the answer %d is to no question", a.Unit)
		}
		if a.Home != "" && !slices.Contains(scenario.Guarantees(), a.Home) {
			return fmt.Errorf("the answer %d belongs to no guarantee", a.Unit)
		}
		for _, c := range []*card.Cell{a.Cell, a.Aside} {
			if c == nil {
				continue
			}
			if a.Cell == nil || c.ID != a.Cell.ID || questions.Locks[a.Lock].Cell(c.ID) == nil || !slices.Contains(card.States(), c.State) {
				return fmt.Errorf("the answer %d is to no question", a.Unit)
			}
			if !below(c.Report) || !below(c.Scenario) {
				return fmt.Errorf("the files of %s are not below the shard's folder", c.ID)
			}
		}
		if a.Cost != nil && !below(a.Cost.Report) {
			return fmt.Errorf("the files of %s are not below the shard's folder", a.Cost.Scenario)
		}
	}
	return nil
}

func below(file string) bool { return file == "" || filepath.IsLocal(filepath.FromSlash(file)) }
