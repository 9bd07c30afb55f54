// Package kubernetes has a test of the manifests in this folder. It is a module of its own: nothing else needs the types of
// Kubernetes.
package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are what manifests may be about.
var kinds = map[meta.TypeMeta]func() any{
	{APIVersion: "batch/v1", Kind: "Job"}:             func() any { return &batch.Job{} },
	{APIVersion: "v1", Kind: "PersistentVolumeClaim"}: func() any { return &core.PersistentVolumeClaim{} },
}

// TestManifests reads every manifest as Kubernetes does that was told to be strict: an unknown field, one that is there twice, or a
// value of another type is a mistake.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range bytes.Split(text, []byte("\n---\n")) {
			check(t, file, i, document)
		}
	}
}

func check(t *testing.T, file string, i int, document []byte) {
	t.Helper()
	var of meta.TypeMeta
	if err := yaml.Unmarshal(document, &of); err != nil {
		t.Fatalf("%s, document %d: %v", file, i+1, err)
	}
	newObject := kinds[of]
	if newObject == nil {
		t.Fatalf("%s, document %d: no kind %v", file, i+1, of)
	}
	object := newObject()
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		t.Fatalf("%s, document %d: %v", file, i+1, err)
	}
	job, ok := object.(*batch.Job)
	if !ok {
		return
	}
	pod := job.Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: %s mounts %s, and there is no such volume", file, c.Name, m.Name)
			}
		}
	}
	// The server refuses these, which the types allow.
	if pod.RestartPolicy != core.RestartPolicyNever && pod.RestartPolicy != core.RestartPolicyOnFailure {
		t.Errorf("%s: a job's pods are restarted %q", file, pod.RestartPolicy)
	}
	if job.Spec.PodFailurePolicy != nil && pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("%s: podFailurePolicy wants restartPolicy Never", file)
	}
	indexed := job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batch.IndexedCompletion
	if !indexed && job.Spec.BackoffLimitPerIndex != nil || indexed && job.Spec.Completions == nil {
		t.Errorf("%s: backoffLimitPerIndex wants completionMode Indexed, and that wants completions", file)
	}
}
