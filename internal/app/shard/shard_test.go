package shard

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
)

// TestDifference: what differs is named, whatever it is.
func TestDifference(t *testing.T) {
	work := func(change func(*Work)) *Work {
		w := &Work{Request: request.Of(&request.Run{World: "live", Seed: 1, Tags: []string{"a"}}), Sim: "v1.0.0", Units: 6,
			Scenarios: []Scenario{{"a", strings.Repeat("0", 64)}, {"b", strings.Repeat("1", 64)}}}
		change(w)
		return w
	}
	same := work(func(*Work) {})
	for want, change := range map[string]func(*Work){
		"":                            func(*Work) {},
		"command run, and audit":      func(w *Work) { w.Request = request.Of(&request.Audit{}) },
		"sim v1.0.0, and v2.0.0":      func(w *Work) { w.Sim = "v2.0.0" },
		`--seed "1", and "2"`:         func(w *Work) { w.Request.Run.Seed = 2 },
		`--world "live", and "x"`:     func(w *Work) { w.Request.Run.World = "x" },
		`--tag "a", and "a,x"`:        func(w *Work) { w.Request.Run.Tags = []string{"a", "x"} },
		"the scenario b, and c":       func(w *Work) { w.Scenarios[1].Name = "c" },
		"2 scenarios, and 1":          func(w *Work) { w.Scenarios = w.Scenarios[:1] },
		"6 pieces of work, and 7":     func(w *Work) { w.Units = 7 },
		"the text of the scenario a ": func(w *Work) { w.Scenarios[0].Digest = strings.Repeat("2", 64) },
	} {
		other := work(change)
		if got := same.Difference(other); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if (same.Folder(request.Shard{Index: 1, Of: 2}) == other.Folder(request.Shard{Index: 1, Of: 2})) != (want == "") {
			t.Errorf("%q: the folder is %s", want, other.Folder(request.Shard{Index: 1, Of: 2}))
		}
	}
}
