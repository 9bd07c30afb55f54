package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// TestScriptsInDocker are the scripts that start containers. They have the
// machine to themselves: an engine at work disturbs whatever runs beside it.
func TestScriptsInDocker(t *testing.T) {
	if err := engineReady(); err != nil {
		suite.Lacks(t, "a Docker engine (make docker-engine starts one): "+err.Error())
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
			if filepath.Base(script) != "auto.txt" {
				suite.All(t)
			}
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
					"image":        imageOfSim,
					"doctor-in":    doctorIn,
					"run-in-node":  runInNode,
				},
			})
		})
	}
}

var engineReady = sync.OnceValue(func() error {
	_, err := server.Settle(context.Background(), server.Docker, "")
	if err == nil {
		_, err = exec.LookPath("docker") // which builds the image
	}
	return err
})

var imageBuilt = sync.OnceValue(func() error {
	cmd := exec.Command("sh", "../../scripts/docker-image.sh")
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

// imageOfSim NAME makes an image of nothing but sim, as a user makes one of a lock program.
func imageOfSim(ts *testscript.TestScript, _ bool, args []string) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	static, err := staticSim()
	ts.Check(err)
	ts.Check(w.WriteHeader(&tar.Header{Name: "sim", Mode: 0o755, Size: int64(len(static))}))
	_, err = w.Write(static)
	ts.Check(err)
	ts.Check(w.Close())
	c, err := client.New(client.FromEnv)
	ts.Check(err)
	ts.Defer(func() {
		_, _ = c.ImageRemove(context.Background(), args[0], client.ImageRemoveOptions{Force: true})
		_ = c.Close()
	})
	made, err := c.ImageImport(context.Background(), client.ImageImportSource{Source: &archive, SourceName: "-"}, args[0],
		client.ImageImportOptions{Changes: []string{`ENTRYPOINT ["/sim", "lock"]`, `CMD ["redlock"]`}})
	ts.Check(err)
	_, err = io.Copy(io.Discard, made)
	ts.Check(errors.Join(err, made.Close()))
}

// doctorIn IMAGE OPTIONS... runs sim doctor in a container of an image of sim, and keeps what it prints in stdout.txt.
func doctorIn(ts *testscript.TestScript, _ bool, args []string) {
	options := append([]string{"run", "--rm", "--network", "none", "--tmpfs", "/tmp", "--entrypoint", "/sim"}, args[1:]...)
	options = append(options, args[0], "doctor")
	cmd := exec.Command("docker", options...)
	cmd.Dir = ts.Getenv("WORK")
	out, err := suite.Output(ts, cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // it lacks servers
		ts.Fatalf("docker %q: %v", options, err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out, 0o644))
}

// runInNode [OPTION...] -- ARGUMENT...: sim run in a container of the nodes' image, which has a redis-server, under Docker's default
// profile.
func runInNode(ts *testscript.TestScript, _ bool, args []string) {
	static, err := staticSim()
	ts.Check(err)
	sim := ts.MkAbs("static-sim")
	ts.Check(os.WriteFile(sim, static, 0o755))
	at := slices.Index(args, "--")
	options := slices.Concat([]string{"run", "--rm", "--network", "none", "--tmpfs", "/tmp:mode=1777", "--workdir", "/tmp",
		"--volume", sim + ":/sim:ro", "--entrypoint", "/sim"}, args[:at], []string{nodeImage, "run"}, args[at+1:])
	out, err := suite.Output(ts, exec.Command("docker", options...))
	if err != nil {
		ts.Fatalf("docker %q: %v\n%s", options, err, out)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), out, 0o644))
}

// nodeImage is what scripts/docker-image.sh builds.
const nodeImage = "redlock-sim-node:1"

// staticSim is sim without libraries.
var staticSim = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "static")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command("go", "build", "-o", dir, ".")
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "sim"))
})

// nothingLeft [IMAGE] wants no container, volume or network of the process in pid.txt
// with the engine, and no container of the image.
func nothingLeft(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.ParseInt(strings.TrimSpace(ts.ReadFile("pid.txt")), 10, 64)
	ts.Check(err)
	c, err := client.New(client.FromEnv)
	ts.Check(err)
	defer c.Close()
	ours := make(client.Filters).Add("label", "redlock-sim.owner")
	its := func(labels map[string]string) int {
		f := strings.Split(labels["redlock-sim.owner"], "-")
		if len(f) != 5 {
			ts.Fatalf("the owner %q", labels["redlock-sim.owner"])
		}
		if f[3] == strconv.FormatInt(pid, 36) {
			return 1
		}
		return 0
	}
	suite.Eventually(ts, "the end of all that was left with the engine", func() bool {
		left := 0
		containers, err := c.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: ours})
		ts.Check(err)
		for _, o := range containers.Items {
			left += its(o.Labels)
			if slices.Contains(args, o.Image) {
				left++
			}
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
