package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noting is a lock program that notes each of its starts in a file.
func noting(t *testing.T) (file string, command []string) {
	file = filepath.Join(t.TempDir(), "starts")
	return file, []string{"sh", "-c", `echo "$NAME" >> ` + file + `; read hello
		echo '{"type":"ready","protocol":1,"name":"'$NAME'","class":"single","can":["validity"]}'; read setup`}
}

func TestEachProgramIsGreetedOnce(t *testing.T) {
	file, command := noting(t)
	text := "name: x\nnodes: {count: 1}\nlock: {program: {command: [sh, -c, " + quoted(command[2]) + "], env: {NAME: one}}}\n" +
		"variants: {a: {}, b: {}, c: {lock: {program: {env: {NAME: two}}}}, ours: {lock: {algorithm: redlock}}}\n"
	s := parsed(t, text)
	p, err := Greet(context.Background(), []*scenario.Scenario{s, s}, nil, request.Live)
	if err != nil {
		t.Fatal(err)
	}
	if starts, _ := os.ReadFile(file); string(starts) != "one\ntwo\n" {
		t.Errorf("started: %q", starts)
	}
	var names []string
	for _, one := range p.subjects(s, server.Auto) {
		names = append(names, one.lockName())
	}
	if got := strings.Join(names, " "); got != "one one two redlock" {
		t.Errorf("%s", got)
	}
	if p.flags() != " --allow-programs" {
		t.Error(p.flags())
	}
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// The program of --lock is in the place of all locks, those of programs too: these are
// not even started.
func TestOwnProgramIsInEveryPlace(t *testing.T) {
	s := parsed(t, `name: x
nodes: {count: 1}
lock: {program: {command: [/nowhere]}}
variants:
  a: {}
  b: {lock: {algorithm: setnx-del}}
  c: {nodes: {count: 3}}
expect: {b: {exclusive-lease: violated}}
demands: {b: {exclusive-lease: holds}}
`)
	_, command := noting(t)
	own := &scenario.StandIn{Program: &lock.Program{Command: command, Env: map[string]string{"NAME": "mine"}}}
	p, err := Greet(context.Background(), []*scenario.Scenario{s}, own, request.Live)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range p.subjects(s, server.Auto) {
		l := one.Setup.Lock
		if one.lockName() != "mine" || l.Algorithm != "" ||
			l.Program != own.Program || !one.Expect[0].ByDesign && one.Expected("exclusive-lease") == 0 {
			t.Errorf("%s: %+v, %+v", one.Name, l, one.Expect)
		}
		if (one.notApplicable != "") != (one.Name == "c") {
			t.Errorf("%s: %q", one.Name, one.notApplicable)
		}
	}
	if s.Variants[1].Setup.Lock.Algorithm != "setnx-del" {
		t.Error("the scenario itself has changed")
	}
}

func TestProgramThatCannotBeGreeted(t *testing.T) {
	for text, want := range map[string]string{
		"echo last words; exit 3": "ended: exit status 3; the last that it printed:\n  last words",
		"echo a warning; echo '{\"type\":\"ready\",\"protocol\":9}'; " +
			"cat": "speaks version 9 of the protocol: want 1; the last that it printed:\n  a warning",
	} {
		_, err := Greet(context.Background(), nil, &scenario.StandIn{Program: &lock.Program{Command: []string{"sh", "-c", text}}}, request.Live)
		var lacks *EnvironmentError
		if !errors.As(err, &lacks) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(lacks.Hint, "sim conform 'sh -c ") {
			t.Errorf("%v, hint %+v", err, lacks)
		}
	}
}

// stalls is a client that writes after its lease.
const stalls = `name: stalls
nodes: {count: 1}
lock: {algorithm: setnx-pexpire, ttl: 1s}
workload: {clients: 2, think: 300ms}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 2s}
variants: {ours: {}, theirs: {}}
expect:
  ours: {no-late-effect: violated, linearizable-resource: violated}
  theirs: {no-late-effect: violated, linearizable-resource: violated}
demands:
  ours: {linearizable-resource: [session], no-late-effect: holds}
`

func stored(t *testing.T) *Trial {
	t.Helper()
	got, err := Run(context.Background(), parsed(t, stalls), Options{Seed: 3, World: request.Virtual, Out: t.TempDir(),
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A variant that does not apply is told, and changes nothing of what the others are.
func TestVariantThatDoesNotApplyIsNotRun(t *testing.T) {
	dir := t.TempDir()
	s := parsed(t, stalls)
	run := &trial{Scenario: s, dir: dir, Options: Options{Seed: 3, World: request.Virtual, Tries: 1, Programs: &Programs{}, Now: time.Now},
		subjects: []subject{{Variant: s.Variants[0]},
			{Variant: s.Variants[1], ready: &program.Ready{Name: "theirs", Class: program.Other}, notApplicable: "it is theirs"}}}
	r := run.run(context.Background())
	if v := r.Variants[1]; v.NotApplicable != "it is theirs" ||
		v.Lock.Name != "theirs" || v.Lock.Promise != givenPromise || v.Met || v.Undecided || len(v.Properties) > 0 {
		t.Errorf("%+v", v)
	}
	if !r.Variants[0].Met || !r.Met || r.Undecided || !r.Applies() {
		t.Errorf("met %v, undecided %v", r.Met, r.Undecided)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("it left something: %v", entries)
	}
}

// A stored run with --lock is judged again by what is demanded.
func TestRejudgeKnowsWhoseLockItWas(t *testing.T) {
	dir := stored(t).Dir
	file := filepath.Join(dir, "result.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `"name": "ours",`,
		`"name": "ours", "lock": {"name": "mine", "class": "single", "in_place": true},`, 1))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Rejudge(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := &again.Result.Variants[0], &again.Result.Variants[1]
	if p := property(ours, "no-late-effect"); p.Met || p.ByDesign || ours.Met {
		t.Errorf("%+v", p)
	}
	if p := property(ours, "linearizable-resource"); !p.Met || !p.ByDesign {
		t.Errorf("%+v", p)
	}
	if !theirs.Met || again.Result.Met {
		t.Errorf("%+v", theirs)
	}
}

func property(v *report.Variant, name string) report.PropertyResult {
	for _, p := range v.Properties {
		if string(p.Name) == name {
			return p
		}
	}
	return report.PropertyResult{}
}

func TestNoProgramMeetsModels(t *testing.T) {
	_, command := noting(t)
	own := &scenario.StandIn{Program: &lock.Program{Command: command, Env: map[string]string{"NAME": "mine"}}}
	p, err := Greet(context.Background(), nil, own, request.Virtual)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), parsed(t, stalls),
		Options{World: request.Virtual, Nodes: Model, Programs: p, Out: filepath.Join(t.TempDir(), "none"), Now: time.Now})
	if !errors.Is(err, ErrOnModel) {
		t.Errorf("%v", err)
	}
}
