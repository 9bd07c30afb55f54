package virtual

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestGuestsAreRefused: models and servers refuse a guest's commands in the same way, in their place among the answers, and carry out
// nothing of them. A transaction in which one was refused fails.
func TestGuestsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		servers  Servers
		answered string // by the node; a model's answers are told by batch
	}{
		"models":  {nil, "SET k 1, GET k, MULTI, SET k 2, ECHO y, MULTI, EXEC, GET k"},
		"servers": {&byteServers{}, "SET k 1, GET k, MULTI, ECHO y, MULTI, EXEC, GET k"},
	} {
		t.Run(name, func(t *testing.T) {
			var clients machines
			w, _ := openWith(t, &Engine{Guests: idle{}, Locks: &clients, Servers: c.servers, Wall: epoch}, func(s *world.Spec) {
				s.Needs = append(s.Needs, world.RefusePower)
				s.Messages = world.Patterns{{Command: "SET", Contains: "one"}, {Command: world.AnyCommand, Kind: world.Answered}}
			})
			var answered []string
			w.hooks.Message = func(m world.Message) {
				if m.Kind.FromNode() {
					answered = append(answered, strings.Join(m.Words, " "))
				} else if _, err := m.Disturb(world.Disturbance{Kind: world.Refuse, Error: "OOM no"}); err != nil {
					t.Error(err)
				}
			}
			during(w, func() {
				e := &line{w: w}
				g := clients[0].Dial(0, e)
				say := func(commands ...string) string {
					var in []byte
					var list [][]string
					for _, c := range commands {
						list = append(list, strings.Fields(c))
						in = resp.AppendCommand(in, strings.Fields(c)...)
					}
					e.text = ""
					g.Send(list, in)
					w.Sleep(10 * time.Millisecond)
					return strings.ReplaceAll(e.text, "\r\n", " ")
				}
				want := func(got, want string) {
					t.Helper()
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				}
				w.Sleep(time.Millisecond)
				want(say("SET k 1", "SET k one", "GET k"), "+OK -OOM no $1 1 ")
				want(say("MULTI", "SET k 2"), "+OK +QUEUED ")
				lift := disturb(t, w, world.Disturbance{Kind: world.Refuse, Direction: world.Requests, Error: "LOADING x"})
				want(say("EXEC", "GET k", "ECHO y"), "-EXECABORT Transaction discarded because of: LOADING x -LOADING x $1 y ")
				want(say("MULTI", "SET k 3", "EXEC"), "+OK -LOADING x -EXECABORT Transaction discarded because of previous errors. ")
				_ = lift()
				want(say("GET k"), "$1 1 ")
			})
			if got := strings.Join(answered, ", "); got != c.answered {
				t.Errorf("what was answered by the node: %s, want %s", got, c.answered)
			}
		})
	}
}

// TestBuiltInClientsAreRefused: also a transaction, after which nothing is watched any more, and a script by its name, which is sent again
// with its source. A node that stands still answers nothing, this neither.
func TestBuiltInClientsAreRefused(t *testing.T) {
	w := small(t, nil)
	inClient(w, "c1", func(e *env) {
		ask := func(c command.Command) command.Reply {
			r, _ := do(e, c.Within(20*time.Millisecond))
			return r
		}
		refuse := func(text string) func() error {
			return disturb(t, w, world.Disturbance{Kind: world.Refuse, Direction: world.Requests, Error: text})
		}
		lift := refuse("READONLY x")
		if r := ask(command.Set("lock", "mine", 0)); r.Outcome != command.Refused || r.Err() != "READONLY x" || held(w, "A") != "" {
			t.Errorf("a write: %v, and the key has %q", r, held(w, "A"))
		}
		if r := ask(command.Get("lock")); r.Outcome != command.Done {
			t.Errorf("a read: %v", r)
		}
		ask(command.Watch("lock"))
		r := ask(command.Exec(command.Set("lock", "x", 0)))
		if r.Outcome != command.Refused || !strings.HasPrefix(r.Err(), "EXECABORT ") || held(w, "A") != "" {
			t.Errorf("a transaction: %v, and the key has %q", r, held(w, "A"))
		}
		_ = lift()
		ask(command.Set("lock", "another's", 0))
		if r := ask(command.Exec(command.Set("lock", "y", 0))); r.Outcome != command.Done || r.Nil {
			t.Errorf("the transaction after it, which watches nothing: %v", r)
		}
		lift = refuse("NOSCRIPT x")
		if r := ask(command.Eval(warmed[0], []string{"lock"}, "y")); r.Outcome != command.Done {
			t.Errorf("a script: %v", r)
		}
		_ = lift()
		lift = refuse("LOADING x")
		_ = w.Pause("A")
		if r := ask(command.Get("lock")); r.Outcome != command.Unknown {
			t.Errorf("of a node that stands still: %v", r)
		}
		_ = w.Resume("A")
		_ = lift()
	})
}
