package scenario_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

const small = `
name: small
lock: {algorithm: redlock, ttl: 250ms}
`

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaultsFillWhatIsLeftOut(t *testing.T) {
	s := parse(t, small)
	if len(s.Variants) != 1 || s.Variants[0].Name != scenario.DefaultVariant {
		t.Fatalf("variants: %+v", s.Variants)
	}
	setup := s.Variants[0].Setup
	if setup.Nodes.Count != 5 || setup.Lock.TTL != 250*time.Millisecond || setup.Lock.NodeTimeout != 50*time.Millisecond ||
		setup.Lock.DriftFactor != 0.01 || setup.Workload.Clients != 2 || setup.TimeLimit != 30*time.Second {
		t.Errorf("setup: %+v", setup)
	}
	if setup.Fencing.Tokens != lock.NoTokens || setup.Fencing.Check != resource.NoFence {
		t.Errorf("fencing: %+v", setup.Fencing)
	}
}

func TestVariantsOverlayAnyPart(t *testing.T) {
	s := parse(t, small+`
nodes: {count: 3, persistence: none}
variants:
  plain:
  tokens: {fencing: {tokens: quorum-counter}, lock: {ttl: 2s}}
  five: {nodes: {count: 5}}
expect:
  tokens: {no-late-effect: violated, linearizable-resource: anything, deadlock-free: unknown}
`)
	plain, tokens, five := s.Variants[0], s.Variants[1], s.Variants[2]
	if plain.Setup.Nodes.Count != 3 || five.Setup.Nodes.Count != 5 || five.Setup.Nodes.Persistence != world.NoPersistence {
		t.Errorf("nodes: %+v, %+v", plain.Setup.Nodes, five.Setup.Nodes)
	}
	if tokens.Setup.Lock.TTL != 2*time.Second || tokens.Setup.Lock.Algorithm != "redlock" || plain.Setup.Lock.TTL != 250*time.Millisecond {
		t.Errorf("lock: %+v", tokens.Setup.Lock)
	}
	if tokens.Setup.Fencing.Check != resource.Strict {
		t.Errorf("tokens without a word on the check are checked strictly, got %q", tokens.Setup.Fencing.Check)
	}
	if diff := cmp.Diff([]string{"fencing.tokens: quorum-counter", "lock.ttl: 2s"}, tokens.Settings); diff != "" {
		t.Error(diff)
	}
	for property, want := range map[checker.Property][2]checker.Verdict{ // of tokens, and of a variant without a block
		checker.ExclusiveLease:       {checker.Holds, checker.Holds},
		checker.NoLateEffect:         {checker.Violated, checker.Holds},
		checker.LinearizableResource: {0, checker.Holds},
		checker.DeadlockFree:         {checker.Unknown, 0},
		checker.ExclusiveBelief:      {0, 0},
	} {
		if got := [2]checker.Verdict{tokens.Expected(property), plain.Expected(property)}; got != want {
			t.Errorf("of %s is expected %v, want %v", property, got, want)
		}
	}
	text, err := scenario.Encode(nil, s.Head, &tokens.Setup, tokens.Expect)
	if err != nil || !strings.Contains(text, "linearizable-resource: anything") {
		t.Errorf("written as %s, %v", text, err)
	}
}

// That grants rest on keys is expected where nothing else is said, the lock keeps keys, and it is expected to be exclusive.
func TestBackedGrantIsExpected(t *testing.T) {
	for text, want := range map[string]checker.Verdict{
		"":                                      checker.Holds,
		"expect: {exclusive-lease: holds}\n":    checker.Holds,
		"expect: {exclusive-lease: violated}\n": 0,
		"expect: {exclusive-lease: unknown}\n":  0,
		"expect: {exclusive-lease: holds, backed-grant: anything}\n":   0,
		"expect: {exclusive-lease: unknown, backed-grant: violated}\n": checker.Violated,
	} {
		for lock, keeps := range map[string]bool{"redlock": true, "none": false, "linearizable": false} {
			want := want
			if !keeps && want == checker.Holds {
				want = 0
			}
			v := parse(t, "name: x\nlock: {algorithm: "+lock+"}\n"+text).Variants[0]
			if got := v.Expected(checker.BackedGrant); got != want {
				t.Errorf("%s, %q: %v, want %v", lock, text, got, want)
			}
		}
	}
}

