package machine

import (
	"os/exec"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestAnOwnerIsGoneWhenItsProcessIs(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseOwner(me.String())
	if err != nil || back != me {
		t.Errorf("%q was read as %+v (%v)", me, back, err)
	}
	if me.Gone(me) {
		t.Error("this process is gone")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	its := me
	its.pid = child.Process.Pid
	if its.started, err = startOf(its.pid); err != nil || its.Gone(me) {
		t.Errorf("a process that runs is gone (%v)", err)
	}
	later := its
	later.started = "1"
	if !later.Gone(me) {
		t.Error("another process with the same number is taken for the owner")
	}
	elsewhere := later
	elsewhere.space = "1"
	if elsewhere.Gone(me) {
		t.Error("what another namespace counts cannot be seen from here")
	}
	another := before(its)
	another.host = "another"
	if another.Gone(me) {
		t.Error("what another machine counts cannot be seen from here")
	}
	before := before(its)
	if !before.Gone(me) {
		t.Error("an owner outlived its machine's boot")
	}
	_ = child.Process.Kill()
	suite.Eventually(t, "an ended process to be gone that has not been waited for", func() bool { return its.Gone(me) })
	_ = child.Wait()
	if !its.Gone(me) {
		t.Error("a process that has ended is not gone")
	}
}

// before is an owner as one of the boot before would be.
func before(o Owner) Owner {
	o.boot = "the last one"
	return o
}

func TestParseOwnerRefusesGarbage(t *testing.T) {
	for _, text := range []string{"", "a-b-c", "a-b-c--e", "a-b-c-_-e", "a-b-c-1-d-e", "a b c 1 d"} {
		if o, err := ParseOwner(text); err == nil {
			t.Errorf("%q was read as %+v", text, o)
		}
	}
}
