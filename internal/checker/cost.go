package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Cost is what a lock costs its nodes and its clients. docs/guide/measuring.md defines each figure.
type Cost struct {
	// Acquires is how many acquires are measured: granted, and nobody was in the way.
	Acquires int `json:"acquires"`
	// Commands and RoundTrips are those of such an acquire, P50 and P99 the time from its
	// request to its grant. Nil: not measured.
	Commands   *Spread        `json:"commands,omitempty"`
	RoundTrips *Spread        `json:"round_trips,omitempty"`
	P50        *time.Duration `json:"p50_ns,omitempty"`
	P99        *time.Duration `json:"p99_ns,omitempty"`
	// Waiting is what a client sends while it waits for the lock that somebody else holds,
	// Holding what it sends while it holds the lock. Nil: not measured.
	Waiting *Rate `json:"waiting,omitempty"`
	Holding *Rate `json:"holding,omitempty"`
	// Most is how many commands a second a client should send at most while it waits or holds; 0: there is no such bound.
	Most int `json:"most,omitempty"`
	// Unmeasured says of each figure that is nil why it is.
	Unmeasured []Unmeasured `json:"unmeasured,omitempty"`
}

// Spread is what several acquires have: the median, of an even number the smaller one of the
// two in the middle, and the extremes.
type Spread struct {
	Median int `json:"median"`
	Min    int `json:"min"`
	Max    int `json:"max"`
}

// Rate is how many commands were sent in a time, which is that of all clients together.
type Rate struct {
	Commands int           `json:"commands"`
	Time     time.Duration `json:"time_ns"`
}

// PerSecond is how many commands a client sent in a second.
func (r Rate) PerSecond() float64 { return float64(r.Commands) / r.Time.Seconds() }

// Exceeds reports that there is such a rate, and that it is above a bound; 0: there is none.
func (r *Rate) Exceeds(most int) bool { return r != nil && most > 0 && r.PerSecond() > float64(most) }

// Unmeasured says why a figure is not measured.
type Unmeasured struct {
	Figure Figure `json:"figure"`
	Why    string `json:"why"`
}

// Figure is one of a Cost.
type Figure string

// The figures.
const (
	CommandsFigure   Figure = "commands"
	RoundTripsFigure Figure = "round_trips"
	P50Figure        Figure = "p50"
	P99Figure        Figure = "p99"
	WaitingFigure    Figure = "waiting"
	HoldingFigure    Figure = "holding"
)

// Why says why a figure is not measured; empty: it is.
func (c *Cost) Why(f Figure) string {
	for _, u := range c.Unmeasured {
		if u.Figure == f {
			return u.Why
		}
	}
	return ""
}

// Bounds below which there is no figure: a p99 of fewer acquires is their longest, and a rate
// over a shorter time says little.
const (
	minForP99  = 100
	minForRate = time.Second
)

// CostOf measures what the lock of a history costs.
func CostOf(h *history.History) Cost {
	if why := whyDisordered(h); why != "" {
		var c Cost
		for _, f := range []Figure{CommandsFigure, RoundTripsFigure, P50Figure, P99Figure, WaitingFigure, HoldingFigure} {
			c.Unmeasured = append(c.Unmeasured, Unmeasured{f, why})
		}
		return c
	}
	m := &meter{Facts: facts.Of(h)}
	m.collectCommands()
	m.measureAcquires()
	m.measureRates()
	return m.cost
}

// meter measures a history.
type meter struct {
	*facts.Facts
	cost Cost
	// sent are the commands of each client that are counted, in the order in which they left.
	sent map[string][]*history.Command
	// why says why commands cannot be counted, noTrips why round trips cannot be; empty: they can.
	why, noTrips string
	// held are the times in which clients held the lock.
	held []tenure
}

// tenure is a time in which a client held the lock, and no longer than the lock promised.
type tenure struct {
	client string
	Interval
}

