package sentinel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The lines are what redis-server 7.0.15 tells.
func TestParseTold(t *testing.T) {
	for _, c := range []struct {
		word, text string
		want       Told
	}{
		{"+sdown", "master primary 127.0.0.1 29137", Told{IP: "127.0.0.1", Port: "29137"}},
		{"+sdown", "sentinel 265be5d54e4e6548e66792243b716547379440b8 127.0.0.2 17741 @ primary 127.0.0.1 29137",
			Told{IP: "127.0.0.2", Port: "17741"}},
		{"+odown", "master primary 127.0.0.1 29137 #quorum 3/2", Told{IP: "127.0.0.1", Port: "29137"}},
		{"+selected-slave", "slave 127.0.0.1:23359 127.0.0.1 23359 @ primary 127.0.0.1 29137", Told{IP: "127.0.0.1", Port: "23359"}},
		{"+new-epoch", "7", Told{Epoch: 7}},
		{"+vote-for-leader", "b2b6152a601f52d498afb01722b8f5db0457eb1c 7", Told{ID: "b2b6152a601f52d498afb01722b8f5db0457eb1c", Epoch: 7}},
		{"+switch-master", "primary 127.0.0.1 29137 127.0.0.2 23359", Told{IP: "127.0.0.2", Port: "23359"}},
		{"+tilt", "#tilt mode entered", Told{}},
		{"+new-epoch", "seven", Told{}},
		{"+switch-master", "", Told{}},
	} {
		c.want.Word = c.word
		if diff := cmp.Diff(c.want, ParseTold(c.word, c.text)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.word, c.text, diff)
		}
	}
}

// The lines are what redis-server 7.0.15 and valkey-server 9.1.2 log.
func TestLogged(t *testing.T) {
	for _, c := range []struct {
		line string
		want Told
	}{
		{"2001:X 01 Jan 2026 00:00:05.203 # +sdown master primary 127.0.1.1 6379", Told{Word: "+sdown", IP: "127.0.1.1", Port: "6379"}},
		{"2001:X 01 Jan 2026 00:00:05.203 * +new-epoch 3", Told{Word: "+new-epoch", Epoch: 3}},
		{"2001:X 01 Jan 2026 00:00:05.203 - -role-change master primary 127.0.1.1 6379",
			Told{Word: "-role-change", IP: "127.0.1.1", Port: "6379"}},
		{"2001:X 01 Jan 2026 00:00:05.203 # Next failover delay: I will not start a failover before Thu", Told{}},
		{"2001:X 01 Jan 2026 00:00:05.203 * Sentinel new configuration saved on disk", Told{}},
		{"2001:X 01 Jan 2026 00:00:05.203 # -1 of them", Told{}},
		{"nothing", Told{}},
	} {
		got, is := Logged(c.line)
		if diff := cmp.Diff(c.want, got); diff != "" || is != (c.want.Word != "") {
			t.Errorf("%s: %v (-want +got):\n%s", c.line, is, diff)
		}
	}
}
