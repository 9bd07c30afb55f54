package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

func TestJSONRoundTrips(t *testing.T) {
	for name, r := range reporttest.All() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := report.WriteJSON(&b, r); err != nil {
				t.Fatal(err)
			}
			back, err := report.ReadJSON(&b)
			if err != nil {
				t.Fatal(err)
			}
			opts := cmp.Options{cmpopts.EquateEmpty(),
				cmpopts.IgnoreFields(report.Result{}, "ScenarioText", "Checked", "Imported"), cmpopts.IgnoreFields(report.Variant{}, "History")}
			if diff := cmp.Diff(r, back, opts); diff != "" {
				t.Errorf("came back different (-went +came):\n%s", diff)
			}
		})
	}
}

// The contract that result.json gives to other programs.
func TestJSONContract(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, reporttest.GCPause()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version         int
		Scenario, World string
		Nodes           string
		Seed            uint64
		Met             bool
		Variants        []struct {
			Name       string
			Met        bool
			WallMS     int `json:"wall_ms"`
			Properties []struct {
				Name, Verdict, Expected, Why string
				Met                          bool
				Events                       []int
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	p := doc.Variants[0].Properties[3]
	if doc.Version != 1 || doc.Scenario != "gc-pause" || doc.World != "live" || doc.Nodes != "process" || doc.Seed != 42 ||
		!doc.Met || doc.Variants[0].Name != "unfenced" || doc.Variants[0].WallMS != 2120 ||
		p.Name != "linearizable-resource" || p.Verdict != "violated" || p.Expected != "violated" || !p.Met || len(p.Events) == 0 {
		t.Errorf("the contract is broken: %+v", doc)
	}
}

// A result that was cut short has verdicts that were never reached.
func TestJSONOfWhatWasCutShort(t *testing.T) {
	r := &report.Result{Scenario: "s", Variants: []report.Variant{{Properties: []report.PropertyResult{{Name: "p"}}}, {}}}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"verdict": "unknown"`) || !strings.Contains(b.String(), `"version": 1`) {
		t.Errorf("got %s", b.String())
	}
	if r.Version != 0 || r.Variants[0].Properties[0].Verdict != 0 {
		t.Error("writing changed the result")
	}
}

func TestJSONEmitsNoForeignEscapes(t *testing.T) {
	r := reporttest.Hostile()
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	for i, c := range b.String() {
		if c != '\n' && unicode.In(c, unicode.Cc, unicode.Cf) {
			t.Errorf("rune %U at byte %d", c, i)
		}
	}
	back, err := report.ReadJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	if back.Scenario != r.Scenario {
		t.Errorf("scenario %q came back as %q", r.Scenario, back.Scenario)
	}
}

func TestReadJSONRefuses(t *testing.T) {
	for _, doc := range []string{``, `{}`, `[]`, `{"version":99}`,
		`{"version":1,"variants":[{"properties":[{"verdict":"maybe"}]}]}`, `{"version":1} x`} {
		if _, err := report.ReadJSON(strings.NewReader(doc)); err == nil {
			t.Errorf("%s was read without complaint", doc)
		}
	}
}
