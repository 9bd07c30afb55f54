package scenario

import (
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

func TestDeployment(t *testing.T) {
	for nodes, want := range map[string]Deployment{
		"{count: 1}": "one node", "{count: 1, persistence: rdb}": "one node", "{count: 1, persistence: aof-no}": "one node",
		"{count: 1, persistence: aof-everysec}": "one node, fsync each second", "{count: 1, persistence: aof-always}": "one node, fsync always",
		"{count: 5}": "several nodes", "{count: 3, topology: replicated}": "replicas",
		"{count: 3, topology: sentinel}":                                                    "Sentinel",
		"{count: 3, topology: sentinel, min_replicas_to_write: 1}":                          "Sentinel, min-replicas",
		"{topology: cluster, min_replicas_to_write: 1, min_replicas_max_lag: 2s}":           "Cluster, min-replicas",
		"{topology: cluster}":                                                               "Cluster",
		"{topology: cluster, clusters: 3}":                                                  "several Clusters",
		"{count: 3, topology: sentinel, min_replicas_to_write: 1, persistence: aof-always}": "Sentinel, min-replicas",
	} {
		algorithm := "set-nx-px"
		if want == "several nodes" || want == "several Clusters" {
			algorithm = "redlock"
		}
		s, err := Parse("", []byte("name: here\nlock: {algorithm: "+algorithm+"}\nnodes: "+nodes+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Variants[0].Setup.Deployment(&program.Ready{}); got != want {
			t.Errorf("%s is %q, want %q", nodes, got, want)
		}
		if !slices.Contains(Deployments(), want) {
			t.Errorf("%q is not listed", want)
		}
		if got := s.Variants[0].Setup.Deployment(&program.Ready{Store: program.Etcd}); got != "etcd" {
			t.Errorf("%s with etcd is %q", nodes, got)
		}
	}
	if list := Deployments(); list[0].Compare(list[1]) >= 0 || list[len(list)-1].Compare(list[0]) <= 0 {
		t.Error("the order is wrong")
	}
}
