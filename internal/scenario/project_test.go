package scenario

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// TestProjectIsDocumented: docs/guide/your-own-lock.md has a row for each key of sim.yaml.
func TestProjectIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/your-own-lock.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range yamlform.KeysOf(yamlform.FieldsOf(reflect.ValueOf(&Project{}).Elem())) {
		if !strings.Contains(string(text), "\n| `"+key+"` | ") {
			t.Errorf("docs/guide/your-own-lock.md has no row for %q", key)
		}
	}
}

func TestProject(t *testing.T) {
	p, err := ParseProject("sim.yaml",
		[]byte("scenarios: [locks, all]\nlock: python3 lock.py\nnodes: docker\nout: runs/sim\njobs: 3\ntries: 2\n"))
	want := Project{Scenarios: []string{"locks", "all"}, Lock: "python3 lock.py", Nodes: "docker", Out: "runs/sim", Jobs: 3, Tries: 2}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, %v, want %+v", p, err, want)
	}
	for _, empty := range []string{"", "# nothing yet\n"} {
		if p, err := ParseProject("sim.yaml", []byte(empty)); err != nil || !reflect.DeepEqual(p, StandardProject()) {
			t.Errorf("%q: got %+v, %v", empty, p, err)
		}
	}
	for text, want := range map[string]string{
		"nodes: external":   `sim.yaml:1:8: nodes: `,
		"out: /tmp":         `sim.yaml:1:6: out: want a folder inside this one, got "/tmp"`,
		"out: a/../../b":    `sim.yaml:1:6: out: want a folder inside`,
		"lock: \"a\\eb\"":   `sim.yaml:1:7: lock: `,
		"jobs: 0":           `sim.yaml:1:7: jobs: `,
		"[a]":               `sim.yaml:1:1: want a mapping`,
		"lock: [a, b]":      `sim.yaml:1:7: lock: `,
		"password_env: AWS": `unknown key "password_env"`,
	} {
		if _, err := ParseProject("sim.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
