package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// kubernetesJob is what matters of a job in deploy/kubernetes.
type kubernetesJob struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Completions int `yaml:"completions"`
		Template    struct {
			Spec struct {
				Containers []struct {
					Command []string `yaml:"command"`
					Args    []string `yaml:"args"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func readJob(t *testing.T, file string) (job kubernetesJob) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docstest.Root(t), "deploy", "kubernetes", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var one kubernetesJob
		if err := yaml.Unmarshal(document, &one); err != nil {
			t.Fatal(err)
		}
		if one.Kind == "Job" {
			job = one
		}
	}
	if len(job.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%s has %d containers", file, len(job.Spec.Template.Spec.Containers))
	}
	return job
}

// TestKubernetesJobs does what the pods of deploy/kubernetes do, one after the other, with fewer seeds.
func TestKubernetesJobs(t *testing.T) {
	results := t.TempDir()
	pod := func(job kubernetesJob, entry []string, index int) (string, int) {
		c := job.Spec.Template.Spec.Containers[0]
		if c.Command != nil {
			entry = c.Command
		}
		words := slices.Concat(entry, c.Args)
		for i := range words {
			words[i] = strings.NewReplacer("/results", results, "--seeds 2000000", "--seeds 402").Replace(words[i])
		}
		run := exec.Command(words[0], words[1:]...)
		run.Dir, run.Env = results, append(userEnv(t, results), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))
		out, err := suite.CombinedOutput(t, run)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), run.ProcessState.ExitCode()
	}
	shards := readJob(t, "shards.yaml")
	for i := range shards.Spec.Completions {
		if out, code := pod(shards, nil, i); code != 0 {
			t.Fatalf("pod %d ended with %d:\n%s", i, code, out)
		}
	}
	out, code := pod(readJob(t, "merge.yaml"), []string{"sim"}, 0)
	if code > 1 || !strings.Contains(out, "402 runs") {
		t.Errorf("the merge ended with %d:\n%s", code, out)
	}
	// A pod whose command is wrong fails.
	c := &shards.Spec.Template.Spec.Containers[0]
	c.Args[0] = strings.Replace(c.Args[0], "gc-pause", "no-such-scenario", 1)
	if out, code := pod(shards, nil, 0); code != app.ExitUsage {
		t.Errorf("with an unknown scenario the pod ended with %d:\n%s", code, out)
	}
}
