package process_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

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
