package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	invopop "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// The schemas in docs are those that sim prints, and have a meaning for each field; no page has
// a field that is not there.
func TestSchemasAreDocumented(t *testing.T) {
	t.Parallel()
	for topic, c := range map[string]struct {
		page   string
		more   []string
		schema func(func(typ, field string) string) *invopop.Schema
	}{
		"result":   {docs.ResultPage, nil, report.Schema},
		"card":     {docs.AuditPage, []string{docs.ResultPage}, card.Schema},
		"output":   {docs.OutputPage, []string{docs.ResultPage}, outputSchema},
		"lock-log": {docs.LockLogPage, nil, lockLogSchema},
		"corpus":   {docs.CorpusPage, nil, corpusSchema},
	} {
		var b bytes.Buffer
		command := newSchemaCommand(&cli{stdout: &b})
		command.SetArgs([]string{topic})
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		if b.String() != docstest.Read(t, "docs/"+topic+".schema.json") {
			t.Errorf("docs/%s.schema.json is out of date: make schema", topic)
		}
		rows, elsewhere := fieldMeanings(c.page), meaning(c.more...)
		c.schema(func(typ, field string) string {
			if typ != "Outputs" && rows[typ+"."+field] == "" && elsewhere(typ, field) == "" {
				t.Errorf("the page about %s.json does not say what %s of %s means", topic, field, typ)
			}
			delete(rows, typ+"."+field)
			return ""
		})
		if len(rows) > 0 {
			t.Errorf("the page about %s.json has rows for fields that do not exist: %q", topic, slices.Sorted(maps.Keys(rows)))
		}
	}
}

// strictSchema is a schema of docs with nothing allowed beside its fields, or what it says at a place below it.
func strictSchema(t *testing.T, topic string, below ...string) *jsonschema.Schema {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(docstest.Read(t, "docs/"+topic+".schema.json")), &doc); err != nil {
		t.Fatal(err)
	}
	doc["additionalProperties"] = false
	for _, def := range doc["$defs"].(map[string]any) {
		def.(map[string]any)["additionalProperties"] = false
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(topic+".json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(topic + ".json" + strings.Join(below, ""))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid checks a stream of results, and returns how many there are.
func valid(t *testing.T, s *jsonschema.Schema, r io.Reader) (count int) {
	t.Helper()
	for d := json.NewDecoder(r); ; count++ {
		d.UseNumber()
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return count
		} else if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%v\n%v", err, v)
		}
	}
}

// Every result.json is valid against the schema: with tries, faults that fail, what is not
// applicable, and after an error.
func TestResultsAreValid(t *testing.T) {
	t.Parallel()
	s, dir := strictSchema(t, "result"), t.TempDir()
	for file, text := range map[string]string{
		"tries.yaml": "name: tries\nlock: {algorithm: redlock}\nworkload: {clients: 2}\nexpect: {exclusive-lease: violated}\n",
		"never.yaml": "name: never\nlock: {algorithm: redlock}\nworkload: {clients: 2}\n" +
			"faults: [{on: {client: c1, point: before-write, and: {client: c2, point: acquired}}, pause: {client: c1, for: 1s}}]\n",
		"limit.yaml": "name: limit\nlock: {algorithm: redlock}\nworkload: {clients: 2, think: 1m, start: together}\ntime_limit: 1s\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
		// shows is a field that makes this run worth its time.
		shows string
	}{
		{"gc-pause --world virtual", app.ExitMet, `"counterexample":`},
		{"random-faults --world virtual", app.ExitMet, `"faults":`},
		{"tries.yaml --world virtual --tries 3", app.ExitUnexpected, `"allowed":`},
		{"never.yaml --world virtual", app.ExitUndecided, `"fired": 0`},
		{"limit.yaml --world virtual", app.ExitUndecided, `"timed_out":`},
		// The verdicts are not this test's matter: where the machine stalls, a live run is undecided.
		{"set-nx-px --allow-undecided --lock,sim lock set-nx-px", app.ExitMet, `"promise":`},
		{"clock-jump --lock,sim lock set-nx-px", app.ExitUndecided, `"not_applicable":`},
	} {
		args, more, _ := strings.Cut(c.args, ",")
		words := append([]string{"run", "--json"}, strings.Fields(args)...)
		if more != "" {
			words = append(words, more)
		}
		cmd := exec.Command("sim", words...)
		cmd.Dir = dir
		out, err := suite.Output(t, cmd)
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("sim %s: exit code %d, want %d: %v\n%s", c.args, code, c.code, err, out)
		}
		if !bytes.Contains(out, []byte(c.shows)) {
			t.Errorf("sim %s shows no %s\n%s", c.args, c.shows, out)
		}
		if n := valid(t, s, bytes.NewReader(out)); n != 1 {
			t.Errorf("sim %s prints %d results", c.args, n)
		}
	}
	for name, r := range reporttest.All() {
		var b bytes.Buffer
		if err := report.WriteJSON(&b, r); err != nil || valid(t, s, &b) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "reports/*/*/result.json"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d runs are stored (%v)", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, s, f)
		_ = f.Close()
	}
}

