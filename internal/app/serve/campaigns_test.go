package serve_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

// TestCampaigns shows what a database has, which may be anything.
func TestCampaigns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hostile := "<script>alert(1)</script>"
	list := []serve.Campaign{
		{ID: 2, Name: hostile, Variant: "fenced", State: "running", Running: true,
			Facts: []serve.CampaignFact{{Name: "runs", Value: "5k of 10k"}},
			Violated: []serve.CampaignClass{{Name: "exclusive-lease", Runs: "3", Share: "0.06 %",
				Found: []string{"gc-pause-exclusive-lease-7", "../../etc", "gc-pause-exclusive-lease-8"}}, {Name: "backed-grant", Runs: "1"}},
			Points: []serve.CampaignPoint{{After: time.Second, Behaviours: 10}, {After: 2 * time.Second, Behaviours: 20}}},
		{ID: 1, Name: "gc-pause", State: "done"},
	}
	h, err := serve.New(serve.Options{Dir: dir, Campaigns: func(context.Context) ([]serve.Campaign, error) { return list, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	put(t, filepath.Join(dir, "found"), "gc-pause-exclusive-lease-7", "20261120-204501-7", reporttest.GCPause())
	code, body, _ := get(t, h, "/campaigns")
	reporttest.Sound(t, "campaigns", []byte(body))
	for _, want := range []string{"2 campaigns", "5k of 10k", "exclusive-lease",
		`points="0,120 300.0,60.0 600.0,0.0"`, "20 after 2s", "<li>10</li>", "<span>1s</span>", "0.06 %",
		`href="/stored/found/gc-pause-exclusive-lease-7/20261120-204501-7/"`, "sim campaign report 2",
		"&lt;script&gt;", "No violation was found yet", "refresh"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if code != http.StatusOK || strings.Contains(body, hostile) {
		t.Errorf("code %d, or the page has what a database says as it is", code)
	}
	if _, body, _ := get(t, h, "/"); !strings.Contains(body, `href="/campaigns"`) {
		t.Error("nothing leads to the campaigns")
	}
	none, err := serve.New(serve.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if code, _, _ := get(t, none, "/campaigns"); code != http.StatusNotFound {
		t.Errorf("code %d without a database", code)
	}
	if _, body, _ := get(t, none, "/"); strings.Contains(body, "/campaigns") {
		t.Error("a link leads nowhere")
	}
}