func (m *meter) collectCommands() {
	m.sent = make(map[string][]*history.Command)
	none := true
	unread := func(e *history.Event) string {
		if e.Process == history.RunProcess {
			return cmp.Or(e.Error.String(), "some commands were not recorded")
		}
		return fmt.Sprintf("what passes between %s and node %s could not be read: %s", e.Process, e.Value.Unread().Node, e.Error)
	}
	for i := range m.History.Events {
		e := m.Event(i)
		if e.F == history.Sent && e.Value.Command() != nil && !e.Value.Command().Opens {
			m.sent[e.Process], none = append(m.sent[e.Process], e.Value.Command()), false
		}
		if e.F != history.Unread || e.Value.Unread() == nil {
			continue
		}
		if e.Value.Unread().Answers {
			m.noTrips = cmp.Or(m.noTrips, unread(e))
		} else {
			m.why = cmp.Or(m.why, unread(e))
		}
	}
	switch {
	case !m.History.Header.Commands:
		m.why = "the run did not record commands (record_commands)"
	case !m.Finished:
		m.why = "the run did not come to its end"
	case m.why == "" && none:
		m.why = "no client sent a command to a node over its links: the lock is kept elsewhere"
	case m.why == "" && m.FirstStranger >= 0:
		m.why = "somebody changed a key of the lock over a connection that is no client's link"
	}
	m.noTrips = cmp.Or(m.why, m.noTrips)
	for _, list := range m.sent {
		slices.SortStableFunc(list, func(a, b *history.Command) int { return cmp.Compare(a.Left, b.Left) })
	}
	for i := range m.Grants {
		g := &m.Grants[i]
		t := tenure{g.Client, Interval{m.At(g.Return), min(g.LastPromise().EarlierOf(m.BelievedUntil(g)), m.End)}}
		if t.From < t.To && g.Outer < 0 {
			m.held = append(m.held, t)
		}
	}
}

func (m *meter) addUnmeasured(f Figure, why string) {
	m.cost.Unmeasured = append(m.cost.Unmeasured, Unmeasured{f, why})
}

// sentBetween are the commands of a client that left in a time.
func (m *meter) sentBetween(client string, from, to time.Duration) []*history.Command {
	list := m.sent[client]
	first := sort.Search(len(list), func(i int) bool { return list[i].Left >= int64(from) })
	last := sort.Search(len(list), func(i int) bool { return list[i].Left >= int64(to) })
	return list[first:max(first, last)]
}

func (m *meter) measureAcquires() {
	var commands, trips []int
	var times []time.Duration
	for _, g := range m.undisturbedGrants() {
		from, to := m.At(g.Call), m.At(g.Return)
		times = append(times, to-from)
		list := m.sentBetween(g.Client, from, to)
		commands = append(commands, len(list))
		trips = append(trips, roundTrips(list))
	}
	m.cost.Acquires = len(times)
	none := ""
	if len(times) == 0 {
		none = "no acquire was granted without another client or a fault in the way"
	}
	if why := cmp.Or(m.why, none); why != "" {
		m.addUnmeasured(CommandsFigure, why)
	} else {
		m.cost.Commands = spread(commands)
	}
	if why := cmp.Or(m.noTrips, none); why != "" {
		m.addUnmeasured(RoundTripsFigure, why)
	} else {
		m.cost.RoundTrips = spread(trips)
	}
	slices.Sort(times)
	if none != "" {
		m.addUnmeasured(P50Figure, none)
	} else {
		m.cost.P50 = percentile(times, 50)
	}
	if len(times) < minForP99 {
		m.addUnmeasured(P99Figure, cmp.Or(none, fmt.Sprintf("%s measured, and a p99 needs %d", words.Count(len(times), "acquire"), minForP99)))
	} else {
		m.cost.P99 = percentile(times, 99)
	}
}

