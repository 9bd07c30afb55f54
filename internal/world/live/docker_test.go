package live_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

func TestTmpDocker(t *testing.T) {
	s := spec(t, 5)
	o := &observed{}
	b := time.Now()
	w, err := live.Open(context.Background(), s, live.Options{ClientCommand: []string{os.Args[0], "client"}, Nodes: live.Docker})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("open", time.Since(b))
	w.Start(o.hooks())
	mustOK(t, w, "c1", history.Acquire)
	b = time.Now()
	w.Pause("A")
	t.Log("pause", time.Since(b))
	b = time.Now()
	t.Log(w.Resume("A"))
	t.Log("resume", time.Since(b))
	b = time.Now()
	t.Log(w.Kill("A"))
	t.Log("kill", time.Since(b))
	b = time.Now()
	t.Log(w.Restart("A", world.KeepData))
	t.Log("restart", time.Since(b))
	b = time.Now()
	w.Pause("B")
	t.Log(w.Kill("B"))
	t.Log("kill paused", time.Since(b))
	w.Pause("C")
	b = time.Now()
	t.Log(w.Close())
	t.Log("close", time.Since(b))
}
