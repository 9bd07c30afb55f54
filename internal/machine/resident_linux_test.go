package machine_test

import (
	"os/exec"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestResident(t *testing.T) {
	own, before := machine.Resident()
	if own < 1<<20 {
		t.Errorf("this process has %d bytes", own)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	suite.Eventually(t, "the child has memory", func() bool {
		_, children := machine.Resident()
		return children > before
	})
}
