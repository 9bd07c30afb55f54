package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// CardVersion is the version of the shape that Card has as JSON (card.json and
// `sim audit --json`). A field may be added without a new version; none changes its meaning or
// goes.
const CardVersion = 1

// Card is a report card: what can be relied on with one lock, or with several side by side.
type Card struct {
	CardVersion int `json:"card_version"`
	// World is live or virtual, Nodes how the nodes were provided (empty in the virtual world).
	World string `json:"world"`
	Nodes string `json:"nodes,omitempty"`
	Seed  uint64 `json:"seed"`
	// Started is RFC 3339; WallMS the time that the audit took.
	Started     string `json:"started,omitempty"`
	WallMS      int64  `json:"wall_ms"`
	Interrupted bool   `json:"interrupted,omitempty"`
	// Missing are the shards that a merged card lacks: their cells are unknown.
	Missing  []string          `json:"missing,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
	// Replay is the command line that makes the card again.
	Replay string `json:"replay,omitempty"`
	// Guarantees are the rows, in order.
	Guarantees []CardGuarantee `json:"guarantees"`
	Locks      []CardLock      `json:"locks"`
}

// CardGuarantee is a row of the card.
type CardGuarantee struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// CardLock is a column of the card: one lock.
type CardLock struct {
	// Label is its name on this card, Command what stands behind --lock for it.
	Label   string `json:"label"`
	Command string `json:"command,omitempty"`
	Lock
	// NotConforming says why nothing may be held against a lock program: it does not keep to
	// the protocol. Empty: it conforms, or is a built-in lock.
	NotConforming string `json:"not_conforming,omitempty"`
	// Misbehaves is what sim conform found that the lock itself does wrong; empty: nothing.
	Misbehaves string `json:"misbehaves,omitempty"`
	// Conform are the checks of sim conform that failed, each as a cell of the row in which it counts.
	Conform []Cell `json:"conform,omitempty"`
	Cells   []Cell `json:"cells"`
	// Costs are what the lock costs, in several settings.
	Costs []CardCost `json:"costs,omitempty"`
}

// CardCost is what a lock costs in one setting.
type CardCost struct {
	// Scenario and Variant name the setting.
	Scenario string       `json:"scenario"`
	Variant  string       `json:"variant"`
	Cost     checker.Cost `json:"cost"`
	// Report is the report of the run, below the card's folder.
	Report string `json:"report,omitempty"`
}

// CellState is what a cell says.
type CellState string

// The states, the worst last.
const (
	CellNotApplicable CellState = "not applicable"
	CellKept          CellState = "kept"
	CellByDesign      CellState = "by design"
	CellUnknown       CellState = "unknown"
	CellBroken        CellState = "broken"
)

// CellStates lists the states, the worst last.
func CellStates() []CellState {
	return []CellState{CellNotApplicable, CellKept, CellByDesign, CellUnknown, CellBroken}
}

// Worse compares two states: positive if s is the worse one.
func (s CellState) Worse(other CellState) int {
	return slices.Index(CellStates(), s) - slices.Index(CellStates(), other)
}

// Cell is what an audit found out about one lock in one case.
type Cell struct {
	// ID is guarantee/case, and never changes.
	ID string `json:"id"`
	// Title is the case in one line.
	Title string    `json:"title"`
	State CellState `json:"state"`
	// Why is one sentence.
	Why string `json:"why"`
	// Property and Variant decided.
	Property string `json:"property,omitempty"`
	Variant  string `json:"variant,omitempty"`
	// Runs is how many runs of the variants that decided were made. Violated is in how many of
	// them the property was violated, Undecided how many could not tell.
	Runs      int `json:"runs"`
	Violated  int `json:"violated"`
	Undecided int `json:"undecided"`
	// TooSlow: it is unknown because this machine was too slow.
	TooSlow bool `json:"too_slow,omitempty"`
	// Flaky: the runs differed. In a card that is expected: the cell may be kept or broken.
	Flaky bool `json:"flaky,omitempty"`
	// Report and Scenario are files below the card's folder: the report of the run that shows it,
	// and the shortest scenario that was found to show a violation.
	Report   string `json:"report,omitempty"`
	Scenario string `json:"scenario,omitempty"`
	// Replay is the command line that shows it again.
	Replay string `json:"replay,omitempty"`
}

// Guarantee is the row that the cell is in, and Case the rest of its ID.
func (c *Cell) Guarantee() string { name, _, _ := strings.Cut(c.ID, "/"); return name }
func (c *Cell) Case() string      { _, name, _ := strings.Cut(c.ID, "/"); return name }

// Rate says in how many runs the property was violated; empty: in none.
func (c *Cell) Rate() string {
	if c.Violated == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s", c.Violated, words.GroupedCount(c.Runs, "run"))
}

// TooSlowWords begin why a cell is unknown for which this machine was too slow.
const TooSlowWords = "This machine was too slow: "

// TooSlow says for how many cases this machine was too slow; empty: for none.
func (c *Card) TooSlow() string {
	slow, all, why := 0, 0, ""
	for i := range c.Locks {
		for _, cell := range c.Locks[i].Cells {
			if cell.Runs > 0 {
				all++
			}
			if cell.TooSlow {
				slow, why = slow+1, cmp.Or(why, cell.Why)
			}
		}
	}
	if slow == 0 {
		return ""
	}
	return fmt.Sprintf("this machine was too slow for %d of %s, the first: %s",
		slow, words.GroupedCount(all, "case"), plain.Text(strings.TrimPrefix(why, TooSlowWords)))
}

// cells are those of a guarantee, first what sim conform found.
func (l *CardLock) cells(guarantee string) []*Cell {
	var list []*Cell
	for _, c := range l.all() {
		if c.Guarantee() == guarantee {
			list = append(list, c)
		}
	}
	return list
}

// all are all cells, first what sim conform found.
func (l *CardLock) all() (list []*Cell) {
	for _, cells := range [][]Cell{l.Conform, l.Cells} {
		for i := range cells {
			list = append(list, &cells[i])
		}
	}
	return list
}

// NoRow stands in the place of a guarantee in the ID of what counts in no row.
const NoRow = "conform"

// Row is the state of a guarantee: that of its worst cell. Without a cell it is not applicable.
func (l *CardLock) Row(guarantee string) CellState {
	worst := CellNotApplicable
	for _, c := range l.cells(guarantee) {
		if c.State.Worse(worst) > 0 {
			worst = c.State
		}
	}
	return worst
}

// Cell is the one with an ID; nil: there is none.
func (l *CardLock) Cell(id string) *Cell {
	all := l.all()
	if i := slices.IndexFunc(all, func(c *Cell) bool { return c.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// Has reports that a cell is in a state; what sim conform found counts where it is no praise.
func (c *Card) Has(s CellState) bool {
	return slices.ContainsFunc(c.Locks, func(l CardLock) bool {
		return slices.ContainsFunc(l.all(), func(c *Cell) bool { return c.State == s }) || s != CellKept && l.conform().State == s
	})
}

// conform is what sim conform found, as a cell: it counts as one.
func (l *CardLock) conform() *Cell {
	c := &Cell{ID: "conform", State: CellKept}
	switch {
	case l.NotConforming != "":
		c.State, c.Why = CellUnknown, "It does not conform to the lock protocol: "+l.NotConforming+"."
	case l.Misbehaves != "":
		c.State, c.Why = CellBroken, l.Misbehaves+"."
	}
	return c
}

// WriteCardJSON writes a card as card.json has it.
func WriteCardJSON(w io.Writer, c *Card) error { return writeIndented(w, "the card", c) }

// ReadCard reads what WriteCardJSON wrote.
func ReadCard(rd io.Reader) (*Card, error) {
	var c Card
	if err := readBounded(rd, "card", &c); err != nil {
		return nil, err
	}
	switch {
	case c.CardVersion < 1:
		return nil, errors.New("not a card: no card_version")
	case c.CardVersion > CardVersion:
		return nil, fmt.Errorf("card version %d: this program reads version %d", c.CardVersion, CardVersion)
	}
	for i := range c.Locks {
		for _, cell := range c.Locks[i].all() {
			if !slices.Contains(CellStates(), cell.State) {
				return nil, fmt.Errorf("not a card: %q of %q is %q", cell.ID, c.Locks[i].Label, cell.State)
			}
		}
	}
	return &c, nil
}
