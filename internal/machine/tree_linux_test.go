package machine

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A whole family stops, goes on and ends as one, whatever sessions its members have
// begun and whoever of them has lost its parent.
func TestTreeIsStruckAsOne(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	const family = `setsid sh -c 'setsid sleep 1000 & echo ready; sleep 1000' & (sleep 1000 &) ; while :; do sleep 0.001; done`
	cmd := exec.Command("sh", "-c", family)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start("family", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(KillOrphans)
	var line string
	suite.Returns(t, "the family to be ready", func() { line, err = bufio.NewReader(out).ReadString('\n') })
	if strings.TrimSpace(line) != "ready" {
		t.Fatal(line, err)
	}
	suite.Eventually(t, "the whole family", func() bool { return len(descendants(c.PID())) >= 4 })
	if err := StopTree(c); err != nil {
		t.Fatal(err)
	}
	members := descendants(c.PID())
	if len(members) < 3 {
		t.Errorf("%d members: %v", len(members), members)
	}
	for range 20 {
		for _, pid := range append(members, c.PID()) {
			if !standsStill(pid) {
				t.Fatalf("process %d goes on", pid)
			}
		}
		time.Sleep(time.Millisecond)
	}
	if err := ResumeTree(c); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the first of them to go on", func() bool { return !standsStill(c.PID()) })
	KillTree(c)
	KillOrphans()
	for _, pid := range members {
		if state, _ := statOf(fmt.Sprintf("/proc/%d/stat", pid)); state != 0 {
			t.Errorf("process %d is left, in state %c", pid, state)
		}
	}
	if !c.Dead() || syscall.Kill(c.PID(), 0) == nil {
		t.Error("the first of them is left")
	}
}
