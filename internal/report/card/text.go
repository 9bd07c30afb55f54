package card

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// cellLook is how a state of a cell looks: a word is always beside its shape and colour.
type cellLook struct {
	badge page.Badge
	// ascii is its mark where a terminal shows no more, tone its colour there.
	ascii    string
	tone     terminal.Tone
	markdown string
}

var cellLooks = map[State]cellLook{
	Kept:          {page.Badge{Class: "safe", Icon: "✓", Word: "kept"}, "+", terminal.Good, "✅"},
	Broken:        {page.Badge{Class: "unsafe", Icon: "✗", Word: "broken"}, "x", terminal.Bad, "❌"},
	ByDesign:      {page.Badge{Class: "limit", Icon: "≈", Word: "by design"}, "~", terminal.Seen, "⚠️"},
	Unknown:       {page.Badge{Class: "undecided", Icon: "?", Word: "unknown"}, "?", terminal.Doubt, "❔"},
	NotApplicable: {page.Badge{Class: "aside", Icon: "–", Word: "not applicable"}, "-", terminal.Faint, "➖"},
}

// Badge is how a page shows the state: template "badge" takes it.
func (s State) Badge() page.Badge { return cellLooks[s].badge }

func (p *printer) mark(s State) string {
	look := cellLooks[s]
	if p.Unicode {
		return look.badge.Icon
	}
	return look.ascii
}

// legend says what the words mean. It stands on every form of the card.
var legend = []struct {
	State State
	Means string
}{
	{Kept, "in every run that could tell (mostly one run of each case), nothing that is demanded was violated. It is no proof"},
	{Broken, "a violation was shown in three of at most ten runs (in virtual time in one), confirmed by what the nodes saw; " +
		"or sim conform found it"},
	{ByDesign, "no lock of this class can keep it; the sentence says why"},
	{NotApplicable, "the lock cannot do what the case needs, by its own words or its class"},
	{Unknown, "the runs could not tell, or what is violated here has another reason; it may be broken. Look at the report"},
}

// printer writes cards for a person at a terminal.
type printer struct{ *terminal.Printer }

// WriteText writes a card for a person at a terminal. dir is the card's folder.
func WriteText(w io.Writer, c *Card, dir string, o terminal.Options) error {
	p := printer{terminal.New(o)}
	if len(c.Locks) == 1 {
		p.head(&c.Locks[0], c)
		p.rows(c, &c.Locks[0], dir)
		p.costs(&c.Locks[0])
	} else {
		p.table(c)
		for i := range c.Locks {
			p.Print("\n")
			p.head(&c.Locks[i], c)
			p.troubles(c, &c.Locks[i], dir)
			p.costs(&c.Locks[i])
		}
	}
	for i := range c.Locks {
		p.sum(c, &c.Locks[i])
	}
	return p.WriteAll(w)
}

func (p *printer) head(l *Lock, c *Card) {
	facts := strings.Join(append(l.Facts(), c.facts()...), "   ")
	p.Print(p.Paint(terminal.Strong, plain.Text(l.Label)), "   ", p.Paint(terminal.Faint, plain.Text(facts)), "\n")
	if l.NotConforming != "" {
		p.Labelled(2, "does not conform", l.NotConforming+". So nothing is held against it here", terminal.Doubt)
	}
	for _, c := range l.Findings() {
		p.Labelled(2, "sim conform", c.Why, cellLooks[c.State].tone)
	}
}

// Findings are what sim conform found, but for what makes that nothing can be judged.
func (l *Lock) Findings() []Cell {
	if len(l.Conform) == 0 && l.Misbehaves != "" { // of an older card
		return []Cell{*l.conform()}
	}
	return l.Conform
}

// facts are those of the audit.
func (c *Card) facts() []string {
	list := []string{fmt.Sprintf("seed %d", c.Seed)}
	if word, _ := c.place(); word != "" {
		list = append(list, word)
	}
	if c.Interrupted {
		list = append(list, "interrupted")
	}
	if len(c.Missing) > 0 {
		list = append(list, page.MissingShards(c.Missing))
	}
	return list
}

// place says in a word and in a sentence where the runs took place.
func (c *Card) place() (word, sentence string) {
	if c.World == "virtual" && c.Nodes != "" {
		return "virtual time", "The runs took place in virtual time, with real programs and servers: network and clocks are models."
	}
	if c.World == "virtual" {
		return "virtual", "The runs took place in the virtual world: nodes, network and clocks are models."
	}
	return "", "The runs took place on one machine, with real Redis servers and processes."
}

const (
	guaranteeColumn = 22
	stateColumn     = 16
)

// rows writes a row for each guarantee, and below it the cells that a reader must see.
func (p *printer) rows(c *Card, l *Lock, dir string) {
	for _, g := range c.Guarantees {
		cells := l.cells(g.Name)
		if len(cells) == 0 {
			continue
		}
		state := l.Row(g.Name)
		text := l.rowWords(g.Name)
		if state == Broken || state == Unknown { // the cells below say why
			text = sumOf(cells) + "."
		}
		p.row(state, g.Name, text)
		if by := c.byDeployment(l, g.Name); by != "" {
			p.under(by)
		}
		for _, cell := range cells {
			if cell.troubles() {
				p.cell(cell, cell.Case(), dir)
			}
		}
	}
}

// troubles: a reader must see the cell. What was never run because the audit was interrupted is
// said once.
func (c *Cell) troubles() bool {
	return c.State == Broken || c.State == Unknown && c.Runs > 0
}

