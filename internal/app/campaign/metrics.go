package campaign

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics serves figures of all campaigns and workers of the database, in the format of Prometheus.
func (s *Store) Metrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{s})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

// collector looks into the database when it is asked.
type collector struct{ store *Store }

var (
	campaignLabels = []string{"campaign", "scenario", "variant"}
	workerLabels   = []string{"host", "pid", "worker"}

	describeRuns   = prometheus.NewDesc("sim_campaign_runs_total", "Runs made.", campaignLabels, nil)
	describeTarget = prometheus.NewDesc("sim_campaign_runs_target", "Runs to be made.", campaignLabels, nil)
	describeRanges = prometheus.NewDesc("sim_campaign_ranges_total",
		"Ranges of runs made, each of which counts once.", campaignLabels, nil)
	describeViolations = prometheus.NewDesc("sim_campaign_violations_total", "Runs that violated something.", campaignLabels, nil)
	describeBehaviours = prometheus.NewDesc("sim_campaign_behaviours", "Distinct behaviours seen.", campaignLabels, nil)
	describeWork       = prometheus.NewDesc("sim_campaign_work_seconds_total",
		"How long workers have worked on it, all together.", campaignLabels, nil)
	describeRunning = prometheus.NewDesc("sim_campaign_running", "1 while it is running.", campaignLabels, nil)
	describeSlots   = prometheus.NewDesc("sim_worker_slots", "How many runs a live worker makes at once.", workerLabels, nil)
	describeBusy    = prometheus.NewDesc("sim_worker_busy", "How many of its slots have a range.", workerLabels, nil)
	describeWorked  = prometheus.NewDesc("sim_worker_runs_total", "Runs that a live worker made since it started.", workerLabels, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{describeRuns, describeTarget, describeRanges, describeViolations, describeBehaviours,
		describeWork, describeRunning, describeSlots, describeBusy, describeWorked} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := c.store.List(ctx)
	if err == nil {
		err = c.workers(ctx, to)
	}
	if err != nil {
		to <- prometheus.NewInvalidMetric(describeRuns, err)
		return
	}
	for _, st := range list {
		running := 0.0
		if st.State == Running {
			running = 1
		}
		for _, m := range []struct {
			d     *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{describeRuns, prometheus.CounterValue, float64(st.Runs)}, {describeTarget, prometheus.GaugeValue, float64(st.Target)},
			{describeRanges, prometheus.CounterValue, float64(st.Ranges)}, {describeViolations, prometheus.CounterValue, float64(st.Violations)},
			{describeBehaviours, prometheus.GaugeValue, float64(st.Behaviours)}, {describeWork, prometheus.CounterValue, float64(st.WorkMS) / 1000},
			{describeRunning, prometheus.GaugeValue, running},
		} {
			to <- prometheus.MustNewConstMetric(m.d, m.kind, m.value, strconv.FormatInt(st.ID, 10), st.Name, st.Variant)
		}
	}
}

func (c *collector) workers(ctx context.Context, to chan<- prometheus.Metric) error {
	list, err := c.store.workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		labels := []string{w.Host, strconv.Itoa(w.PID), w.ID}
		to <- prometheus.MustNewConstMetric(describeSlots, prometheus.GaugeValue, float64(w.Slots), labels...)
		to <- prometheus.MustNewConstMetric(describeBusy, prometheus.GaugeValue, float64(w.Busy), labels...)
		to <- prometheus.MustNewConstMetric(describeWorked, prometheus.CounterValue, float64(w.Runs), labels...)
	}
	return nil
}
