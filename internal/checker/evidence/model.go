package evidence

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/linear"
)

// verb is what an f means to a model.
type verb uint8

const (
	read verb = iota + 1
	write
	cas
	acquire
	release
	add
	appendTo
	sell
	run
)

// model is a model as `sim check` knows it.
type model struct {
	name string
	// verbs has what each f means.
	verbs map[history.F]verb
	// tagged models know grants by the owner value in them, sections are one
	// operation from read to write, timed models need the time of day.
	tagged, sections, timed bool
	problem                 func(h linear.History, o Options) linear.Problem
}

var (
	registerVerbs = map[history.F]verb{"read": read, "get": read, "write": write, "put": write, "set": write, "cas": cas}
	lockVerbs     = map[history.F]verb{"acquire": acquire, "lock": acquire, "release": release, "unlock": release}
	counterVerbs  = map[history.F]verb{"read": read, "add": add, "inc": add, "increment": add, "write": write, "cas": cas}
)

// of is a problem that no option changes.
func of(d workload.Data) func(linear.History, Options) linear.Problem {
	return func(h linear.History, _ Options) linear.Problem { return d.Problem(h) }
}

// always is a problem whose model no history changes either, without a direct algorithm.
func always(m linear.Model) func(linear.History, Options) linear.Problem {
	return func(h linear.History, _ Options) linear.Problem { return linear.Problem{History: h, Model: m} }
}

// tagged is the problem of a lock whose grants are told apart.
func tagged(h linear.History, _ Options) linear.Problem { return linear.MutexProblem(h) }

var models = map[string]*model{
	"register":     {verbs: registerVerbs, problem: of(workload.CounterData)},
	"cas-register": {verbs: registerVerbs, problem: of(workload.CounterData)},
	"counter":      {verbs: counterVerbs, sections: true, problem: of(workload.CounterData)},
	"mutex":        {verbs: lockVerbs, problem: always(linear.PlainMutex())},
	"owner-mutex":  {verbs: lockVerbs, tagged: true, problem: tagged},
	"leased-mutex": {verbs: lockVerbs, tagged: true, timed: true, problem: tagged},
	"fenced-mutex": {verbs: lockVerbs, problem: always(linear.Fenced())},
	"reentrant-mutex": {verbs: lockVerbs, problem: func(h linear.History, o Options) linear.Problem {
		return linear.Problem{History: h, Model: linear.Reentrant(o.Reentrancy)}
	}},
	"reentrant-fenced-mutex": {verbs: lockVerbs, problem: func(h linear.History, o Options) linear.Problem {
		return linear.Problem{History: h, Model: linear.ReentrantFenced(o.Reentrancy)}
	}},
	"semaphore": {verbs: lockVerbs, problem: func(h linear.History, o Options) linear.Problem {
		return linear.Problem{History: h, Model: linear.Semaphore(o.Permits, h)}
	}},
	"append": {verbs: map[history.F]verb{"append": appendTo, "add": appendTo, "write": appendTo, "read": read}, sections: true,
		problem: of(workload.ListData)},
	"stock": {verbs: map[history.F]verb{"sell": sell, "read": read, "add": add, "write": write}, sections: true,
		problem: of(workload.StockData)},
	"jobs": {verbs: map[history.F]verb{"run": run, "write": run},
		problem: of(workload.JobsData)},
	"set": {verbs: map[history.F]verb{"add": add, "insert": add, "read": read},
		problem: func(h linear.History, _ Options) linear.Problem {
			return linear.Problem{History: h, Model: linear.Set(h.Lists)}
		}},
	"kv": {verbs: map[history.F]verb{"get": read, "read": read, "put": write, "write": write, "append": appendTo}},
}

func init() {
	for name, m := range models {
		m.name = name
	}
}

// ignores reports whether the model may pass over an operation that it does not
// know, because it is on another thing: a lock is not changed by what its holders
// do to the resource, nor the resource by who holds the lock.
func (m *model) ignores(f history.F) bool {
	_, lock := lockVerbs[f]
	lock = lock || f == history.Extend || f == history.Forget
	if _, ofLock := m.verbs[history.Acquire]; !ofLock {
		return lock
	}
	for _, other := range models {
		if _, known := other.verbs[f]; known && !lock {
			return true
		}
	}
	return f == history.Extend || f == history.Transact || f == history.Snapshot
}

// Models lists the names of the models.
func Models() []string { return slices.Sorted(maps.Keys(models)) }

func (o *Options) model() (*model, error) {
	m, ok := models[o.Model]
	switch {
	case !ok:
		return nil, &OptionError{"model", fmt.Sprintf("no model %q; there are %v", o.Model, Models())}
	case o.Model == "semaphore" && (o.Permits < 1 || o.Permits > linear.MaxPermits):
		return nil, &OptionError{"permits", fmt.Sprintf("%d: want 1 to %d", o.Permits, linear.MaxPermits)}
	case o.Reentrancy < 0:
		return nil, &OptionError{"reentrancy", fmt.Sprintf("%d: want 0 or more", o.Reentrancy)}
	}
	return m, nil
}
