// Package card has the report card of an audit: what can be relied on with a lock. It writes a card
// as text, JSON, Markdown and HTML, and compares it with the one that is expected.
package card

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Version is the version of the shape that Card has as JSON (card.json and
// `sim audit --json`). A field may be added without a new version; none changes its meaning or
// goes.
const Version = 1

// Card is a report card: what can be relied on with one lock, or with several side by side.
type Card struct {
	CardVersion int `json:"card_version"`
	// World is live or virtual, Nodes how the nodes were provided (empty where they are models).
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
	Guarantees []Guarantee `json:"guarantees"`
	// Deployments are all ways of keeping a lock in which something is asked, in order: how the nodes are arranged and what they promise,
	// such as "one node, fsync always".
	Deployments []string `json:"deployments,omitempty"`
	Locks       []Lock   `json:"locks"`
}

// Guarantee is a row of the card.
type Guarantee struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Lock is a column of the card: one lock.
type Lock struct {
	// Label is its name on this card, Command what stands behind --lock for it.
	Label   string `json:"label"`
	Command string `json:"command,omitempty"`
	report.Lock
	// NotConforming says why nothing may be held against a lock program: it does not keep to
	// the protocol. Empty: it conforms, or is a built-in lock.
	NotConforming string `json:"not_conforming,omitempty"`
	// Misbehaves is what sim conform found that the lock itself does wrong; empty: nothing.
	Misbehaves string `json:"misbehaves,omitempty"`
	// Conform are the checks of sim conform that failed, each as a cell of the row in which it counts.
	Conform []Cell `json:"conform,omitempty"`
	// DeadNode is how long its client needs where a node is dead, if that is longer than it is asked to.
	DeadNode time.Duration `json:"dead_node_ns,omitempty"`
	Cells    []Cell        `json:"cells"`
	// Costs are what the lock costs, in several settings.
	Costs []Cost `json:"costs,omitempty"`
}

// Facts say of a lock what a reader of its column must know.
func (l *Lock) Facts() []string {
	list := l.Lock.Facts()
	if l.DeadNode > 0 {
		list = append(list, fmt.Sprintf("with a dead node its client needs %.1f s", l.DeadNode.Seconds()))
	}
	return list
}

// Cost is what a lock costs in one setting.
type Cost struct {
	// Scenario and Variant name the setting.
	Scenario string       `json:"scenario"`
	Variant  string       `json:"variant"`
	Cost     checker.Cost `json:"cost"`
	// Report is the report of the run, below the card's folder.
	Report string `json:"report,omitempty"`
}

// State is what a cell says.
type State string

// The states, the worst last.
const (
	NotApplicable State = "not applicable"
	Kept          State = "kept"
	ByDesign      State = "by design"
	Unknown       State = "unknown"
	Broken        State = "broken"
)

// States lists the states, the worst last.
func States() []State {
	return []State{NotApplicable, Kept, ByDesign, Unknown, Broken}
}

// Worse compares two states: positive if s is the worse one.
func (s State) Worse(other State) int {
	return slices.Index(States(), s) - slices.Index(States(), other)
}

// Cell is what an audit found out about one lock in one case.
type Cell struct {
	// ID is guarantee/case, and never changes.
	ID string `json:"id"`
	// Title is the case in one line.
	Title string `json:"title"`
	State State  `json:"state"`
	// Why is one sentence.
	Why string `json:"why"`
	// Property and Variant decided.
	Property string `json:"property,omitempty"`
	Variant  string `json:"variant,omitempty"`
	// Assumption is what a violation shows to have been assumed in vain.
	Assumption string `json:"assumption,omitempty"`
	// Runs is how many runs of the variants that decided were made. Violated is in how many of
	// them the property was violated, Undecided how many could not tell.
	Runs      int `json:"runs"`
	Violated  int `json:"violated"`
	Undecided int `json:"undecided"`
	// Deployments are where it was tried, in the card's order, with what came of it there.
	Deployments []Deployed `json:"deployments,omitempty"`
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

// Deployed is what came of a case where a lock is kept in one way.
type Deployed struct {
	Deployment string `json:"deployment"`
	State      State  `json:"state"`
}

// Become changes the state of the cell, and that of the deployments which had it.
func (c *Cell) Become(s State) {
	c.Deployments = slices.Clone(c.Deployments)
	for i := range c.Deployments {
		if c.Deployments[i].State == c.State {
			c.Deployments[i].State = s
		}
	}
	c.State = s
}

// Guarantee is the row that the cell is in, and Case the rest of its ID.
func (c *Cell) Guarantee() string { name, _, _ := strings.Cut(c.ID, "/"); return name }
func (c *Cell) Case() string      { _, name, _ := strings.Cut(c.ID, "/"); return name }

// Rate says in how many runs the property was violated; empty: in none.
func (c *Cell) Rate() string {
	if c.Violated == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s", c.Violated, words.Count(c.Runs, "run"))
}

// Said is why the cell has its state, and what failed if it is violated.
func (c *Cell) Said() string {
	if c.Assumption == "" {
		return c.Why
	}
	return c.Why + " What failed is the assumption " + c.Assumption + "."
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
		slow, words.Count(all, "case"), plain.Text(strings.TrimPrefix(why, TooSlowWords)))
}

// cells are those of a guarantee, first what sim conform found.
func (l *Lock) cells(guarantee string) []*Cell {
	var list []*Cell
	for _, c := range l.all() {
		if c.Guarantee() == guarantee {
			list = append(list, c)
		}
	}
	return list
}

// all are all cells, first what sim conform found.
func (l *Lock) all() (list []*Cell) {
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
func (l *Lock) Row(guarantee string) State {
	worst := NotApplicable
	for _, c := range l.cells(guarantee) {
		if c.State.Worse(worst) > 0 {
			worst = c.State
		}
	}
	return worst
}

// RowIn is a Row of the deployments alone whose name begins so: "several nodes" is also "several nodes, fsync always".
func (l *Lock) RowIn(guarantee, deployments string) State {
	worst := NotApplicable
	for d, state := range l.rowOn(guarantee) {
		if strings.HasPrefix(d, deployments) && state.Worse(worst) > 0 {
			worst = state
		}
	}
	return worst
}

// rowOn are the states of a guarantee where the lock is kept in each way that was tried, the worst of its cells.
func (l *Lock) rowOn(guarantee string) map[string]State {
	row := make(map[string]State)
	for _, c := range l.cells(guarantee) {
		for _, d := range c.Deployments {
			if worst, known := row[d.Deployment]; !known || d.State.Worse(worst) > 0 {
				row[d.Deployment] = d.State
			}
		}
	}
	return row
}

// byDeployment says of a guarantee how it differs from one deployment to the other; empty: it does not.
func (c *Card) byDeployment(l *Lock, guarantee string) string {
	row, states := l.rowOn(guarantee), make(map[State]bool)
	var parts []string
	for _, d := range c.Deployments {
		if s, known := row[d]; known && s != NotApplicable {
			parts, states[s] = append(parts, fmt.Sprintf("%s: %s", d, s)), true
		}
	}
	if len(states) < 2 {
		return ""
	}
	return strings.Join(parts, "; ")
}

// Cell is the one with an ID; nil: there is none.
func (l *Lock) Cell(id string) *Cell {
	all := l.all()
	if i := slices.IndexFunc(all, func(c *Cell) bool { return c.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// Has reports that a cell is in a state; what sim conform found counts where it is no praise.
func (c *Card) Has(s State) bool {
	return slices.ContainsFunc(c.Locks, func(l Lock) bool {
		return slices.ContainsFunc(l.all(), func(c *Cell) bool { return c.State == s }) || s != Kept && l.conform().State == s
	})
}

// conform is what sim conform found, as a cell: it counts as one.
func (l *Lock) conform() *Cell {
	c := &Cell{ID: "conform", State: Kept}
	if l.NotConforming != "" {
		c.State, c.Why = Unknown, "It does not conform to the lock protocol: "+l.NotConforming+"."
	} else if l.Misbehaves != "" {
		c.State, c.Why = Broken, l.Misbehaves+"."
	}
	return c
}

// WriteJSON writes a card as card.json has it.
func WriteJSON(w io.Writer, c *Card) error { return report.WriteIndented(w, "the card", c) }

// Read reads what WriteJSON wrote.
func Read(rd io.Reader) (*Card, error) {
	var c Card
	if err := report.ReadBounded(rd, "card", &c); err != nil {
		return nil, err
	}
	if c.CardVersion < 1 {
		return nil, errors.New("not a card: no card_version")
	}
	if c.CardVersion > Version {
		return nil, fmt.Errorf("card version %d: this program reads version %d", c.CardVersion, Version)
	}
	for i := range c.Locks {
		for _, cell := range c.Locks[i].all() {
			if !slices.Contains(States(), cell.State) {
				return nil, fmt.Errorf("not a card: %q of %q is %q", cell.ID, c.Locks[i].Label, cell.State)
			}
		}
	}
	return &c, nil
}