// undisturbedGrants are the grants in whose acquires nobody was in the way: no other client asked for the
// lock or held it, no lease of an earlier grant was in force, and no fault.
func (m *meter) undisturbedGrants() (list []*facts.Grant) {
	var calls, returns []int // of all acquires
	for i := range m.Ops {
		if o := &m.Ops[i]; o.F == history.Acquire {
			calls = append(calls, o.Call)
			if o.Return >= 0 {
				returns = append(returns, o.Return)
			}
		}
	}
	slices.Sort(returns)
	free := time.Duration(math.MinInt64) // from when on nobody before holds it
	for i := range m.Grants {
		g := &m.Grants[i]
		under := sort.SearchInts(calls, g.Return) - sort.SearchInts(returns, g.Call)
		acquire := Interval{m.At(g.Call), m.At(g.Return)}
		if under == 1 && free <= acquire.From && slices.Equal(m.withoutFaults(acquire.From, acquire.To), []Interval{acquire}) {
			list = append(list, g)
		}
		free = max(free, m.FreeFrom(g))
	}
	return list
}

// withoutFaults are the parts of a time in which no fault was in force.
func (m *meter) withoutFaults(from, to time.Duration) (list []Interval) {
	for i := range m.Faults {
		f := &m.Faults[i]
		if begin, end := m.At(f.Begin), m.At(f.End); begin <= to && end >= from {
			if begin > from {
				list = append(list, Interval{from, begin})
			}
			from = max(from, end)
		}
	}
	if from <= to {
		list = append(list, Interval{from, to})
	}
	return list
}

// roundTrips is the length of the longest chain of commands each of which left after the one
// before it had been answered.
func roundTrips(list []*history.Command) (n int) {
	answered := func(c *history.Command) int64 {
		if !c.Answered.IsSet() {
			return math.MaxInt64
		}
		return c.Answered.V()
	}
	last := int64(math.MinInt64)
	for _, c := range slices.SortedFunc(slices.Values(list), func(a, b *history.Command) int {
		return cmp.Compare(answered(a), answered(b))
	}) {
		if c.Left >= last {
			n, last = n+1, answered(c)
		}
	}
	return n
}

func spread(list []int) *Spread {
	slices.Sort(list)
	return &Spread{Median: list[(len(list)-1)/2], Min: list[0], Max: list[len(list)-1]}
}

// percentile is the smallest of the sorted times that at least so many of a hundred do not
// exceed.
func percentile(times []time.Duration, p int) *time.Duration {
	return &times[(len(times)*p+99)/100-1]
}

func (m *meter) measureRates() {
	var waiting, holding Rate
	for _, t := range m.held {
		m.add(&holding, t.client, t.Interval)
	}
	var last []time.Duration // of the tenures that begin first, the latest end
	for i, t := range m.held {
		last = append(last, t.To)
		if i > 0 {
			last[i] = max(last[i], last[i-1])
		}
	}
	for i := range m.Ops {
		o := &m.Ops[i]
		if o.F != history.Acquire || o.Return < 0 {
			continue
		}
		from, to := m.At(o.Call), m.At(o.Return)
		first := sort.Search(len(last), func(i int) bool { return last[i] > from })
		for _, t := range m.held[first:] {
			if t.From >= to {
				break
			}
			if s := (Interval{max(from, t.From), min(to, t.To)}); t.client != o.Process && s.From < s.To {
				m.add(&waiting, o.Process, s)
				from = s.To
			}
		}
	}
	m.cost.Waiting = m.rate(WaitingFigure, waiting, "clients waited for the lock while another one held it")
	m.cost.Holding = m.rate(HoldingFigure, holding, "clients held the lock")
}

// add adds what a client sent in a time without faults.
func (m *meter) add(r *Rate, client string, s Interval) {
	for _, q := range m.withoutFaults(s.From, s.To) {
		r.Commands += len(m.sentBetween(client, q.From, q.To))
		r.Time += q.To - q.From
	}
}

func (m *meter) rate(f Figure, r Rate, what string) *Rate {
	switch {
	case m.why != "":
		m.addUnmeasured(f, m.why)
	case r.Time < minForRate:
		m.addUnmeasured(f, fmt.Sprintf("%s for %s without a fault, and a rate needs %s", what, length(r.Time), length(minForRate)))
	default:
		return &r
	}
	return nil
}
