package trackrecord

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Record is what both pages show. It depends on what is kept alone.
type Record struct {
	// Locks are the columns: the libraries that have a card. Missing are the others.
	Locks   []lock
	Missing []Library
	Rows    []Row
	// Findings are reported, and explained. Withheld are not reported yet, Open are those that nobody has looked into.
	Findings []explained
	Withheld []Finding
	Open     []open
}

// lock is a library with what was measured: its card, its column on that, and what was searched.
type lock struct {
	Library
	// Promises are what its documentation says; the zero value: nobody has looked.
	Promises Promises
	// found are the guarantees in which findings are. Later are how many cases of each came after the card was made.
	found    []string
	Later    map[string]int
	Card     *card.Card
	On       *card.Lock
	Searches []*search
}

// Row is a guarantee; Cells go with the locks.
type Row struct {
	card.Guarantee
	Cells []cell
}

// cell is a guarantee of a lock: the worst state of its cases, and how many of those that apply are kept.
type cell struct {
	Lock  string
	State card.State
	Count string
	// Link leads to what the page says of it.
	Link string
	// Later is how many cases of it came after the card was made.
	Later int
	// Found: a finding alone says that it is broken.
	Found bool
	// byDesign: a case of it is, whatever the others are.
	byDesign bool
}

// atOnce is how many locks a table has side by side: more do not fit into a window.
const atOnce = 14

// Tables are the guarantees of all locks, in parts that fit into a window.
func (r *Record) Tables() (parts []Record) {
	for locks := range slices.Chunk(r.Locks, atOnce) {
		part, begin := Record{Locks: locks}, len(parts)*atOnce
		for _, row := range r.Rows {
			cells := slices.Clone(row.Cells[begin : begin+len(locks)])
			for i := range cells {
				cells[i].Link = r.linkOf(&cells[i], row.Name)
			}
			part.Rows = append(part.Rows, Row{row.Guarantee, cells})
		}
		parts = append(parts, part)
	}
	return parts
}

// Short is the count in the letters that a narrow column has room for.
func (c cell) Short() string { return strings.NewReplacer(" of ", "/", " kept", "").Replace(c.Count) }

// linkOf leads from a cell to the finding that says why it is broken, or else to what is said of the lock.
func (r *Record) linkOf(c *cell, guarantee string) string {
	if c.State == card.Broken {
		for i := range r.Findings {
			if r.Findings[i].in(c.Lock, guarantee) {
				return "#" + r.Findings[i].ID
			}
		}
		for i := range r.Withheld {
			if c.Found && r.Withheld[i].in(c.Lock, guarantee) {
				return "#" + r.Withheld[i].ID
			}
		}
	}
	return "#" + c.Lock
}

// search is what a search says.
type search struct {
	*searched
	// Took is how long was searched; 0: it did not come to a run.
	Took  time.Duration
	Rate  float64
	Found []class
	// Nothing says of each other property what it is worth that no run violated it.
	Nothing []nothing
}

type nothing struct {
	Property checker.Property
	Worth    string
}

// class is a class of violations that a search found.
type class struct {
	explore.Class
	Property checker.Property
	// Again is in how many of Repeats runs in real time it showed again at best; Proved: that is enough, or in virtual time it is certain.
	Again   int
	Proved  bool
	Virtual bool
}

// explained is a finding, with what the record shows of it.
type explained struct {
	Finding
	Shown []string
}

// open is where something was found in a lock that no finding explains yet: guarantees of its card, or "search: " and a property.
type open struct {
	Lock string
	What []string
}

func ReadRecord(root string, all []Library, findings []Finding) (*Record, error) {
	promises, err := ReadPromises(root, all)
	if err != nil {
		return nil, err
	}
	cases, err := casesOf(root)
	if err != nil {
		return nil, err
	}
	r := &Record{}
	for _, l := range all {
		s, err := readStored(root, l.Name)
		if err != nil {
			return nil, err
		}
		if s.Card == nil {
			r.Missing = append(r.Missing, l)
			continue
		}
		made := lock{Library: l, Card: s.Card, On: &s.Card.Locks[0], Searches: searchesOf(s), Later: make(map[string]int)}
		for _, c := range cases {
			if made.On.Cell(audit.ID(c)) == nil {
				made.Later[string(c.Guarantee)]++
			}
		}
		if i := slices.IndexFunc(promises, func(p Promises) bool { return slices.Contains(p.Locks, l.Name) }); i >= 0 {
			made.Promises = promises[i]
		}
		for i := range findings {
			for _, p := range findings[i].Where {
				if p.Lock == l.Name {
					made.found = append(made.found, p.guarantees()...)
				}
			}
		}
		r.Locks = append(r.Locks, made)
	}
	r.rows()
	for _, f := range findings {
		if f.NotYet() {
			r.Withheld = append(r.Withheld, f)
		} else {
			r.Findings = append(r.Findings, explained{Finding: f})
		}
	}
	for i := range r.Locks {
		r.match(&r.Locks[i])
	}
	return r, nil
}