// What needs no lock is not asked for one.
func TestTransactionsAreAskedForNothing(t *testing.T) {
	v := parse(t, "name: pairs\nlock: {algorithm: none}\nworkload: {kind: transactions}\n").Variants[0]
	for _, p := range checker.Properties() {
		if got := v.Expected(p); got != 0 {
			t.Errorf("of %s is expected %v", p, got)
		}
	}
}

// refusals are scenarios that must be refused, each with a piece of the message
// and its place.
var refusals = map[string]struct{ text, want string }{
	"no name":             {"lock: {algorithm: redlock}", `1:1: "name" is missing`},
	"no lock":             {"name: x", `1:1: "lock" is missing`},
	"no algorithm":        {"name: x\nlock: {ttl: 1s}", `2:7: lock: "algorithm" is missing`},
	"twice":               {small + "name: y", `"name" is given twice`},
	"a list":              {"- a", "want a mapping, got a list"},
	"a negative duration": {small + "time_limit: -1s", "want at least 100ms"},
	"timeout over ttl":    {small + "lock: {algorithm: redlock, ttl: 40ms}", `"lock" is given twice`},
	"a long timeout":      {"name: x\nlock: {algorithm: redlock, ttl: 40ms, node_timeout: 1s}", "is not shorter than the ttl"},
	"extends in vain":     {small + "workload: {extend: 1s, think: 1s}", "workload.extend: never happens: the client works for 1s (think)"},
	"extends no lock":     {small + "workload: {kind: transactions, extend: 1s, think: 3s}", "workload.extend: transactions takes no lock"},
	"cannot be extended": {"name: x\nlock: {algorithm: watchdog}\nworkload: {extend: 1s, think: 3s}",
		"workload.extend: its user cannot extend watchdog"},
	"forgets no lock": {small + "workload: {kind: transactions, leave: forgotten}", "workload.leave: transactions takes no lock"},
	"never releases": {small + "workload: {leave: forgotten}\nfaults: [{on: {client: c1, point: before-release}, kill: {client: c1}}]",
		"before-release"},
	"holds in vain": {small + "workload: {leave: held}", "workload.leave: never happens: each client goes through one section"},
	"holds no lock": {small + "workload: {kind: transactions, sections: 2, leave: held}", "workload.leave: transactions takes no lock"},
	"holds for ever": {"name: x\nlock: {algorithm: watchdog}\nworkload: {sections: 2, leave: held}",
		"workload.leave: nobody gets the lock again: watchdog renews what is not released"},
	"unknown variant":      {small + "variants: {a: {}}\nexpect: {b: {exclusive-lease: holds}}", `unknown key "b"`},
	"a variant of nothing": {small + "variants: {}", "want a mapping from names to overlays"},
	"replicas of nothing":  {small + "nodes: {count: 0, topology: replicated}\nfaults: [{at: 1s, promote: {node: B}}]", "want at least"},
	"variant's own error":  {small + "variants: {a: {nodes: {count: 0}}}", "want at least 1, got 0"},
	"a variant's name":     {small + "variants: {\"A b\": {}}", "a variant's name must match"},
	"bool":                 {small + "workload: {check_before_write: yes}", "want true or false"},
	"float":                {small + "workload: {clients: 1.5}", "want a whole number"},
	"distribution":         {small + "faults: [{every: often, pause: {client: c1}}]", "exp(mean=500ms)"},
	"control characters":   {"name: x\ntitle: \"a\\e[31m\"\nlock: {algorithm: redlock}", "control characters"},
	"mix of nonsense":      {small + "faults: {mix: {kinds: {earthquake: {}}}}", `no fault "earthquake"`},
	"two triggers":         {small + "faults: [{at: 1s, every: 1s, pause: {client: c1}}]", "exactly one way"},
	"stall of nobody":      {small + "faults:\n  - at: 1s\n    stall: {client: c9}", `no client "c9"`},
	"stall's options":      {small + "faults: [{at: 1s, stall: {delay: 1s}}]", `unknown key "delay"`},
	"two faults":           {small + "faults: [{at: 1s, pause: {client: c1}, kill: {node: A}}]", "one entry holds one fault"},

	"differs, and is nobody": {differing("c3: {ttl: 2s}"), "2:53: lock.clients.c3: there is no such client, but 2 clients"},
	"differs, and is a node": {differing("A: {ttl: 2s}"), `lock.clients.A: "A" does not match`},
	"differs in nothing":     {differing("c2: {ttl: 1s}"), "lock.clients.c2: its lock is as that of the others"},
	"differs in an unknown":  {differing("c2: {attempts: 1}"), `unknown key "attempts"`},
	"differs in a short ttl": {differing("c2: {ttl: 50ms}"), "lock.clients.c2.ttl: 50ms is not longer than the node_timeout 50ms"},
	"differs in a rule": {differing("c2: {switches: {quorum: reachable}}"),
		"lock.clients.c2.switches.quorum: set-nx-px has no such rule"},
	"differs in a lock":   {differing("c2: {algorithm: set-nx-pxx}"), `lock.clients.c2.algorithm: no lock algorithm "set-nx-pxx"`},
	"differs in its kind": {differing("c2: {algorithm: semaphore}"), "lets others in beside one client"},
	"differs without a ttl": {"name: x\nlock: {algorithm: watchdog, ttl: none, clients: {c2: {ttl: 1s}}}",
		"lock.clients.c2.ttl: the lock has no ttl"},
	"differs in one process": {differing("c2: {ttl: 2s}") + "\nworkload: {per_process: 2}", "clients that share a process have the same lock"},
	"differs, and is a program": {"name: x\nlock: {program: {command: [x]}, clients: {c2: {algorithm: redlock}}}",
		"lock.clients.c2.algorithm: the lock is a program"},
	"differs in the slot": {"name: x\nnodes: {topology: cluster}\nlock: {algorithm: set-nx-px, clients: {c2: {key: old}}}",
		"in a Redis Cluster it is in another slot"},

	"no command":        {"name: x\nlock: {program: {}}", `2:17: lock.program: "command" is missing`},
	"an empty command":  {"name: x\nlock: {program: {command: []}}", "2:27: lock.program.command: want at least 1 entry, got 0"},
	"an empty word":     {"name: x\nlock: {program: {command: ['']}}", "2:28: lock.program.command[0]: shorter than 1 byte"},
	"a long word":       {"name: x\nlock: {program: {command: [" + strings.Repeat("x", 4097) + "]}}", "longer than 4096 bytes"},
	"101 words":         {"name: x\nlock: {program: {command: [" + strings.Repeat("x,", 101) + "]}}", "want at most 100 entries, got 101"},
	"a bad name":        {program("env: {A-B: x}"), `lock.program.env.A-B: "A-B" does not match`},
	"101 names":         {program("env: {" + names(101) + "}"), "want at most 100 entries, got 101"},
	"a command as text": {"name: x\nlock: {program: {command: python3 lock.py}}", `want a list, got "python3 lock.py"`},
	"a lock and a program": {"name: x\nlock: {algorithm: redlock, program: {command: [x]}}",
		"2:37: lock.program: stands in the place of algorithm: give one of the two"},
	"two in a variant": {small + "variants: {a: {lock: {program: {command: [x]}, algorithm: redlock}}}",
		"lock.program: stands in the place of algorithm"},
	"a bad need": {small + "needs: [renewal]", `hint: did you mean "renew"?`},
	"demands of a word": {small + "demands: {exclusive-lease: violated}",
		`4:28: demands.exclusive-lease: want holds, anything, or a list of the classes`},
	"demands of nobody":   {small + "demands: {exclusive-lease: []}", "want at least one class of locks"},
	"demands of an alien": {small + "demands: {exclusive-lease: [sesion]}", "hint: did you mean \"session\"?"},
	"demands twice":       {small + "demands: {exclusive-lease: [session, session]}", `"session" is given twice`},
	"demands of what":     {small + "demands: {exclusive-leese: holds}", `hint: did you mean "exclusive-lease"?`},
	"demands, no variant": {small + "variants: {a: {}}\ndemands: {exclusive-lease: holds}", `unknown key "exclusive-lease"`},
}

