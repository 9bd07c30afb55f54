package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func TestWords(t *testing.T) {
	script := command.NewScript("s", "return 1", nil)
	for want, c := range map[string]command.Command{
		"ping": {Op: command.PING}, "unwatch": command.Unwatch(), "get k": command.Get("k"), "del k": command.Del("k"),
		"pttl k": command.TTLOf("k"), "incr k": command.Incr("k"), "set k v": command.Set("k", "v", 0),
		"set k v nx px 1500": command.SetNX("k", "v", 1500*time.Millisecond), "set k v px 1": command.Set("k", "v", time.Microsecond),
		"pexpire k -5": command.PExpire("k", -5*time.Millisecond), "wait 2 100": command.Wait(2, 100*time.Millisecond),
		"waitaof 1 0 100": command.WaitSynced(100 * time.Millisecond),
		"rpush k a b":     command.RPush("k", "a", "b"), "lrange k 0 -1": {Op: command.LRANGE, Key: "k"},
		"set k v ifeq w px 5": command.SetIfEq("k", "v", "w", 5*time.Millisecond), "set k v ifeq w": command.SetIfEq("k", "v", "w", 0),
		"delifeq k v": command.DelIfEq("k", "v"), "hsetex k fnx px 5 fields 1 f v": command.HSetNX("k", "f", "v", 5*time.Millisecond),
		"watch k l":           {Op: command.WATCH, Keys: []string{"k", "l"}},
		"eval|return 1|1|k|a": command.Eval(script, []string{"k"}, "a"),
	} {
		cut := " "
		if c.Op == command.EVAL {
			cut = "|"
		}
		if got := c.Words(); !slices.Equal(got, strings.Split(want, cut)) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
