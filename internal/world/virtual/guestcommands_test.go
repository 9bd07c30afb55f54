package virtual

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestGuestsCommandsAreTold: each command of a guest is told once, with when its answer came to the guest; one that is never answered when
// its connection is over, or at the end.
func TestGuestsCommandsAreTold(t *testing.T) {
	w, _, clients, _ := withServers(t, func(s *world.Spec) { s.Commands = true })
	var told []string
	w.hooks.Command = func(client string, c world.Command) {
		answered := "never"
		if c.Answered.IsSet() {
			answered = fmt.Sprint(time.Duration(c.Answered.V()) > time.Duration(c.Left) && time.Duration(c.Answered.V()) == w.Now())
		}
		told = append(told, fmt.Sprintf("%s %s %s %s", client, c.Node, c.Name, answered))
	}
	send := func(g *GuestConn, commands ...[]string) {
		var in []byte
		for _, words := range commands {
			in = resp.AppendCommand(in, words...)
		}
		g.Send(commands, in)
	}
	during(w, func() {
		g := clients[0].Dial(0, &line{w: w})
		w.Sleep(time.Millisecond)
		send(g, []string{"get", "lock"}, []string{"set", "lock", "x"})
		w.Sleep(time.Millisecond)
		lift := disturb(t, w, world.Disturbance{Kind: world.Cut, Direction: world.Answers})
		send(g, []string{"del", "lock"})
		w.Sleep(time.Millisecond)
		if want := []string{"c1 A GET true", "c1 A SET true"}; !slices.Equal(told, want) {
			t.Errorf("it is told of %q, want %q", told, want)
		}
		_ = lift() // which breaks the connection
		w.Sleep(time.Millisecond)
		other := clients[1].Dial(0, &line{w: w})
		w.Sleep(time.Millisecond)
		send(other, []string{"get", "lock"})
	})
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	want := []string{"c1 A GET true", "c1 A SET true", "c1 A DEL never", "c2 A GET never"}
	if !slices.Equal(told, want) {
		t.Errorf("it is told of %q, want %q", told, want)
	}
}