func (p *printer) row(state State, name, text string) {
	look := cellLooks[state]
	lead := 2 + 2 + guaranteeColumn + 1 + stateColumn
	lines := terminal.Wrap(plain.Text(text), p.Width-lead)
	p.Print("  ", p.Paint(look.tone, p.mark(state)), " ",
		terminal.Pad(plain.Text(name), guaranteeColumn), " ", p.Paint(look.tone, terminal.Pad(look.badge.Word, stateColumn)), lines[0], "\n")
	for _, line := range lines[1:] {
		p.Print(strings.Repeat(" ", lead), line, "\n")
	}
}

// under writes text below that of a row.
func (p *printer) under(text string) {
	lead := 2 + 2 + guaranteeColumn + 1 + stateColumn
	for _, line := range terminal.Wrap(plain.Text(text), p.Width-lead) {
		p.Print(strings.Repeat(" ", lead), p.Paint(terminal.Faint, line), "\n")
	}
}

// rowWords are the sentence of the cell that stands for the row where there is one, else how
// many cases there are of each state.
func (l *Lock) rowWords(guarantee string) string {
	cells, state := l.cells(guarantee), l.Row(guarantee)
	var worst []*Cell
	for _, c := range cells {
		if c.State == state {
			worst = append(worst, c)
		}
	}
	why, sum := worst[0].Why, sumOf(cells)
	if state == Kept {
		if len(worst) > 1 {
			return sum + "."
		}
		return why
	}
	if state == NotApplicable { // rather of a case that was run
		if run := slices.IndexFunc(worst, func(c *Cell) bool { return c.Runs > 0 }); run >= 0 {
			return worst[run].Why
		}
		return why
	}
	if state == ByDesign {
		why, _, _ = strings.Cut(why, HereWords)
	}
	return why + " (" + sum + ")"
}

// sumOf counts cells by their states, the worst first.
func sumOf(cells []*Cell) string {
	var states []State
	for _, c := range cells {
		states = append(states, c.State)
	}
	return words.Count(len(cells), "case") + ": " + countStates(states)
}

// countStates says how often there is each state, the worst first.
func countStates(states []State) string {
	var parts []string
	for _, s := range slices.Backward(States()) {
		n := 0
		for _, one := range states {
			if one == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// HereWords begin what was seen, behind a general reason.
const HereWords = " Here: "

func (p *printer) cell(c *Cell, name, dir string) {
	look := cellLooks[c.State]
	if c.Variant != "" {
		name += ", " + c.Variant
	}
	p.Print("      ", p.Paint(look.tone, p.mark(c.State)), " ", p.Paint(terminal.Strong, plain.Text(name)), "\n")
	for _, line := range terminal.Wrap(plain.Text(c.Said()), p.Width-8) {
		p.Print("        ", line, "\n")
	}
	for _, file := range [][2]string{{"report", c.Report}, {"shortest", c.Scenario}} {
		if file[1] != "" {
			p.Print("        ", p.Paint(terminal.Faint, terminal.Pad(file[0], 9)), plain.Text(path.Join(dir, file[1])), "\n")
		}
	}
	if c.Replay != "" {
		p.Print("        ", p.Paint(terminal.Faint, terminal.Pad("replay", 9)), plain.Text(c.Replay), "\n")
	}
}

// table sets locks side by side.
func (p *printer) table(c *Card) {
	last := len(c.Locks) - 1
	width := make([]int, len(c.Locks)) // nothing follows the last column
	p.Print("  ", strings.Repeat(" ", guaranteeColumn))
	for i := range c.Locks {
		if i < last {
			width[i] = max(utf8.RuneCountInString(plain.Text(c.Locks[i].Label)), stateColumn)
		}
		p.Print("  ", p.Paint(terminal.Strong, terminal.Pad(plain.Text(c.Locks[i].Label), width[i])))
	}
	p.Print("\n")
	for _, g := range c.Guarantees {
		p.Print("  ", terminal.Pad(plain.Text(g.Name), guaranteeColumn))
		for i := range c.Locks {
			state := c.Locks[i].Row(g.Name)
			look := cellLooks[state]
			p.Print("  ", p.Paint(look.tone, terminal.Pad(p.mark(state)+" "+look.badge.Word, width[i])))
		}
		p.Print("\n")
	}
}

// troubles are the cells of one of several locks that a reader must see.
func (p *printer) troubles(c *Card, l *Lock, dir string) {
	for _, g := range c.Guarantees {
		for _, cell := range l.cells(g.Name) {
			if cell.troubles() {
				p.cell(cell, cell.ID, dir)
			}
		}
	}
}

// costs writes what a lock costs.
func (p *printer) costs(l *Lock) {
	for i := range l.Costs {
		c := &l.Costs[i]
		p.Labelled(2, plain.Text(c.Scenario+", "+c.Variant), report.CostWords(&c.Cost), terminal.Faint)
	}
}

// sum counts the guarantees of a lock by their states, the worst first.
func (p *printer) sum(c *Card, l *Lock) {
	p.Print(p.Paint(terminal.Strong, plain.Text(l.Label)), ": ", l.sum(c), "\n")
}

// sum counts the guarantees by their states, the worst first.
func (l *Lock) sum(c *Card) string {
	var rows []State
	for _, g := range c.Guarantees {
		rows = append(rows, l.Row(g.Name))
	}
	return words.Count(len(rows), "guarantee") + ": " + countStates(rows)
}

// WriteChanges writes how a card differs from the one that is expected.
func WriteChanges(w io.Writer, changes []Change, o terminal.Options) error {
	p := printer{terminal.New(o)}
	for _, change := range changes {
		t, word := terminal.Doubt, "note"
		if change.Red {
			t, word = terminal.Bad, "NOT AS EXPECTED"
		}
		p.Labelled(0, word, fmt.Sprintf("%s: %s: %s. %s", change.Lock, change.Cell.ID, change.Why, change.Cell.Why), t)
	}
	return p.WriteAll(w)
}