// casesOf are the cases that an audit has today: of the scenarios of a repository. A folder without scenarios has none.
func casesOf(root string) ([]*scenario.Scenario, error) {
	dir := filepath.Join(root, "scenarios")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	list, err := scenario.LoadAll(dir)
	return audit.Cases(list), err
}

// LaterWords say which cases came after a card was made; empty: none did.
func (l *lock) LaterWords() string {
	n, parts := 0, []string(nil)
	for _, g := range scenario.Guarantees() {
		if k := l.Later[string(g)]; k > 0 {
			n += k
			parts = append(parts, fmt.Sprintf("%s %d", g, k))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s came after this card was made: %s", words.Count(n, "case"), strings.Join(parts, ", "))
}

// rows are the guarantees of all cards, in the order of the first card that has them.
func (r *Record) rows() {
	for i := range r.Locks {
		for _, g := range r.Locks[i].Card.Guarantees {
			if !slices.ContainsFunc(r.Rows, func(known Row) bool { return known.Name == g.Name }) {
				r.Rows = append(r.Rows, Row{Guarantee: g})
			}
		}
	}
	for i := range r.Rows {
		for j := range r.Locks {
			r.Rows[i].Cells = append(r.Rows[i].Cells, cellOf(&r.Locks[j], r.Rows[i].Name))
		}
	}
}

func cellOf(l *lock, guarantee string) cell {
	c := cell{Lock: l.Name, State: l.row(guarantee, ""), Count: "no case applies", Later: l.Later[guarantee]}
	if c.State == card.NotApplicable {
		return c
	}
	c.Found = c.State != l.On.Row(guarantee)
	kept, applies := 0, 0
	for i := range l.On.Cells {
		if one := &l.On.Cells[i]; one.Guarantee() == guarantee && one.State != card.NotApplicable {
			if applies++; one.State == card.Kept {
				kept++
			}
			c.byDesign = c.byDesign || one.State == card.ByDesign
		}
	}
	if applies > 0 {
		c.Count = fmt.Sprintf("%d of %d kept", kept, applies)
	}
	return c
}

func searchesOf(s *stored) (list []*search) {
	for i := range s.Searches {
		if made := s.Searches[i].Searched; made != nil {
			list = append(list, searchOf(made))
		}
	}
	return list
}

func searchOf(made *searched) *search {
	out := &search{searched: made}
	if made.Report.Runs == 0 {
		return out
	}
	out.Took = made.took()
	out.Rate = float64(out.Report.Runs) / out.Took.Seconds()
	for _, c := range out.Report.Classes {
		out.Found = append(out.Found, made.classOf(c))
	}
	for _, p := range out.Properties {
		if !slices.ContainsFunc(out.Found, func(c class) bool { return slices.Contains(c.Properties(), p) }) {
			out.Nothing = append(out.Nothing, nothing{p, out.Report.Worth(p)})
		}
	}
	return out
}

// SearchRow is a row of the table of searches.
type SearchRow struct{ Lock, Card, Topology, For, Runs, Rate, Found string }

// SearchRows say what the card took, and what each search found; one row where there is none.
func (l *lock) SearchRows() (rows []SearchRow) {
	first := SearchRow{Lock: l.Name, Card: fmt.Sprintf("%.0f", float64(l.Card.WallMS)/1000), Topology: "as suits it",
		For: "–", Runs: "–", Rate: "–", Found: "–"}
	if len(l.Searches) == 0 {
		return []SearchRow{first}
	}
	for i, s := range l.Searches {
		row := first
		row.Topology = cmp.Or(s.Topology, row.Topology)
		if i > 0 {
			row.Card = "above"
		}
		s.fill(&row)
		rows = append(rows, row)
	}
	return rows
}

// fill says in a row what came of a search that came to a run.
func (s *search) fill(row *SearchRow) {
	if s.Took == 0 {
		return
	}
	row.For, row.Runs = s.Took.Round(time.Second).String(), words.Grouped(s.Report.Runs)
	row.Rate, row.Found = fmt.Sprintf("%.1f", s.Rate), "nothing"
	var found []string
	for _, c := range s.Found {
		if c.Proved {
			found = append(found, string(scenario.Home(c.Property)))
		}
	}
	for _, c := range s.Withheld {
		if c.Proved && !c.byDesign() {
			found = append(found, c.Guarantee)
		}
	}
	if slices.Sort(found); len(found) > 0 {
		row.Found = strings.Join(slices.Compact(found), ", ")
	}
}

// classOf takes of the violations of a class that which showed again most often, as the search does.
func (s *searched) classOf(c explore.Class) class {
	var best *explore.Found
	for i := range s.Report.Found {
		if f := &s.Report.Found[i]; f.Class == c.Name && (best == nil || f.Again > best.Again) {
			best = f
		}
	}
	out := class{Class: c, Virtual: s.World == virtual}
	switch {
	case best != nil:
		out.Property, out.Again, out.Proved = best.Property, best.Again, best.Proved() && best.Confirmed()
	case out.Virtual: // its time was over by then
		out.Property = c.Properties()[0]
		if at := slices.IndexFunc(c.Properties(), func(p checker.Property) bool { return slices.Contains(s.Proved, p) }); at >= 0 {
			out.Property = c.Properties()[at]
		}
	}
	if out.Virtual {
		out.Proved = slices.Contains(s.Proved, out.Property)
	}
	return out
}

// match sets what the record shows of a lock beside the findings that are reported, and what none explains among the open ones.
func (r *Record) match(l *lock) {
	for _, cells := range [][]card.Cell{l.On.Cells, l.On.Findings()} {
		for i := range cells {
			c := &cells[i]
			what := fmt.Sprintf("%s: %s", c.ID, c.State)
			if c.Runs > 0 { // what sim conform found was seen in no run
				what += fmt.Sprintf(", violated in %d of %s", c.Violated, words.Count(c.Runs, "run"))
			}
			known := r.shown(l.Name+", "+what, func(f *Finding) bool { return f.explains(l.Name, c) })
			if !known && c.State == card.Broken {
				r.leaveOpen(l.Name, c.Guarantee(), c.Guarantee())
			}
		}
	}
	for _, s := range l.Searches {
		r.matchSearch(l, s)
	}
}

func (r *Record) matchSearch(l *lock, s *search) {
	for _, c := range s.Withheld {
		if c.Proved && !c.byDesign() {
			r.leaveOpen(l.Name, c.Guarantee, "search: "+c.Guarantee)
		}
	}
	for _, c := range s.Found {
		if !c.shown() {
			continue
		}
		known := r.shown(l.Name+", "+s.Name()+": "+c.Words(), func(f *Finding) bool { return f.explainsFound(l.Name, c.Property) })
		if !known && c.Proved {
			r.leaveOpen(l.Name, string(scenario.Home(c.Property)), "search: "+string(c.Property))
		}
	}
}

// leaveOpen notes what was found in a guarantee of a lock, unless a finding that is withheld is about it.
func (r *Record) leaveOpen(lock, guarantee, what string) {
	if r.isOpen(lock, what) || slices.ContainsFunc(r.Withheld, func(f Finding) bool { return f.in(lock, guarantee) }) {
		return
	}
	if n := len(r.Open); n > 0 && r.Open[n-1].Lock == lock { // locks come one after the other
		r.Open[n-1].What = append(r.Open[n-1].What, what)
	} else {
		r.Open = append(r.Open, open{lock, []string{what}})
	}
}

func (r *Record) isOpen(lock, what string) bool {
	return slices.ContainsFunc(r.Open, func(o open) bool { return o.Lock == lock && slices.Contains(o.What, what) })
}

// shown notes a text at all findings that it is about.
func (r *Record) shown(text string, about func(*Finding) bool) (known bool) {
	for i := range r.Findings {
		if f := &r.Findings[i]; about(&f.Finding) {
			f.Shown, known = append(f.Shown, text), true
		}
	}
	return known
}

// Name tells the search from those of other topologies.
func (s *search) Name() string {
	if s.Topology == "" {
		return "search"
	}
	return "search, " + s.Topology
}

// Heading is it at the beginning of a line.
func (s *search) Heading() string { return "S" + s.Name()[1:] }

// Words say where the time went.
func (s *search) Words() string {
	text := fmt.Sprintf("%s in %v, %.1f a second", words.Count(s.Report.Runs, "run"), s.Took.Round(time.Second), s.Rate)
	if s.World == virtual {
		text += ", in virtual time"
	}
	if n := s.Report.Failed; n > 0 {
		text += fmt.Sprintf("; %s could not be carried out (the last: %s)", words.Count(n, "run"), s.Report.Failure)
	}
	return text
}

// Words say what was found, and how sure it is.
func (c *class) Words() string {
	return fmt.Sprintf("%s: in %s", c.Name, words.Count(c.Runs, "run")) + c.again()
}

// State is what it comes to: a violation that hardly shows again, or that rests on the lock's word alone, is none
// that can be held against a library.
func (c class) State() string {
	if c.Proved {
		return "Found"
	}
	return "Undecided"
}

// day is the date of a time as RFC 3339.
func day(at string) string { date, _, _ := strings.Cut(at, "T"); return date }

// Day is when the audit began.
func (l *lock) Day() string { return day(l.Card.Started) }

// shown: it showed again, whatever that proves.
func (c *class) shown() bool { return c.Virtual && c.Proved || c.Again >= explore.Showings }

// again says how often a violation showed again.
func (c *class) again() string {
	if c.Virtual && c.Proved {
		return "; shows again each time"
	}
	if c.Virtual {
		return "; it is not certain"
	}
	if !c.shown() {
		return fmt.Sprintf("; it hardly showed again: in fewer than %d of %d runs", explore.Showings, explore.Repeats)
	}
	return fmt.Sprintf("; showed again in %d of %d runs", c.Again, explore.Repeats)
}
