package observe

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func scrape(m *Metrics) string {
	r := httptest.NewRecorder()
	m.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	return r.Body.String()
}

// Figures of a look are there while it lasts.
func TestMetrics(t *testing.T) {
	address, admin := startRedis(t)
	ctx := t.Context()
	m := NewMetrics()
	w, end := lookAt(t, &Looks{Places: []Place{{Server: Server{Address: address}}}, Publish: m.Publish})
	suite.Eventually(t, "a finding", func() bool {
		admin.SetNX(ctx, "lock:a", "a", time.Minute)
		admin.SetNX(ctx, "lock:a", "b", time.Minute)
		admin.Del(ctx, "lock:a")
		return w.finds("lock:a", "[deleted-without-comparing]")
	})
	labels := fmt.Sprintf(`{kind="deleted-without-comparing",lock="lock:a",server="%s"}`, address)
	suite.Eventually(t, "figures", func() bool { return strings.Contains(scrape(m), "sim_observe_findings_total"+labels) })
	end()
	text := scrape(m)
	for _, want := range []string{"sim_observe_grants_total", "sim_observe_held_seconds_total", "sim_observe_refused_total",
		"sim_observe_wait_seconds_total", "sim_observe_holder_seconds", "sim_observe_renewals_total"} {
		if !strings.Contains(text, fmt.Sprintf(`%s{lock="lock:a",server="%s"}`, want, address)) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if !strings.Contains(text, fmt.Sprintf(`sim_observe_ended_total{how="otherwise",lock="lock:a",server="%s"}`, address)) {
		t.Errorf("no loss in\n%s", text)
	}
}

// However many locks there are, and whatever their names, the labels are bounded, and nothing is left out of the sums.
func TestMetricsAreBounded(t *testing.T) {
	s := keystory.New(keystory.Options{Keys: fits("lock"), Moments: 10})
	line := func(text ...string) {
		s.SeeLine(monitor.Line{At: 1_700_000_000 * time.Second, Source: "c", Args: text})
	}
	line("FLUSHALL")
	const locks = 3 * mostLabels
	for i := range locks {
		line("SET", fmt.Sprintf("lock:\xff\n%d", i), "a", "NX", "PX", "1000")
		line("DELIFEQ", fmt.Sprintf("lock:\xff\n%d", i), "a")
	}
	s.Settle()
	m := NewMetrics()
	m.Publish("here", s, s.Last)
	text := scrape(m)
	if n := strings.Count(text, "\nsim_observe_grants_total{"); n != mostLabels+1 {
		t.Errorf("%d labels", n)
	}
	want := fmt.Sprintf(`sim_observe_ended_total{how="released",lock="(other)",server="here"} %d`, locks-mostLabels)
	if !strings.Contains(text, want) {
		t.Errorf("no %s in\n%.3000s", want, text)
	}
}
