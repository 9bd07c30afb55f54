package observe

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
)

// mostLabels bounds the locks that have figures of their own: those that are seen first. All others are one, with the name OtherLocks.
const (
	mostLabels = 100
	OtherLocks = "(other)"
)

// Metrics are the figures of a look, in the format of Prometheus.
type Metrics struct {
	mu      sync.Mutex
	labels  map[string]bool
	servers map[string]*figures
}

// figures are those of one server, as of its latest second.
type figures struct {
	lines  int
	locks  map[string]*lockFigures
	follow int
}

type lockFigures struct {
	totals keystory.Totals
	counts map[keystory.Kind]int
	// held is how long the present holder has had it, the longest of those of the locks that are one.
	held float64
}

// NewMetrics begins with no figures.
func NewMetrics() *Metrics {
	return &Metrics{labels: make(map[string]bool), servers: make(map[string]*figures)}
}

// Handler serves them.
func (m *Metrics) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(m)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

// Publish takes the figures of a server.
func (m *Metrics) Publish(server string, s *keystory.Story, now keystory.Time) {
	f := &figures{lines: s.Lines, locks: make(map[string]*lockFigures), follow: len(s.Locks())}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := func(name string) *lockFigures {
		if !m.labels[name] && len(m.labels) >= mostLabels {
			name = OtherLocks
		} else {
			m.labels[name] = true
		}
		l := f.locks[name]
		if l == nil {
			l = &lockFigures{counts: make(map[keystory.Kind]int)}
			f.locks[name] = l
		}
		return l
	}
	for _, k := range s.Locks() {
		if k.NoLock() {
			continue
		}
		l := of(strings.ToValidUTF8(k.Name(), "?"))
		l.totals.Add(&k.Totals)
		for kind, n := range k.Counts {
			l.counts[kind] += n
		}
		l.held = max(l.held, k.HeldFor(now).Seconds())
	}
	if s.Over.Locks > 0 {
		l := f.locks[OtherLocks]
		if l == nil {
			l = &lockFigures{counts: make(map[keystory.Kind]int)}
			f.locks[OtherLocks] = l
		}
		l.totals.Add(&s.Over.Totals)
	}
	m.servers[server] = f
}

var (
	ofServer = []string{"server"}
	ofLock   = []string{"server", "lock"}

	describeSeen     = prometheus.NewDesc("sim_observe_seen_total", "Commands, or events, that were seen.", ofServer, nil)
	describeLocks    = prometheus.NewDesc("sim_observe_locks", "Keys that are followed.", ofServer, nil)
	describeGrants   = prometheus.NewDesc("sim_observe_grants_total", "How often somebody got the lock, or was found to have it.", ofLock, nil)
	describeHeld     = prometheus.NewDesc("sim_observe_held_seconds_total", "How long those had it who have it no longer.", ofLock, nil)
	describeHolder   = prometheus.NewDesc("sim_observe_holder_seconds", "How long its holder has had it; 0: there is none.", ofLock, nil)
	describeWaits    = prometheus.NewDesc("sim_observe_waits_total", "Grants to who had asked in vain before.", ofLock, nil)
	describeWaited   = prometheus.NewDesc("sim_observe_wait_seconds_total", "How long these had waited.", ofLock, nil)
	describeRefused  = prometheus.NewDesc("sim_observe_refused_total", "How often it was asked for in vain.", ofLock, nil)
	describeRenewals = prometheus.NewDesc("sim_observe_renewals_total", "How often it was renewed.", ofLock, nil)
	describeEnded    = prometheus.NewDesc("sim_observe_ended_total",
		"How often it ended: released, ran_out, otherwise (a loss), or unknown.", append(ofLock, "how"), nil)
	describeFindings  = prometheus.NewDesc("sim_observe_findings_total", "What was found.", append(ofLock, "kind"), nil)
	describeQuestions = prometheus.NewDesc("sim_observe_questions_total", "What is a question.", append(ofLock, "kind"), nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeSeen, describeLocks, describeGrants, describeHeld, describeHolder, describeWaits,
		describeWaited, describeRefused, describeRenewals, describeEnded, describeFindings, describeQuestions} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	servers := maps.Clone(m.servers) // what is in them is written no more
	m.mu.Unlock()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	for server, f := range servers {
		counter(describeSeen, float64(f.lines), server)
		to <- prometheus.MustNewConstMetric(describeLocks, prometheus.GaugeValue, float64(f.follow), server)
		for lock, l := range f.locks {
			t := &l.totals
			counter(describeGrants, float64(t.Holds), server, lock)
			counter(describeHeld, t.Held.Seconds(), server, lock)
			to <- prometheus.MustNewConstMetric(describeHolder, prometheus.GaugeValue, l.held, server, lock)
			counter(describeWaits, float64(t.Waits), server, lock)
			counter(describeWaited, t.Waited.Seconds(), server, lock)
			counter(describeRefused, float64(t.Refused), server, lock)
			counter(describeRenewals, float64(t.Renewals), server, lock)
			for how, n := range map[string]int{"released": t.Released, "ran_out": t.RanOut, "otherwise": t.Removed, "unknown": t.Ended} {
				counter(describeEnded, float64(n), server, lock, how)
			}
			for kind, n := range l.counts {
				if name, question := strings.CutSuffix(string(kind), "?"); question {
					counter(describeQuestions, float64(n), server, lock, name)
				} else {
					counter(describeFindings, float64(n), server, lock, name)
				}
			}
		}
	}
}
