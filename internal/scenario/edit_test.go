package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const edited = `# What this is for.
name: one # its name

lock: {algorithm: redlock, ttl: 1s}   # one second

nodes: {count: 5}
workload: {kind: increment, clients: 2}
faults:
  # the pause
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
  - at: 100ms
    kill: {node: A}
variants:
  slow: {lock: {ttl: 5s}}
  plain:
`

func changes(t *testing.T, text string) (list []scenario.Change) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// A value that is there is changed in its place, and no other byte is.
func TestEditInPlace(t *testing.T) {
	for _, c := range []struct{ variant, change, old, now string }{
		{"plain", `{"path":["lock","ttl"],"value":"2.5s"}`, "ttl: 1s}", "ttl: 2.5s}"},
		{"slow", `{"path":["lock","ttl"],"value":"250ms"}`, "ttl: 5s}", "ttl: 250ms}"},
		{"slow", `{"path":["nodes","count"],"value":3}`, "count: 5", "count: 3"},
		{"plain", `{"path":["faults",0,"pause","for"],"value":"3s"}`, "for: 2s", "for: 3s"},
		{"plain", `{"path":["faults",1,"at"],"value":"1m30s"}`, "at: 100ms", "at: 1m30s"},
		{"plain", `{"path":["lock","algorithm"],"value":"set-nx-px"}`, "algorithm: redlock", "algorithm: set-nx-px"},
		{"plain", `{"path":["name"],"value":"5"}`, "name: one #", `name: "5" #`},
	} {
		out, err := scenario.Edit([]byte(edited), c.variant, changes(t, "["+c.change+"]"))
		want := strings.Replace(edited, c.old, c.now, 1)
		if err != nil || string(out) != want && strings.ReplaceAll(string(out), "'", `"`) != want {
			t.Errorf("%s in %s: %v\n%s", c.change, c.variant, err, out)
		}
	}
}

// What is new or goes changes the layout, but no other value and no comment.
func TestEditOfEntries(t *testing.T) {
	for _, c := range []struct{ variant, change, path, want string }{
		{"plain", `{"path":["lock","node_timeout"],"value":"20ms"}`, "lock", `{"algorithm":"redlock","node_timeout":"20ms","ttl":"1s"}`},
		{"plain", `{"path":["fencing","tokens"],"value":"quorum-counter"}`, "fencing", `{"tokens":"quorum-counter"}`},
		{"plain", `{"path":["faults",2],"value":{"at":"1s","pause":{"client":"c2","for":"1s"}}}`, "faults",
			`[{"on":{"client":"c1","point":"before-write"},"pause":{"client":"c1",` +
				`"for":"2s"}},{"at":"100ms","kill":{"node":"A"}},{"at":"1s","pause":{"client":"c2","for":"1s"}}]`},
		{"plain", `{"path":["faults",0],"value":null}`, "faults", `[{"at":"100ms","kill":{"node":"A"}}]`},
		{"slow", `{"path":["lock","ttl"],"value":null}`, "lock", `{"algorithm":"redlock","ttl":"1s"}`},
	} {
		out, err := scenario.Edit([]byte(edited), c.variant, changes(t, "["+c.change+"]"))
		if err != nil {
			t.Errorf("%s: %v", c.change, err)
			continue
		}
		tree, variants, err := scenario.Tree(out, c.variant)
		if err != nil || strings.Join(variants, " ") != "slow plain" {
			t.Errorf("%s: %v, %v\n%s", c.change, variants, err, out)
			continue
		}
		got, err := json.Marshal(tree.(map[string]any)[c.path])
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, want %s: %v", c.change, got, c.want, err)
		}
		for _, comment := range []string{"# What this is for.", "# its name", "# one second"} {
			if !strings.Contains(string(out), comment) {
				t.Errorf("%s: the comment %q is gone:\n%s", c.change, comment, out)
			}
		}
		if strings.Contains(string(out), "\n\n\n") || strings.Count(string(out), `"`) > 0 {
			t.Errorf("%s: a strange layout:\n%s", c.change, out)
		}
	}
}

// What others refer to as well does not change with it.
func TestEditOfAnAlias(t *testing.T) {
	text := "name: x\nlock: &l {algorithm: redlock, ttl: 1s}\nvariants:\n  a: {lock: *l}\n  b:\n"
	out, err := scenario.Edit([]byte(text), "a", changes(t, `[{"path":["lock","ttl"],"value":"7s"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[string]any{"a": "7s", "b": "1s"} {
		tree, _, err := scenario.Tree(out, variant)
		if err != nil {
			t.Fatal(err)
		}
		if lock := tree.(map[string]any)["lock"].(map[string]any); lock["ttl"] != want {
			t.Errorf("%s has %v:\n%s", variant, lock, out)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct{ text, change string }{
		{"a: [", `{"path":["a"],"value":1}`},
		{"", `{"path":["a"],"value":1}`},
		{"a: 1", `{"path":["a","b"],"value":1}`},
		{"a: [1]", `{"path":["a",2],"value":1}`},
		{"a: [1]", `{"path":["a",true],"value":1}`},
		{"a: [1]", `{"path":[],"value":1}`},
	} {
		if out, err := scenario.Edit([]byte(c.text), "", changes(t, "["+c.change+"]")); err == nil {
			t.Errorf("%q, %s: got %q", c.text, c.change, out)
		}
	}
}