// differing is a scenario in which clients differ.
func differing(clients string) string {
	return "name: x\nlock: {algorithm: set-nx-px, ttl: 1s, clients: {" + clients + "}}\nnodes: {count: 1}\n"
}

// program is a scenario with a lock program.
func program(settings string) string {
	return "name: x\nlock: {program: {command: [x], " + settings + "}}\n"
}

// names are entries of a mapping.
func names(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("A%d: x", i))
	}
	return strings.Join(list, ", ")
}

func TestRefusals(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			_, err := scenario.Parse("test.yaml", []byte(c.text))
			var problems yamlform.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v: want Problems", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant %q", err, c.want)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 || p.File != "test.yaml" {
					t.Errorf("a problem without a place: %+v", p)
				}
			}
		})
	}
}

// One mistake is one problem, whatever else rests on the value: in each shipped scenario each
// value in turn is one that cannot be read, and each key in turn is misspelled.
func TestNothingFollowsFromAMistake(t *testing.T) {
	for _, s := range scenariotest.Shipped(t) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(s.Text), &doc); err != nil {
			t.Fatal(err)
		}
		try := func(what string) {
			text, err := yaml.Marshal(&doc)
			if err != nil {
				t.Fatal(err)
			}
			var problems yamlform.Problems
			if _, err = scenario.Parse(s.File, text); !errors.As(err, &problems) || len(problems) != 1 {
				t.Errorf("%s: %s is one mistake, and leads to these:\n%v", s.File, what, err)
			}
		}
		var spoil func(n *yaml.Node, path string)
		spoil = func(n *yaml.Node, path string) {
			switch n.Kind {
			case yaml.ScalarNode:
				was := *n
				*n = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
				try("a list for " + path)
				*n = was
			case yaml.MappingNode:
				for i := 0; i+1 < len(n.Content); i += 2 {
					key := n.Content[i]
					was := key.Value
					if own := path == "variants"; !own && was != "expect" && was != "demands" {
						key.Value += "x"
						try(path + " with the key " + key.Value)
						key.Value = was
					}
					if was != "expect" && was != "demands" {
						spoil(n.Content[i+1], strings.TrimPrefix(path+"."+was, "."))
					}
				}
			default:
				for i, item := range n.Content {
					spoil(item, fmt.Sprintf("%s[%d]", path, i))
				}
			}
		}
		spoil(doc.Content[0], "")
	}
}

