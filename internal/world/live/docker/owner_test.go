package docker

import (
	"os/exec"
	"testing"
	"time"
)

func TestAnOwnerIsGoneWhenItsProcessIs(t *testing.T) {
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	back, err := parseOwner(me.String())
	if err != nil || back != me {
		t.Errorf("%q was read as %+v (%v)", me, back, err)
	}
	if me.gone(me) {
		t.Error("this process is gone")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	its := me
	its.pid = child.Process.Pid
	if its.started, err = startOf(its.pid); err != nil || its.gone(me) {
		t.Errorf("a process that runs is gone (%v)", err)
	}
	later := its
	later.started = "1"
	if !later.gone(me) {
		t.Error("another process with the same number is taken for the owner")
	}
	elsewhere := later
	elsewhere.space = "pid:[1]"
	if elsewhere.gone(me) {
		t.Error("what another namespace counts cannot be seen from here")
	}
	before := its
	before.boot = "the last one"
	if !before.gone(me) {
		t.Error("an owner outlived its machine's boot")
	}
	_ = child.Process.Kill()
	for deadline := time.Now().Add(5 * time.Second); !its.gone(me); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process that has ended and has not been waited for is not gone")
		}
	}
	_ = child.Wait()
	if !its.gone(me) {
		t.Error("a process that has ended is not gone")
	}
}

func TestParseOwnerRefusesGarbage(t *testing.T) {
	for _, text := range []string{"", "a b c", "a b c d", "a b 1 d e"} {
		if o, err := parseOwner(text); err == nil {
			t.Errorf("%q was read as %+v", text, o)
		}
	}
}