// Every card.json is valid against the schema: of one lock and of several, of a part, and with
// costs, broken cells and their scenarios.
func TestCardsAreValid(t *testing.T) {
	suite.All(t)
	t.Parallel()
	s, dir := strictSchema(t, "card"), t.TempDir()
	for _, c := range []struct {
		locks []string
		part  string
		code  int
		// shows is a field that makes this card worth its time.
		shows string
	}{
		{[]string{"redlock"}, "", app.ExitMet, `"costs":`},
		{[]string{"redlock --switch value", "set-nx-px"}, "", app.ExitUnexpected, `"scenario": "redlock-without-value/`},
		{[]string{"redlock"}, "^cost/cost-acquire", app.ExitMet, `"guarantees": []`},
		{[]string{"redlock --switch node_error"}, "^(hung-node|memory-loss)/", app.ExitUnexpected, `"undecided": 3`},
	} {
		words := []string{"audit", "--world", "virtual", "--seed", "1", "--case", c.part, "--json"}
		for _, l := range c.locks {
			words = append(words, "--lock", l)
		}
		cmd := exec.Command("sim", words...)
		cmd.Dir = dir
		out, err := suite.Output(t, cmd)
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%q: exit code %d, want %d: %v\n%s", words, code, c.code, err, out)
		}
		if !bytes.Contains(out, []byte(c.shows)) {
			t.Errorf("%q shows no %s\n%s", words, c.shows, out)
		}
		if n := valid(t, s, bytes.NewReader(out)); n != 1 {
			t.Errorf("%q prints %d cards", words, n)
		}
	}
	for name, c := range reporttest.Cards() {
		var b bytes.Buffer
		if err := card.WriteJSON(&b, c); err != nil || valid(t, s, &b) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemasOfOutput: what each command prints with --json is valid against its schema, and the exit code is that without it.
func TestSchemasOfOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"plain.yaml": "name: plain\nnodes: {count: 3}\nworkload: {clients: 2, start: together}\n" +
			"lock: {algorithm: redlock, retry: {attempts: 2, delay: 0s, jitter: 0s}, switches: {release: delete}}\n",
		"correct.yaml": "name: correct\nnodes: {count: 3}\nworkload: {clients: 2, start: together}\n" +
			"lock: {algorithm: redlock, retry: {attempts: 2, delay: 0s, jitter: 0s}}\n",
		"monitor.log": `1795856081.100000 [0 h:1] "DEL" "lock:a"
1795856081.200000 [0 h:1] "SET" "lock:a" "w1" "NX" "PX" "3000"
1795856082.200000 [0 h:2] "DEL" "lock:a"
`,
		"answers.jsonl": `{"id":"virtual-0001","about":"exclusive-belief","verdict":"refused"}` + "\n",
		"history.edn": `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value 2}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]bool)
	for _, c := range []struct {
		line string
		code int
		// shows is a field that makes this line worth its time.
		shows string
	}{
		{"list --json", app.ExitMet, `"guarantee"`},
		{"list locks --json", app.ExitMet, `"switches"`},
		{"list switches --json", app.ExitMet, `"off"`},
		{"list faults --json", app.ExitMet, `"title"`},
		{"lock --json", app.ExitMet, `"redlock"`},
		{"version --json", app.ExitMet, `"libraries"`},
		{"doctor --json", app.ExitMet, `"state"`},
		{"search gc-pause --variant unfenced --for 0s --seeds 200 --json", app.ExitUnexpected, `"violated"`},
		{"search sentinel-min-replicas --for 0s --seeds 1 --bare --json", app.ExitMet, `"worth"`},
		{"soak gc-pause --variant unfenced --epochs 2 --length 10s --seed 1 --seeds seeds.jsonl --json", app.ExitUnexpected, `"seeds"`},
		{"sweep gc-pause --x lock.ttl=500ms,1s --runs 20 --json", app.ExitMet, `"rate"`},
		{"exhaust correct.yaml --most 100 --json", app.ExitUndecided, `"verdict": "unknown"`},
		{"exhaust correct.yaml --property exclusive-lease --json", app.ExitMet, `"verdict": "holds"`},
		{"exhaust plain.yaml --property exclusive-lease --json", app.ExitUnexpected, `"history"`},
		{"run gc-pause --world virtual --seed 1 --json", app.ExitMet, ""},
		{"check reports/latest/unfenced/history.jsonl --json", app.ExitUnexpected, `"counterexample"`},
		{"explain reports/latest --reruns 10 --json", app.ExitMet, `"no_return"`},
		{"check history.edn --model register --json", app.ExitUnexpected, `"first_bad"`},
		{"corpus --out corpus --histories 20", app.ExitMet, "20 histories"},
		{"corpus check corpus --json", app.ExitMet, `"compared"`},
		{"corpus check corpus --answers answers.jsonl --json", app.ExitUnexpected, `"wrong"`},
		{"observe monitor.log --keys lock:* --json", app.ExitUnexpected, `"ending"`},
		{"compare reports/latest reports/latest --format json", app.ExitMet, `"compared"`},
		{"conform --json,sim lock redlock", app.ExitMet, `"program"`},
		{"conform --json cat", app.ExitUnexpected, `"mend"`},
	} {
		args, more, _ := strings.Cut(c.line, ",sim ")
		words := strings.Fields(args)
		if more != "" {
			words = append(words, "sim "+more)
		}
		cmd := exec.Command("sim", words...)
		cmd.Dir = dir
		out, err := suite.Output(t, cmd)
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("sim %s: exit code %d, want %d: %v\n%s", c.line, code, c.code, err, out)
		}
		if !bytes.Contains(out, []byte(c.shows)) {
			t.Errorf("sim %s shows no %s\n%s", c.line, c.shows, out)
		}
		name := words[0]
		switch {
		case name == "run":
			continue // it has a schema of its own
		case name == "corpus" && words[1] != "check":
			validCorpus(t, filepath.Join(dir, "corpus"))
			continue
		case name == "corpus" && words[3] == "--answers":
			name = "corpus check --answers"
		case name == "corpus":
			name = "corpus check"
		}
		seen[name] = true
		if n := valid(t, strictSchema(t, "output", "#/properties/"+strings.ReplaceAll(name, " ", "%20")), bytes.NewReader(out)); n != 1 {
			t.Errorf("sim %s prints %d documents", c.line, n)
		}
	}
	seen["campaign report"] = seen["search"] // testdata/campaign.txt compares them
	now := time.Now()
	status, err := json.Marshal(campaign.Status{Finished: &now, Created: now,
		Classes: []explore.Class{{Name: "x"}}, Points: []campaign.Point{{At: now}},
		Found: []explore.Found{{Lineage: explore.Lineage{1}}}, Workers: []campaign.WorkerStatus{{Can: []string{"x"}, Seen: now}}})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, strictSchema(t, "output", "#/properties/campaign%20status"), bytes.NewReader(status))
	seen["campaign status"], seen["campaign list"] = true, true // a list of them
	for p := outputSchema(outputMeaning).Properties.Oldest(); p != nil; p = p.Next() {
		if !seen[p.Key] {
			t.Errorf("nothing is tried of sim %s", p.Key)
		}
	}
}

// validCorpus: each line of the index of a corpus is valid against its schema.
func validCorpus(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, corpus.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	valid(t, strictSchema(t, "corpus", "#/$defs/Index"), bytes.NewReader(first))
	if n := valid(t, strictSchema(t, "corpus", "#/$defs/Entry"), bytes.NewReader(rest)); n < 15 {
		t.Errorf("the index has %d histories", n)
	}
}
