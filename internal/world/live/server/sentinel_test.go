package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// The lines are what redis-server 7.0.15 tells.
func TestParseTold(t *testing.T) {
	for _, c := range []struct {
		word, text string
		want       SentinelEvent
	}{
		{"+sdown", "master primary 127.0.0.1 29137", SentinelEvent{Port: "29137"}},
		{"+sdown", "sentinel 265be5d54e4e6548e66792243b716547379440b8 127.0.0.1 17741 @ primary 127.0.0.1 29137", SentinelEvent{Port: "17741"}},
		{"+odown", "master primary 127.0.0.1 29137 #quorum 3/2", SentinelEvent{Port: "29137"}},
		{"+selected-slave", "slave 127.0.0.1:23359 127.0.0.1 23359 @ primary 127.0.0.1 29137", SentinelEvent{Port: "23359"}},
		{"+new-epoch", "7", SentinelEvent{Epoch: history.Some(7)}},
		{"+vote-for-leader", "b2b6152a601f52d498afb01722b8f5db0457eb1c 7",
			SentinelEvent{ID: "b2b6152a601f52d498afb01722b8f5db0457eb1c", Epoch: history.Some(7)}},
		{"+switch-master", "primary 127.0.0.1 29137 127.0.0.1 23359", SentinelEvent{Port: "23359"}},
		{"+tilt", "#tilt mode entered", SentinelEvent{}},
		{"+new-epoch", "seven", SentinelEvent{}},
		{"+switch-master", "", SentinelEvent{}},
	} {
		c.want.Word = c.word
		if diff := cmp.Diff(c.want, parseSentinelEvent(c.word, c.text)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.word, c.text, diff)
		}
	}
}
