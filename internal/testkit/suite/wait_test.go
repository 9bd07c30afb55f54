package suite

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// refused notes what a wait fails with.
type refused struct{ said string }

func (r *refused) Fatalf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

func TestWaits(t *testing.T) {
	silent := func() chan int { return make(chan int) }
	for name, c := range map[string]struct {
		wait  func(Waiter)
		after time.Duration
		said  string
	}{
		"holds at once": {func(w Waiter) { Eventually(w, "it", func() bool { return true }) }, 0, ""},
		"holds later": {func(w Waiter) {
			began := time.Now()
			Eventually(w, "it", func() bool { return time.Since(began) > 30*time.Second })
		}, 30 * time.Second, ""},
		"never holds": {func(w Waiter) { Eventually(w, "it", func() bool { return false }) }, Patience, "waited 2m0s in vain for it"},
		"never succeeds": {func(w Waiter) { Succeeds(w, "it", func() error { return errors.New("no such file") }) }, Patience,
			"waited 2m0s in vain for it: no such file"},
		"something comes": {func(w Waiter) {
			c := silent()
			go func() { c <- 7 }()
			if got := Receive(w, "a number", c); got != 7 {
				w.Fatalf("received %d", got)
			}
		}, 0, ""},
		"nothing comes":  {func(w Waiter) { Receive(w, "a number", silent()) }, Patience, "waited 2m0s in vain for a number"},
		"a call returns": {func(w Waiter) { Returns(w, "its end", func() { time.Sleep(time.Second) }) }, time.Second, ""},
		"a call goes on": {func(w Waiter) {
			c := silent()
			Returns(w, "its end", func() { <-c })
			close(c)
		}, Patience, "waited 2m0s in vain for its end"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := &refused{}, time.Now()
				c.wait(w)
				if took := time.Since(began); w.said != c.said || took < c.after || took > c.after+time.Second {
					t.Errorf("after %v: %q, want %q after %v", took, w.said, c.said, c.after)
				}
			})
		})
	}
}

// A process that goes on is killed, and named.
func TestEndlessProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &refused{}
	if err := ends(w, cmd, time.Millisecond); err != nil || !strings.Contains(w.said, "waited 1ms in vain for the end of sleep 1000") {
		t.Errorf("%q, %v", w.said, err)
	}
	if !cmd.ProcessState.Exited() && cmd.ProcessState.String() != "signal: killed" {
		t.Errorf("it %v", cmd.ProcessState)
	}
}
