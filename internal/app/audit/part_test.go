package audit

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// TestSettle: which guarantee a violation speaks for is settled only when the answers of all shards are there, whoever gave them.
func TestSettle(t *testing.T) {
	questions := &report.Card{Locks: []report.CardLock{{Label: "a", Cells: []report.Cell{
		{ID: "exclusive/one", Title: "one"}, {ID: "dead-holder/two", Title: "two"}, {ID: "fencing/three", Title: "three"}}}}}
	kept := report.Cell{ID: "dead-holder/two", State: report.CellKept, Why: "It held."}
	aside := report.Cell{ID: "dead-holder/two", State: report.CellBroken, Why: "Two held it.", Property: string(checker.ExclusiveLease)}
	broken := report.Cell{ID: "exclusive/one", State: report.CellBroken, Why: "Two held it.", Property: string(checker.ExclusiveLease)}
	explained := Answer{Unit: 1, Cell: &kept, Aside: &aside, Shown: []checker.Property{checker.ExclusiveLease}}
	explains := Answer{Unit: 0, Cell: &broken, Shown: []checker.Property{checker.ExclusiveLease}}

	card := Settle(questions, []Answer{explained, explains}, "It is missing.")
	if got := card.Locks[0].Cell("dead-holder/two"); got.State != report.CellKept {
		t.Errorf("explained by another shard's answer: %+v", got)
	}
	if got := card.Locks[0].Cell("fencing/three"); got.State != report.CellUnknown || got.Why != "It is missing." || got.Title != "three" {
		t.Errorf("without an answer: %+v", got)
	}
	card = Settle(questions, []Answer{explained}, "")
	if got := card.Locks[0].Cell("dead-holder/two"); got.State != report.CellBroken || len(card.Locks[0].Cells) != 1 {
		t.Errorf("explained by nothing: %+v", card.Locks[0].Cells)
	}
	if kept.State != report.CellKept || aside.State != report.CellBroken || questions.Locks[0].Cells[0].State != "" {
		t.Error("the answers, or the questions, were changed")
	}
}

func TestCheckAnswers(t *testing.T) {
	questions := &report.Card{Locks: []report.CardLock{{Cells: []report.Cell{{ID: "exclusive/one"}}}}}
	cell := func(change func(*report.Cell)) *report.Cell {
		c := &report.Cell{ID: "exclusive/one", State: report.CellKept, Report: "a/report.html"}
		change(c)
		return c
	}
	plain := cell(func(*report.Cell) {})
	for name, c := range map[string]struct {
		answer Answer
		fine   bool
	}{
		"fine":       {Answer{Cell: plain}, true},
		"cost":       {Answer{Cost: &report.CardCost{}}, true},
		"both":       {Answer{Cell: plain, Cost: &report.CardCost{}}, false},
		"neither":    {Answer{}, false},
		"lock":       {Answer{Cell: plain, Lock: 1}, false},
		"no lock":    {Answer{Cell: plain, Lock: -1}, false},
		"unit":       {Answer{Cell: plain, Unit: 2}, false},
		"state":      {Answer{Cell: cell(func(c *report.Cell) { c.State = "great" })}, false},
		"question":   {Answer{Cell: cell(func(c *report.Cell) { c.ID = "exclusive/two" })}, false},
		"aside":      {Answer{Cell: plain, Aside: cell(func(c *report.Cell) { c.ID = "exclusive/two" })}, false},
		"home":       {Answer{Cell: plain, Home: "heaven"}, false},
		"report":     {Answer{Cell: cell(func(c *report.Cell) { c.Report = "../../x" })}, false},
		"scenario":   {Answer{Cell: cell(func(c *report.Cell) { c.Scenario = "/etc/passwd" })}, false},
		"its report": {Answer{Cost: &report.CardCost{Report: "../x"}}, false},
	} {
		if err := CheckAnswers(questions, []Answer{c.answer}, 2); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
