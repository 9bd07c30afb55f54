package main

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
)

// outputs has what commands print with --json: each field what the command of that name does. What has a schema of its own (run, audit) is
// not here.
type outputs struct {
	CampaignList   []campaign.Status  `json:"campaign list"`
	CampaignReport searchOut          `json:"campaign report"`
	CampaignStatus campaign.Status    `json:"campaign status"`
	Check          checkedFile        `json:"check"`
	Compare        compare.Comparison `json:"compare"`
	Conform        conformed          `json:"conform"`
	CorpusCheck    corpus.Tally       `json:"corpus check"`
	CorpusScore    corpus.Score       `json:"corpus check --answers"`
	Doctor         doctored           `json:"doctor"`
	Exhaust        exhausted          `json:"exhaust"`
	Explain        report.Explanation `json:"explain"`
	List           []listed           `json:"list"`
	Lock           []listed           `json:"lock"`
	Observe        keystory.Report    `json:"observe"`
	Search         searchOut          `json:"search"`
	Soak           soakOut            `json:"soak"`
	Sweep          swept              `json:"sweep"`
	Version        versions           `json:"version"`
}

// checkedFile is what sim check prints of a file: Properties where the properties of the lock judged it, Report where a model did.
type checkedFile struct {
	File       string            `json:"file"`
	Truncated  bool              `json:"truncated,omitempty"`
	Started    string            `json:"started,omitempty"`
	Properties []checker.Finding `json:"properties,omitempty"`
	*evidence.Report
}

// conformed is what sim conform prints.
type conformed struct {
	*conform.Result
	Conforms bool   `json:"conforms"`
	Logs     string `json:"logs,omitempty"`
}

// outputSchema is the JSON Schema of what commands print with --json.
func outputSchema(describe func(typ, field string) string) *jsonschema.Schema {
	s := report.SchemaOf(&outputs{}, "Outputs", describe, jsonschema.Reflector{Namer: outputName})
	s.Title = "What commands of redlock-sim print with --json: each property of this schema is that of the command of its name"
	s.Required = nil
	s.Definitions["CheckedFile"].Required = []string{"file"} // the rest depends on who judged
	return s
}

// outputNames are what the schema calls types whose own names do not say what they are, or are those of others, too.
var outputNames = map[reflect.Type]string{
	reflect.TypeFor[campaign.Status]():        "Campaign",
	reflect.TypeFor[campaign.WorkerStatus]():  "CampaignWorker",
	reflect.TypeFor[campaign.Point]():         "CampaignPoint",
	reflect.TypeFor[explore.Class]():          "CampaignClass",
	reflect.TypeFor[explore.Found]():          "CampaignFound",
	reflect.TypeFor[conform.Check]():          "ConformCheck",
	reflect.TypeFor[conform.Finding]():        "ConformFinding",
	reflect.TypeFor[conformed]():              "Conform",
	reflect.TypeFor[corpus.Tally]():           "CorpusCheck",
	reflect.TypeFor[corpus.Score]():           "CorpusScore",
	reflect.TypeFor[corpus.Difference]():      "CorpusDifference",
	reflect.TypeFor[doctored]():               "Doctor",
	reflect.TypeFor[listed]():                 "Item",
	reflect.TypeFor[searchOut]():              "Search",
	reflect.TypeFor[soakOut]():                "Soak",
	reflect.TypeFor[swept]():                  "Sweep",
	reflect.TypeFor[exhausted]():              "Exhaust",
	reflect.TypeFor[keystory.Report]():        "Observed",
	reflect.TypeFor[keystory.LockReport]():    "ObservedLock",
	reflect.TypeFor[keystory.FindingReport](): "ObservedFinding",
	reflect.TypeFor[keystory.HoldReport]():    "ObservedHold",
	reflect.TypeFor[keystory.MomentReport]():  "ObservedMoment",
	reflect.TypeFor[keystory.Instant]():       "ObservedTime",
}

func outputName(t reflect.Type) string {
	if name := outputNames[t]; name != "" {
		return name
	}
	name := []rune(t.Name())
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return string(name)
}

// outputMeaning says what a field that commands print means.
func outputMeaning(typ, field string) string {
	if typ == "Outputs" {
		return "what sim " + strings.TrimSpace(field) + " --json prints"
	}
	return meaning(docs.OutputPage, docs.ResultPage)(typ, field)
}
