package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// TestScriptsInDocker are the scripts that start containers. They have the
// machine to themselves: an engine at work disturbs whatever runs beside it.
func TestScriptsInDocker(t *testing.T) {
	if err := engineReady(); err != nil {
		t.Skipf("no Docker engine to run nodes in: %v", err)
	}
	if err := imageBuilt(); err != nil {
		t.Fatalf("make docker-image: %v", err)
	}
	scenarios, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/docker/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts { // one after the other
		t.Run(filepath.Base(script), func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: []string{script},
				Setup: func(e *testscript.Env) error {
					e.Setenv("SCENARIOS", scenarios)
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits":        exits,
					"verdicts":     verdicts,
					"signal":       signalAt,
					"interrupt":    interruptAt,
					"childless":    childless,
					"nothing-left": nothingLeft,
					"same":         same,
				},
			})
		})
	}
}

var engineReady = sync.OnceValue(func() error {
	_, err := server.Settle(context.Background(), server.Docker)
	return err
})

var imageBuilt = sync.OnceValue(func() error {
	cmd := exec.Command("sh", "../../scripts/docker-image.sh")
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

// nothingLeft wants no container, volume or network of the process in pid.txt
// with the engine.
func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	pid := strings.TrimSpace(ts.ReadFile("pid.txt"))
	_, err := strconv.Atoi(pid)
	ts.Check(err)
	c, err := client.New(client.FromEnv)
	ts.Check(err)
	defer c.Close()
	ours := make(client.Filters).Add("label", "redlock-sim.owner")
	its := func(labels map[string]string) int {
		if f := strings.Fields(labels["redlock-sim.owner"]); len(f) == 4 && f[2] == pid {
			return 1
		}
		return 0
	}
	eventually(ts, "the end of all that process "+pid+" left with the engine", func() bool {
		left := 0
		containers, err := c.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: ours})
		ts.Check(err)
		for _, o := range containers.Items {
			left += its(o.Labels)
		}
		volumes, err := c.VolumeList(context.Background(), client.VolumeListOptions{Filters: ours})
		ts.Check(err)
		for _, o := range volumes.Items {
			left += its(o.Labels)
		}
		networks, err := c.NetworkList(context.Background(), client.NetworkListOptions{Filters: ours})
		ts.Check(err)
		for _, o := range networks.Items {
			left += its(o.Labels)
		}
		return left == 0
	})
}

// same FILE FILE wants the same verdict in both files of results, for every
// property of which a scenario expects something, and counts the scenarios.
func same(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	first, second := expectedVerdicts(ts, args[1]), expectedVerdicts(ts, args[2])
	if len(first) < least || len(first) != len(second) {
		ts.Fatalf("%d scenarios beside %d, want at least %d", len(first), len(second), least)
	}
	for name, verdicts := range first {
		for property, verdict := range verdicts {
			if got := second[name][property]; got != verdict {
				ts.Fatalf("%s, %s: %s in %s, %s in %s", name, property, verdict, args[1], got, args[2])
			}
		}
	}
}

// expectedVerdicts are the verdicts by scenario and by variant/property.
func expectedVerdicts(ts *testscript.TestScript, file string) map[string]map[string]string {
	list := make(map[string]map[string]string)
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	for d.More() {
		var r report.Result
		ts.Check(d.Decode(&r))
		list[r.Scenario] = make(map[string]string)
		for _, v := range r.Variants {
			for _, p := range v.Properties {
				if p.Expected != 0 {
					list[r.Scenario][v.Name+"/"+string(p.Name)] = p.Verdict.String()
				}
			}
		}
	}
	return list
}
