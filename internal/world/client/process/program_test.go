package process_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// A lock program that can be set up again takes another key before that of the run. One that cannot do it after all is started anew.
func TestWarmUp(t *testing.T) {
	for name, c := range map[string]struct{ can, after, want string }{
		"warm":   {`["setup-again"]`, ":", "warm lock"},
		"cold":   {`["setup-again"]`, "exit", "warm lock"},
		"cannot": {`[]`, ":", "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			k := begin(t)
			m := setup(t)
			m.Setup.WarmUp, m.Setup.Lock.Key = "warm", "lock"
			m.Setup.Lock.Program = &lock.Program{Command: []string{"sh", "-c", `read l
				echo '{"type":"ready","protocol":1,"name":"x","class":"single","can":` + c.can + `}'
				while read l; do
					id=${l#*'"id":'}; id=${id%%[!0-9]*}
					case $l in
					*'"type":"setup"'*)
						key=${l#*'"key":"'}; printf '%s ' "${key%%'"'*}" >> keys
						echo '{"type":"set-up"}' ;;
					*'"type":"acquire"'*)
						echo '{"type":"acquired","id":'$id'}' ;;
					*'"type":"release"'*)
						` + c.after + `; echo '{"type":"released","id":'$id'}' ;;
					esac
				done`}}
			k.say(m)
			k.hear(client.Ready)
			k.say(ask(1, history.Acquire))
			if m := k.hear(client.Answered); m.Answer == nil || m.Answer.Type != history.OK {
				t.Errorf("acquire: %+v", m)
			}
			_ = k.in.Close()
			if err := k.end(); err != nil {
				t.Error(err)
			}
			keys, err := os.ReadFile("keys")
			if got := strings.TrimSpace(string(keys)); err != nil || got != c.want {
				t.Errorf("it was set up for %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// What a lock program tells of a loss reaches sim.
func TestLossOfAProgramIsTold(t *testing.T) {
	k := begin(t)
	m := setup(t)
	m.Setup.Lock.Program = &lock.Program{Command: []string{"sh", "-c", `read l
		echo '{"type":"ready","protocol":1,"name":"x","class":"single","can":["owner","lost"]}'
		read l; echo '{"type":"set-up"}'; read l
		echo '{"type":"acquired","id":1,"owner_b64":"bWU="}'; sleep 0.2; echo '{"type":"lost","grant":1,"why":"gone"}'; cat > /dev/null`}}
	k.say(m)
	k.hear(client.Ready)
	k.say(ask(1, history.Acquire))
	if m := k.hear(client.Answered); m.Answer == nil || m.Answer.Type != history.OK {
		t.Fatalf("acquire: %+v", m)
	}
	if m := k.hear(client.Lost); m.Answer == nil || m.Answer.Value.Owner != "me" || m.Error != "gone" || m.Monotonic == 0 || m.Uncertain == 0 {
		t.Errorf("lost: %+v", m)
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}