// Aliases must not let a small file ask for endless work.
func TestAliasesAreBounded(t *testing.T) {
	text := "name: x\nlock: {algorithm: redlock}\nfaults:\n  - &a {at: 1s, pause: {client: c1, for: 1s}}\n"
	text += "  - &b [" + strings.Repeat("*a,", 50) + "]\n"
	for i, prev := range "bcdefgh" {
		text += "  - &" + string(prev+1) + " [" + strings.Repeat("*"+string(prev)+",", 50) + "]\n"
		_ = i
	}
	began := time.Now()
	if _, err := scenario.Parse("test.yaml", []byte(text)); err == nil {
		t.Error("accepted")
	}
	if d := time.Since(began); d > suite.Patience {
		t.Errorf("took %v", d)
	}
}

func TestShippedScenarios(t *testing.T) {
	names := make(map[string]string)
	for _, s := range scenariotest.Shipped(t) {
		file := s.File
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); s.Name != want {
			t.Errorf("%s: named %q", file, s.Name)
		}
		if other := names[s.Name]; other != "" {
			t.Errorf("%s: has the name of %s", file, other)
		}
		names[s.Name] = file
		if s.Title == "" || s.Story == "" || s.Source == "" {
			t.Errorf("%s: wants a title, a source and a story", file)
		}
		for before, line := range pairs(s.Text) {
			if strings.Contains(line, ": anything") && !strings.HasPrefix(strings.TrimSpace(before), "#") {
				t.Errorf("%s: no comment says why it may go either way: %s", file, line)
			}
		}
		for _, v := range s.Variants {
			if len(v.Expect) == 0 {
				t.Errorf("%s: expects nothing of variant %s", file, v.Name)
			}
			for _, p := range checker.Demanded(v.Setup.Subject()) {
				// What is expected of backed-grant follows from what is of exclusive-lease.
				if p != checker.BackedGrant && !slices.ContainsFunc(v.Expect, func(e scenario.ExpectedVerdict) bool { return e.Property == p }) {
					t.Errorf("%s: does not say what it expects of %s in variant %s", file, p, v.Name)
				}
			}
		}
	}
}

