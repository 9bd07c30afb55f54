package live_test

import (
	"context"
	"os"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// BenchmarkUp is the time until 5 nodes, the resource, 18 links and 3 clients
// are up and ready, with each node a process.
func BenchmarkUp(b *testing.B) { benchmarkUp(b, server.Process) }

// BenchmarkUpInDocker is the same with each node, and the resource, a container.
func BenchmarkUpInDocker(b *testing.B) {
	needDocker(b)
	benchmarkUp(b, server.Docker)
}

func benchmarkUp(b *testing.B, nodes server.Provider) {
	for b.Loop() {
		s := spec(b, 5)
		s.Clients = []string{"c1", "c2", "c3"}
		w, err := live.Open(context.Background(), s,
			live.Options{ClientCommand: []string{os.Args[0], "client"}, Options: server.Options{Nodes: nodes}})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkOperation is one operation of a client on the resource and back: two
// lines of the protocol, a proxied script, and what MONITOR costs.
func BenchmarkOperation(b *testing.B) {
	w := open(b, spec(b, 1), &observed{})
	for b.Loop() {
		if a := do(w, "c1", history.Read); a.Type != history.OK {
			b.Fatal(a.Error)
		}
	}
}
