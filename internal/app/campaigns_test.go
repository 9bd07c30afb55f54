package app

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
)

// A campaign is the same wherever it was begun: nothing of the machine that began it is in it.
func TestCampaignsNameNoMachine(t *testing.T) {
	var first []byte
	for _, place := range []request.Place{{}, {Jobs: 1}, {Jobs: 7, Out: t.TempDir()}} {
		r := request.Search{World: request.Virtual, Target: request.Target{Scenario: "../../scenarios/gc-pause.yaml"}, Seed: 1, Seeds: 5000,
			Place: place}
		d, _, err := (&Env{System: runtime.GOOS, Now: time.Now}).CampaignSearch(t.Context(), r, Campaign{RangeRuns: 1000, EpochRanges: 2})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if d.Request.Search.Place != (request.Place{}) || string(text) != string(first) {
			t.Errorf("begun with %+v: %s", place, text)
		}
	}
}