// pairs are the lines of a text, each with the one before it.
func pairs(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		before := ""
		for line := range strings.Lines(text) {
			if !yield(before, line) {
				return
			}
			before = line
		}
	}
}

// compiled is the JSON Schema as another program reads it.
func compiled(t testing.TB) *jsonschema.Schema {
	var b bytes.Buffer
	if err := scenario.WriteSchema(&b); err != nil {
		t.Fatal(err)
	}
	return compile(t, &b)
}

func compile(t testing.TB, text io.Reader) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t testing.TB, schema *jsonschema.Schema, text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// Schema and decoder come from the same types: what ships passes both, and what
// breaks the grammar passes neither.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	schema := compiled(t)
	for _, s := range scenariotest.Shipped(t) {
		if err := validate(t, schema, []byte(s.Text)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", s.File, err)
		}
	}
	for name, text := range outsideGrammar {
		if _, err := scenario.Parse("test.yaml", []byte(text)); err == nil {
			t.Errorf("%s: the decoder accepts it", name)
		}
		if err := validate(t, schema, []byte(text)); err == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// outsideGrammar are texts that schema and decoder refuse.
var outsideGrammar = map[string]string{
	"unknown key":     small + "nodez: {count: 3}",
	"no name":         "lock: {algorithm: redlock}",
	"no lock":         "name: x",
	"no algorithm":    "name: x\nlock: {ttl: 1s}",
	"a bad unit":      small + "time_limit: 30",
	"too many nodes":  small + "nodes: {count: 26}",
	"a bad word":      small + "workload: {start: later}",
	"two triggers":    small + "faults: [{at: 1s, every: 1s, pause: {client: c1}}]",
	"two faults":      small + "faults: [{at: 1s, pause: {client: c1}, kill: {node: A}}]",
	"no fault":        small + "faults: [{at: 1s}]",
	"a bad verdict":   small + "expect: {exclusive-lease: maybe}",
	"a bad variant":   small + "variants: {a: {nodes: {count: 0}}}",
	"a bad parameter": small + "faults: [{at: 1s, latency: {dilay: 1s}}]",
	"a missing one":   small + "faults: [{at: 1s, latency: {}}]",
	"a word for bool": small + "workload: {check_before_write: 3}",

	"no command":           "name: x\nlock: {program: {}}",
	"an empty command":     "name: x\nlock: {program: {command: []}}",
	"an empty word":        "name: x\nlock: {program: {command: ['']}}",
	"101 words":            "name: x\nlock: {program: {command: [" + strings.Repeat("x,", 101) + "]}}",
	"a bad name":           program("env: {A-B: x}"),
	"101 names":            program("env: {" + names(101) + "}"),
	"a lock and a program": "name: x\nlock: {algorithm: redlock, program: {command: [x]}}",
	"both in a variant":    small + "variants: {a: {lock: {algorithm: redlock, program: {command: [x]}}}}",
	"demands of a word":    small + "demands: {exclusive-lease: violated}",
	"demands of nobody":    small + "demands: {exclusive-lease: []}",
	"demands twice":        small + "demands: {exclusive-lease: [session, session]}",
}

// What stands in definitions is judged as if it stood in its place, and is what stood there.
func TestDefinitionsOfTheSchemaAreWhatStoodInTheirPlace(t *testing.T) {
	whole, err := json.Marshal(scenario.WholeSchema())
	if err != nil {
		t.Fatal(err)
	}
	schema, before := compiled(t), compile(t, bytes.NewReader(whole))
	texts := slices.Collect(maps.Values(outsideGrammar))
	for _, c := range refusals {
		texts = append(texts, c.text)
	}
	for _, s := range scenariotest.Shipped(t) {
		texts = append(texts, s.Text)
	}
	for _, text := range texts {
		now, then := validate(t, schema, []byte(text)), validate(t, before, []byte(text))
		if (now == nil) != (then == nil) {
			t.Errorf("now %v, in its place %v:\n%s", now, then, text)
		}
	}

	var b bytes.Buffer
	if err := scenario.WriteSchema(&b); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := errors.Join(json.Unmarshal(b.Bytes(), &got), json.Unmarshal(whole, &want)); err != nil {
		t.Fatal(err)
	}
	root := got.(map[string]any)
	definitions := root["$defs"].(map[string]any)
	delete(root, "$defs")
	if diff := cmp.Diff(want, unfolded(got, definitions)); diff != "" {
		t.Error(diff)
	}
}

// unfolded puts definitions in the place of the references to them.
func unfolded(part any, definitions map[string]any) any {
	switch part := part.(type) {
	case map[string]any:
		if ref, ok := part["$ref"].(string); ok {
			return unfolded(definitions[strings.TrimPrefix(ref, "#/$defs/")], definitions)
		}
		for key := range part {
			part[key] = unfolded(part[key], definitions)
		}
	case []any:
		for i := range part {
			part[i] = unfolded(part[i], definitions)
		}
	}
	return part
}

// FuzzParse: no file makes the decoder panic, and every refusal has a place.
func FuzzParse(f *testing.F) {
	for _, s := range scenariotest.Shipped(f) {
		f.Add([]byte(s.Text))
	}
	for _, c := range refusals {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("fuzz.yaml", text)
		var problems yamlform.Problems
		switch {
		case err == nil && len(s.Variants) == 0:
			t.Fatal("accepted without a variant")
		case err == nil:
		case !errors.As(err, &problems) || len(problems) == 0:
			t.Fatalf("refused without problems: %v", err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 {
				t.Fatalf("a problem without a place: %v", p)
			}
		}
	})
}

func TestPointsAreThoseOfTheLock(t *testing.T) {
	for algorithm, has := range map[string]string{
		"redlock": "quorum", "watchdog": "before-extend", "watchdog-blind": "before-extend", "setnx-pexpire": "before-expire", "set-nx-px": "",
	} {
		for _, point := range []string{"quorum", "after-node:1", "before-extend", "before-expire", "before-write"} {
			_, err := scenario.Parse("test.yaml", []byte("name: test\nnodes: {count: 1}\nlock: {algorithm: "+algorithm+"}\nfaults:\n"+
				"  - on: {client: c1, point: '"+point+"'}\n    pause: {client: c1, for: 1s}\n"))
			want := point == has || point == "before-write" || point == "after-node:1" && algorithm == "redlock"
			if (err == nil) != want {
				t.Errorf("%s at %s: %v", algorithm, point, err)
			}
		}
	}
}
