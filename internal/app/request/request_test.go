package request_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// What is written is read again, and the command line names what is not as usual, in the order of the fields.
func TestRequests(t *testing.T) {
	r := &request.Search{World: request.Live, Lock: "python3 my_lock.py", Seeds: 10, For: request.Duration(90 * time.Second),
		Drawing: explore.Drawing{Bare: true},
		Target:  request.Target{Scenario: "a b.yaml", Properties: []string{"x", "y"}},
		Place:   request.Place{Jobs: 3, Out: "out", Part: &request.Shard{Index: 2, Of: 4}}}
	text, err := json.Marshal(request.Of(r))
	if err != nil {
		t.Fatal(err)
	}
	got, err := request.Read(strings.NewReader(string(text)))
	if err != nil || request.Difference(got.Search, r) != "" || *got.Search.Part != *r.Part {
		t.Errorf("%s: %+v, %v", text, got.Search, err)
	}
	if name, only, err := got.Only(); name != "search" || only != any(got.Search) || err != nil {
		t.Errorf("%s, %v, %v", name, only, err)
	}
	want := `sim search --world live --lock 'python3 my_lock.py' 'a b.yaml' --property x,y --seed 0 --seeds 10 --for 1m30s --bare`
	if line := request.Line([]string{"sim", "search"}, r, &request.Search{World: request.Virtual}, "seed"); line != want {
		t.Errorf("%s\nwant %s", line, want)
	}
	if shared := request.Shared(*r); shared.Out != "" || shared.Part != nil || shared.Jobs != 0 || shared.Seeds != 10 || r.Out != "out" {
		t.Errorf("%+v of %+v", shared, r)
	}
}

// A request may come from anywhere. What this program does not know is refused by name.
func TestUnknownRequests(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":2,"search":{}}`:                    "version 2",
		`{"search":{}}`:                                "version 0",
		`{"version":1,"serve":{}}`:                     `"serve"`,
		`{"version":1,"search":{"exec":"rm"}}`:         `"exec"`,
		`{"version":1}`:                                "nothing",
		`{"version":1,"search":{},"run":{}}`:           "run and search",
		`{"version":1,"search":{"shard":"5/4"}}`:       "5/4",
		`{"version":1,"search":{"for":"long"}}`:        "long",
		`{"version":1,"search":{"password":"secret"}}`: `"password"`,
		`{"version":1,"search":{}} x`:                  "no request",
		``:                                             "no request",
		strings.Repeat(" ", 5<<20):                     "more than",
	} {
		if _, err := request.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}
