package resp

import (
	"strings"
	"testing"
)

// TestPairing: which command a message answers, with messages that answer none, and commands that several answer.
func TestPairing(t *testing.T) {
	var p Pairing[string]
	for _, command := range []string{"SUBSCRIBE a b", "GET k", "EVALSHA x", "PING", "SUBSCRIBE c d"} {
		if err := p.Ask(strings.Fields(command), command); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		kind           Kind
		words, answers string
		putsOff        bool
	}{
		{Array, "subscribe a 1", "", false},
		{Array, "message a hello", "", false},
		{Array, "subscribe b 2", "SUBSCRIBE a b", false},
		{Push, "invalidate k", "", false},
		{Bulk, "v", "GET k", false},
		{Error, "NOSCRIPT no matching script", "EVALSHA x", true},
		{Text, "QUEUED", "PING", true},
		{Error, "ERR no", "SUBSCRIBE c d", false},
		{Text, "OK", "", false},
	} {
		words := strings.Fields(step.words)
		if step.kind == Error { // one text
			words = []string{step.words}
		}
		got, ok := p.Answer(step.kind, words)
		if got != step.answers || ok != (step.answers != "") || PutsOff(step.kind, words) != step.putsOff {
			t.Errorf("%q answers %q (%v), want %q", step.words, got, ok, step.answers)
		}
	}
	for _, command := range []string{"MONITOR", "PSYNC ? -1", "UNSUBSCRIBE", "CLIENT REPLY SKIP"} {
		if p.Ask(strings.Fields(command), command) == nil {
			t.Errorf("how many messages answer %s is known", command)
		}
	}
	if p.Ask([]string{"client", "reply", "on"}, "on") != nil || p.Len() != 1 || p.First() != "on" || len(p.Drop()) != 1 || p.Len() != 0 {
		t.Errorf("%d commands have no answer", p.Len())
	}
}
