package audit

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// TestSettle: which guarantee a violation speaks for is settled only when the answers of all shards are there, whoever gave them.
func TestSettle(t *testing.T) {
	questions := &card.Card{Locks: []card.Lock{{Label: "a", Cells: []card.Cell{
		{ID: "exclusive/one", Title: "one"}, {ID: "dead-holder/two", Title: "two"}, {ID: "fencing/three", Title: "three"}}}}}
	kept := card.Cell{ID: "dead-holder/two", State: card.Kept, Why: "It held."}
	aside := card.Cell{ID: "dead-holder/two", State: card.Broken, Why: "Two held it.", Property: string(checker.ExclusiveLease)}
	broken := card.Cell{ID: "exclusive/one", State: card.Broken, Why: "Two held it.", Property: string(checker.ExclusiveLease)}
	explained := Answer{Unit: 1, Cell: &kept, Aside: &aside, Shown: []checker.Property{checker.ExclusiveLease}}
	explains := Answer{Unit: 0, Cell: &broken, Shown: []checker.Property{checker.ExclusiveLease}}

	made := Settle(questions, []Answer{explained, explains}, "It is missing.")
	if got := made.Locks[0].Cell("dead-holder/two"); got.State != card.Kept {
		t.Errorf("explained by another shard's answer: %+v", got)
	}
	if got := made.Locks[0].Cell("fencing/three"); got.State != card.Unknown || got.Why != "It is missing." || got.Title != "three" {
		t.Errorf("without an answer: %+v", got)
	}
	made = Settle(questions, []Answer{explained}, "")
	if got := made.Locks[0].Cell("dead-holder/two"); got.State != card.Broken || len(made.Locks[0].Cells) != 1 {
		t.Errorf("explained by nothing: %+v", made.Locks[0].Cells)
	}
	if kept.State != card.Kept || aside.State != card.Broken || questions.Locks[0].Cells[0].State != "" {
		t.Error("the answers, or the questions, were changed")
	}
}

func TestCheckAnswers(t *testing.T) {
	questions := &card.Card{Locks: []card.Lock{{Cells: []card.Cell{{ID: "exclusive/one"}}}}}
	cell := func(change func(*card.Cell)) *card.Cell {
		c := &card.Cell{ID: "exclusive/one", State: card.Kept, Report: "a/report.html"}
		change(c)
		return c
	}
	plain := cell(func(*card.Cell) {})
	for name, c := range map[string]struct {
		answer Answer
		fine   bool
	}{
		"fine":       {Answer{Cell: plain}, true},
		"cost":       {Answer{Cost: &card.Cost{}}, true},
		"both":       {Answer{Cell: plain, Cost: &card.Cost{}}, false},
		"neither":    {Answer{}, false},
		"lock":       {Answer{Cell: plain, Lock: 1}, false},
		"no lock":    {Answer{Cell: plain, Lock: -1}, false},
		"unit":       {Answer{Cell: plain, Unit: 2}, false},
		"state":      {Answer{Cell: cell(func(c *card.Cell) { c.State = "great" })}, false},
		"question":   {Answer{Cell: cell(func(c *card.Cell) { c.ID = "exclusive/two" })}, false},
		"aside":      {Answer{Cell: plain, Aside: cell(func(c *card.Cell) { c.ID = "exclusive/two" })}, false},
		"home":       {Answer{Cell: plain, Home: "heaven"}, false},
		"report":     {Answer{Cell: cell(func(c *card.Cell) { c.Report = "../../x" })}, false},
		"scenario":   {Answer{Cell: cell(func(c *card.Cell) { c.Scenario = "/etc/passwd" })}, false},
		"its report": {Answer{Cost: &card.Cost{Report: "../x"}}, false},
	} {
		if err := CheckAnswers(questions, []Answer{c.answer}, 2); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
