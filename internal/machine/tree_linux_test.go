package machine

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
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
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		t.Fatal(line, err)
	}
	for deadline := time.Now().Add(time.Minute); len(descendants(c.PID())) < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the family is not complete")
		}
	}
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
	for deadline := time.Now().Add(time.Minute); standsStill(c.PID()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
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
