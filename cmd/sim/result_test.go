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

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/docstest"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

// The schema in docs is the one that sim prints, and has a meaning for each field; the page has
// no field that is not there.
func TestResultSchemaIsDocumented(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := newSchemaCommand(&app{stdout: &b})
	c.SetArgs([]string{"result"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	if b.String() != docstest.Read(t, "docs/result.schema.json") {
		t.Error("docs/result.schema.json is out of date: make schema")
	}
	rows := resultFields(docs.ResultPage)
	report.Schema(func(typ, field string) string {
		if rows[typ+"."+field] == "" {
			t.Errorf("docs/result.md does not say what %s of %s means", field, typ)
		}
		delete(rows, typ+"."+field)
		return ""
	})
	if len(rows) > 0 {
		t.Errorf("docs/result.md has rows for fields that do not exist: %q", slices.Sorted(maps.Keys(rows)))
	}
}

// resultSchema is the schema of result.json with nothing allowed beside its fields.
func resultSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(docstest.Read(t, "docs/result.schema.json")), &doc); err != nil {
		t.Fatal(err)
	}
	doc["additionalProperties"] = false
	for _, def := range doc["$defs"].(map[string]any) {
		def.(map[string]any)["additionalProperties"] = false
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("result.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("result.json")
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
	if testing.Short() {
		t.Skip("runs lock programs")
	}
	t.Parallel()
	s, dir := resultSchema(t), t.TempDir()
	for file, text := range map[string]string{
		"tries.yaml": "name: tries\nlock: {algorithm: redlock}\nworkload: {clients: 2}\nexpect: {exclusive-lease: violated}\n",
		"never.yaml": "name: never\nlock: {algorithm: redlock}\nworkload: {clients: 2}\nfaults: [{on: {client: c1, point: before-write, and: {client: c2, point: acquired}}, pause: {client: c1, for: 1s}}]\n",
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
		{"gc-pause --world virtual", exitMet, `"counterexample":`},
		{"random-faults --world virtual", exitMet, `"faults":`},
		{"tries.yaml --world virtual --tries 3", exitUnexpected, `"allowed":`},
		{"never.yaml --world virtual", exitUndecided, `"fired": 0`},
		{"limit.yaml --world virtual", exitUndecided, `"timed_out":`},
		// The verdicts are not this test's matter: where the machine stalls, a live run is undecided.
		{"set-nx-px --allow-undecided --lock,sim lock set-nx-px", exitMet, `"promise":`},
		{"clock-jump --lock,sim lock set-nx-px", exitUndecided, `"not_applicable":`},
	} {
		args, more, _ := strings.Cut(c.args, ",")
		words := append([]string{"run", "--json"}, strings.Fields(args)...)
		if more != "" {
			words = append(words, more)
		}
		cmd := exec.Command("sim", words...)
		cmd.Dir = dir
		out, err := cmd.Output()
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
