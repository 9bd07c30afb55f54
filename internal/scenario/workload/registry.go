package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/linear"
)

// Name names a workload, in scenarios and in histories.
type Name string

// Workload is all that there is to know of a workload. The zero Workload stands for one
// that nobody knows.
type Workload struct {
	Name Name
	// Title is what a section does.
	Title string
	// Settings are the keys of those settings of a Plan that only this workload reads.
	Settings []string
	// Resource is the kind that it needs; Empty says that it begins with nothing.
	Resource resource.Kind
	Empty    bool
	// Most bounds the sections of all clients together, where it is not 0; MostOf says
	// what there would be too many of.
	Most   int
	MostOf string
	// Pair: it takes no lock, and appends to the two lists of a pair (resource.How).
	Pair bool
	// Reads and Writes are how often a section does so.
	Reads, Writes int
	// Cell is what each cell of the resource is, but for those in Cells.
	Cell  Cell
	Cells map[string]Cell
	// Ticks: the sections of one number are of one tick, whose work one client is to do.
	Ticks bool
	// Together are the cells that a section changes as a whole.
	Together []string
	run      func(Plan, Session)
	// final is what somebody does after all; nil: nothing.
	final func(Session) bool
}

// Cell is a part of the resource, and the words for what is done to it.
type Cell struct {
	// Data is what it is; 0: there is no model of it.
	Data Data
	// Wrote and Writes tell of a write: "c1 wrote 1", "writes 1".
	Wrote, Writes string
	// Item and Twice tell of something that was done twice: "the job of tick", "ran twice".
	Item, Twice string
}

// Data is what a cell holds.
type Data uint8

// The kinds of data: a number, a list that starts empty, units, and the ticks whose jobs ran.
const (
	CounterData Data = iota + 1
	ListData
	StockData
	JobsData
)

// Problem is the question whether a history can be one of such data.
func (d Data) Problem(h linear.History) linear.Problem {
	switch d {
	case ListData:
		return linear.ListProblem(h)
	case StockData:
		return linear.StockProblem(h)
	case JobsData:
		return linear.JobsProblem(h)
	case CounterData:
		return linear.CounterProblem(h)
	}
	panic("workload: data without a judge")
}

var workloads = map[Name]Workload{}

// register is called by the file of each workload.
func register(w Workload) {
	if _, twice := workloads[w.Name]; twice {
		panic("workload: registered twice: " + w.Name)
	}
	if w.Resource == "" {
		w.Resource = resource.Register
	}
	workloads[w.Name] = w
}

// foreign are names in histories of others, who count too.
var foreign = map[Name]Name{"": "increment", "register": "increment"}

// Of is the workload that a history names.
func Of(name Name) Workload {
	if known, ok := foreign[name]; ok {
		name = known
	}
	return workloads[name]
}

// CellOf is what a cell is.
func (w *Workload) CellOf(key string) Cell {
	if c, ok := w.Cells[key]; ok {
		return c
	}
	return w.Cell
}

// Names lists all workloads.
func Names() []Name { return slices.Sorted(maps.Keys(workloads)) }

// Tag documents a setting that names a workload, as the tags of a Plan do.
func (Name) Tag() string {
	var doc, values []string
	for _, name := range Names() {
		doc, values = append(doc, fmt.Sprintf("%s: %s", name, workloads[name].Title)), append(values, string(name))
	}
	return fmt.Sprintf("doc:%q values:%q", strings.Join(doc, "; "), strings.Join(values, ","))
}
